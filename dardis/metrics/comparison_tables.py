"""The tables of a comparison for programs: every run, means and spread, differences by draw, settings of a grid."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dardis.metrics.comparison import (
    KEYS,
    Known,
    Line,
    RunResult,
    by_trace,
    first_of,
    mean_wait,
    of_same_jobs,
    seeded,
    swept,
)
from dardis.metrics.paired import Interval
from dardis.model.cells import as_cell, row_writer
from dardis.model.files import atomic_text


def write_runs(path: Path, results: Sequence[RunResult]) -> None:
    """Write `compare.csv`: one row a run, with all its metrics; empty where it has none."""
    keys = list(dict.fromkeys(key for result in results for key in result.metrics or {}))
    with atomic_text(path) as file:
        writer = row_writer(file)
        writer.writerow(
            ["trace", "dispatcher", "name", "settings", "arity", "sample", "seed", "draw", "status", "error", *keys]
        )
        for run in results:
            names = map(as_cell, (run.trace, run.label, run.dispatcher, " ".join(run.settings)))
            reach = ["", ""] if run.central else [run.arity or "flat", run.sample or "all"]
            state = ["failed", as_cell(run.error)] if run.metrics is None else ["done", ""]
            writer.writerow(
                [*names, *reach, run.seed, run.draw or "", *state, *((run.metrics or {}).get(key) for key in keys)]
            )


def write_table(path: Path, lines: Sequence[Line]) -> None:
    """Write `table.csv`: one row a trace and dispatcher, of each figure the mean and the standard deviation."""
    with atomic_text(path) as file:
        writer = row_writer(file)
        columns = [f"{key}_{what}" for key in KEYS for what in ("mean", "sd")]
        writer.writerow(["trace", "dispatcher", "runs", "failed", "seeded", *columns])
        for line in lines:
            figures = [line.figure(key) for key in KEYS]
            cells = [cell for f in figures for cell in ((f.mean, f.deviation) if f else (None, None))]
            writer.writerow(
                [
                    as_cell(line.trace),
                    as_cell(line.label),
                    len(line.done),
                    len(line.failed),
                    _word(seeded(line)),
                    *cells,
                ]
            )


def write_known(path: Path, known: Sequence[Known], lines: Sequence[Line]) -> None:
    """Write `clairvoyant.csv`: a row a trace and dispatcher, its mean wait beside the best found and the bound."""
    with atomic_text(path) as file:
        writer = row_writer(file)
        writer.writerow(
            ["trace", "dispatcher", "jobs", "mean_wait_s", "best_found_s", "bound_s", "above_best", "above_bound"]
        )
        traces = by_trace(lines)
        for one in known:
            for line in (line for line in traces[one.trace] if not line.recorded):
                wait = mean_wait(line, one)
                ratios = [wait / least if wait is not None and least else None for least in (one.best_s, one.bound_s)]
                writer.writerow(
                    [as_cell(one.trace), as_cell(line.label), one.jobs, wait, one.best_s, one.bound_s, *ratios]
                )


def write_differences(path: Path, lines: Sequence[Line]) -> None:
    """Write `differences.csv`: a row a trace, dispatcher and figure, beside the first dispatcher on the same draws.

    Figures that can't be set side by side have none.
    """
    with atomic_text(path) as file:
        writer = row_writer(file)
        intervals = [f"{what}{end}" for what in ("difference", "ratio") for end in ("", "_low", "_high")]
        writer.writerow(
            ["trace", "dispatcher", "first", "figure", "draws", "mean", "first_mean", *intervals, "may_be_chance"]
        )
        for trace, group in by_trace(lines).items():
            first, keys = first_of(group), [key for key in KEYS if of_same_jobs(group, key)]
            for line in group:
                for key in keys:
                    found = line.beside(first, key) if first is not None and line is not first else None
                    if first is None or found is None:
                        continue
                    names = [as_cell(trace), as_cell(line.label), as_cell(first.label), key]
                    ends = [*_ends(found.difference), *_ends(found.ratio)]
                    chance = _word(found.may_be_chance)
                    writer.writerow([*names, found.pairs, found.mean, found.first, *ends, chance])


def _ends(interval: Interval | None) -> list[float | None]:
    """Value, low and high end; None for what nobody knows."""
    if interval is None:
        return [None, None, None]
    ends = (interval.value, interval.low, interval.high)
    return [None if abs(end) == float("inf") else end for end in ends]


def write_sweep(path: Path, lines: Sequence[Line]) -> None:
    """Write `sweep.csv`: a row a trace and dispatcher of a grid: its settings, mean and deviation of figures."""
    with atomic_text(path) as file:
        writer = row_writer(file)
        columns = [f"{key}_{what}" for key in KEYS for what in ("mean", "sd")]
        names = ["setting", "value", "second_setting", "second_value"]
        writer.writerow(["trace", "dispatcher", *names, "runs", *columns])
        for trace, group in by_trace(lines).items():
            for (family, _), members in swept(group).items():
                for line in members:
                    settings = [as_cell(text) for pair in line.grid for text in pair]
                    settings += [""] * (4 - len(settings))
                    figures = [line.figure(key) for key in KEYS]
                    cells = [cell for f in figures for cell in ((f.mean, f.deviation) if f else (None, None))]
                    writer.writerow([as_cell(trace), as_cell(family), *settings, len(line.done), *cells])


def _word(yes: bool) -> str:
    return "yes" if yes else "no"
