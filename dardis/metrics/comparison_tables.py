"""Comparison's tables, and their source, found.json."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from dardis.config.json_records import FOUND_FILE, FoundRecord
from dardis.config.toml_file import read_json
from dardis.metrics.catalogue import OF_LINE, columns_of, metric_of
from dardis.metrics.comparison_rows import (
    KEYS,
    ClairvoyantResult,
    ComparisonData,
    Interval,
    ResultRow,
    RunResult,
    by_trace,
    can_rank,
    first_of,
    grid_rows,
    is_seeded,
    mean_wait,
    result_rows,
)
from dardis.model.csv_table import REAL, TEXT, WHOLE, WORD, Column, CsvTable, FilledTable
from dardis.model.files import write_json

_FIGURES: Final = [
    metric_of(key).renamed(f"{key}_{end}", meaning=f"{what} of `{key}`")
    for key in KEYS
    for end, what in (("mean", "mean"), ("sd", "standard deviation"))
]
RUNS: Final = CsvTable(
    "compare.csv",
    *OF_LINE,
    Column("name", TEXT, "name of the dispatcher"),
    Column("settings", TEXT, "its settings"),
    Column("arity", WORD, "children per host in the tree of hosts; empty for central dispatchers"),
    Column("sample", WORD, "nodes asked first for each unit; empty for central dispatchers"),
    Column("seed", WHOLE, "seed of the run"),
    Column("draw", WHOLE, "number of the draw of the trace; empty for the trace itself"),
    Column("status", WORD, "`done` or `failed`"),
    Column("error", TEXT, "reason of the failure"),
)
"""Metrics of the run follow."""
TABLE: Final = CsvTable(
    "table.csv",
    *OF_LINE,
    Column("runs", WHOLE, "runs that succeeded"),
    Column("failed", WHOLE, "runs that failed"),
    Column("seeded", WORD, "`yes` if the schedule depends on the seed"),
    *_FIGURES,
)
KNOWN: Final = CsvTable(
    "clairvoyant.csv",
    *OF_LINE,
    Column("jobs", WHOLE, "jobs that ran and count"),
    *columns_of(["mean_wait_s"]),
    Column("best_found_s", REAL, "mean wait of the best schedule found with all jobs known"),
    Column("bound_s", REAL, "lower bound of the mean wait of any schedule"),
    Column("above_best", REAL, "mean wait over `best_found_s`; empty if other jobs were rejected"),
    Column("above_bound", REAL, "mean wait over `bound_s`; empty if other jobs were rejected"),
)
DIFFERENCES: Final = CsvTable(
    "differences.csv",
    *OF_LINE,
    Column("first", TEXT, "label of the first dispatcher"),
    Column("figure", WORD, "key of the metric"),
    Column("draws", WHOLE, "draws with results of both dispatchers"),
    Column("mean", REAL, "mean over the draws", ""),
    Column("first_mean", REAL, "mean of the first dispatcher", ""),
    Column("difference", REAL, "difference of the means"),
    Column("difference_low", REAL, "low end of its 95 % confidence interval"),
    Column("difference_high", REAL, "high end of its 95 % confidence interval"),
    Column("ratio", REAL, "ratio of the means; empty if unknown"),
    Column("ratio_low", REAL, "low end of its 95 % confidence interval"),
    Column("ratio_high", REAL, "high end of its 95 % confidence interval"),
    Column("may_be_chance", WORD, "`yes` if the interval of the difference contains 0"),
)
SWEEP: Final = CsvTable(
    "sweep.csv",
    OF_LINE[0],
    Column("dispatcher", TEXT, "label of the dispatcher without the values of its grid"),
    Column("setting", TEXT, "setting of the grid"),
    Column("value", TEXT, "its value"),
    Column("second_setting", TEXT, "second setting of the grid"),
    Column("second_value", TEXT, "its value"),
    Column("runs", WHOLE, "runs that succeeded"),
    *_FIGURES,
)


def tables_of(compared: ComparisonData) -> list[FilledTable]:
    """Applicable tables, without the breakdown by class."""
    lines = result_rows(compared.results)
    found = [runs_table(compared.results), means_table(lines)]
    if any(result.draw for result in compared.results):
        found.append(differences_table(lines))
    if any(result.grid for result in compared.results):
        found.append(_sweep_table(lines))
    return [*found, _known_table(compared.known, lines)] if compared.known else found


def runs_table(results: Sequence[RunResult]) -> FilledTable:
    """`compare.csv`: a row per run."""
    keys = list(dict.fromkeys(key for result in results for key in result.metrics or {}))

    def row(run: RunResult) -> list[Any]:
        reach = [None, None] if run.central else [run.arity or "flat", run.sample or "all"]
        state = ["failed", run.error] if run.metrics is None else ["done", ""]
        names = [run.trace, run.label, run.dispatcher, " ".join(run.settings)]
        return [*names, *reach, run.seed, run.draw or None, *state, *((run.metrics or {}).get(key) for key in keys)]

    return FilledTable(CsvTable(RUNS.name, *RUNS.columns, *columns_of(keys)), map(row, results))


def _figures(line: ResultRow) -> list[float | None]:
    figures = [line.figure(key) for key in KEYS]
    return [cell for f in figures for cell in ((f.mean, f.deviation) if f else (None, None))]


def means_table(lines: Sequence[ResultRow]) -> FilledTable:
    """`table.csv`: means and deviations."""
    rows = (
        [line.trace, line.label, len(line.done), len(line.failed), _word(is_seeded(line)), *_figures(line)]
        for line in lines
    )
    return FilledTable(TABLE, rows)


def _known_table(known: Sequence[ClairvoyantResult], lines: Sequence[ResultRow]) -> FilledTable:
    """`clairvoyant.csv`: mean wait beside best found and bound."""
    traces = by_trace(lines)

    def row(one: ClairvoyantResult, line: ResultRow) -> list[Any]:
        wait = mean_wait(line, one)
        ratios = [wait / least if wait is not None and least else None for least in (one.best_s, one.bound_s)]
        return [one.trace, line.label, one.jobs, wait, one.best_s, one.bound_s, *ratios]

    rows = (row(one, line) for one in known for line in traces[one.trace] if not line.is_recorded)
    return FilledTable(KNOWN, rows)


def differences_table(lines: Sequence[ResultRow]) -> FilledTable:
    """`differences.csv`: metrics beside the first dispatcher's."""
    return FilledTable(DIFFERENCES, _differences(lines))


def _differences(lines: Sequence[ResultRow]) -> Iterator[list[Any]]:
    for trace, group in by_trace(lines).items():
        first, keys = first_of(group), [key for key in KEYS if can_rank(group, key)]
        for line in group:
            for key in keys:
                found = line.compare_with(first, key) if first is not None and line is not first else None
                if first is not None and found is not None:
                    ends = [*_ends(found.difference), *_ends(found.ratio)]
                    figures = [found.pairs, found.mean, found.first, *ends, _word(found.may_be_chance)]
                    yield [trace, line.label, first.label, key, *figures]


def _ends(interval: Interval | None) -> list[float | None]:
    if interval is None:
        return [None, None, None]
    ends = (interval.value, interval.low, interval.high)
    return [None if abs(end) == float("inf") else end for end in ends]


def _sweep_table(lines: Sequence[ResultRow]) -> FilledTable:
    """`sweep.csv`: means and deviations per grid point."""
    rows = (
        [trace, family, *[text for pair in line.grid for text in pair], *[""] * (4 - 2 * len(line.grid)),
         len(line.done), *_figures(line)]
        for trace, group in by_trace(lines).items()
        for (family, _), members in grid_rows(group).items()
        for line in members
    )  # fmt: skip
    return FilledTable(SWEEP, rows)


def _word(yes: bool) -> str:
    return "yes" if yes else "no"


def write_found(folder: Path, compared: ComparisonData, out: Path) -> None:
    """Write `found.json`; run folders are relative to `out`."""
    results = [asdict(result) | {"folder": result.folder.relative_to(out).as_posix()} for result in compared.results]
    write_json(folder / FOUND_FILE, asdict(compared) | {"results": results})


def read_found(out: Path) -> ComparisonData:
    """Read `found.json` in `out`. Raises InputError."""
    record = read_json(out / FOUND_FILE, FoundRecord)
    results = tuple(
        RunResult(
            **one.model_dump(exclude={"folder", "settings", "grid"}),
            folder=out / one.folder,
            settings=tuple(one.settings),
            grid=tuple(one.grid),
        )
        for one in record.results
    )
    known = tuple(ClairvoyantResult(**one.model_dump()) for one in record.known)
    return ComparisonData(results, record.pair, known, tuple(record.notes))
