"""Writes a comparison's tables and report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dardis.metrics.comparison_rows import ClairvoyantResult, ComparisonData, ResultRow, by_trace, result_rows
from dardis.metrics.comparison_tables import read_found, tables_of, write_found
from dardis.metrics.job_classes import WALLTIME, WIDTH, ClassRows, classes_table, job_classes, merge_classes
from dardis.metrics.job_metrics import bounded_slowdown
from dardis.metrics.jobs_csv import read_jobs
from dardis.model.files import write_text
from dardis.model.out_folder import COMPARISON_FOLDER
from dardis.report import chart, compare_charts, compare_table
from dardis.report.chart import Chart, ChartFormat, TimeAxis, write_charts
from dardis.report.compare_charts import DispatcherResults, sweeps
from dardis.report.gantt import gantt
from dardis.report.ratio_chart import radar, ratios
from dardis.report.run_files import read_run
from dardis.report.run_page import write_page


def draw_comparison(folder: Path, *, form: ChartFormat | None = None) -> Path:
    """Redraw a finished, locked comparison; with `form`, also charts. Raises InputError and OSError."""
    compared = read_found(folder)
    with COMPARISON_FOLDER.replace_files(folder) as part:
        charts = write_comparison(part, compared, folder).charts
    if form is not None:
        write_charts(folder, charts, form)
    return folder / "report.html"


class ComparisonCharts(NamedTuple):
    """Charts by trace; rows for `classes_table`."""

    charts: dict[str, list[Chart]]
    classes: ClassRows


def write_comparison(out: Path, compared: ComparisonData, folder: Path) -> ComparisonCharts:
    """Write tables, report.html and found.json of `folder` into `out`.

    Raises InputError and OSError.
    """
    results, pair, known = compared.results, compared.pair, compared.known
    lines = result_rows(results)
    table = compare_table.full_table(lines, [*(one.summary for one in known if one.summary), *compared.notes])
    write_found(out, compared, folder)
    for one in tables_of(compared):
        one.write(out)
    write_text(out / "table.md", compare_table.markdown(table))
    write_text(out / "table.tex", compare_table.latex(table))
    knows = {one.trace: one for one in known}
    traces = by_trace(lines)
    borne = {trace: [_dispatcher_results(line) for line in group if line.done] for trace, group in traces.items()}
    rows = [(trace, one.label, one.runs, one.classes) for trace, group in borne.items() for one in group]
    classes_table(rows).write(out)
    with chart.style():
        sections = [
            (trace, _charts(group, borne[trace], pair, knows.get(trace)), _omitted_labels(borne[trace]))
            for trace, group in traces.items()
        ]
    labels = list(dict.fromkeys(line.label for line in lines if not line.is_recorded))
    lead = f"{', '.join(traces)} under {', '.join(labels)}"
    write_page(out / "report.html", "compare.html.j2", title="A comparison", lead=lead, table=table, sections=sections)
    return ComparisonCharts({trace: charts for trace, charts, _ in sections}, rows)


def _dispatcher_results(line: ResultRow) -> DispatcherResults:
    waits, slowdowns, classes = [], [], []
    for run in line.done:
        schedule = read_jobs(run.folder / "jobs.csv")
        ran = schedule.ran
        waits.append((schedule.start - schedule.submit)[ran])
        slowdowns.append(bounded_slowdown(waits[-1], (schedule.finish - schedule.start)[ran]))
        classes.append(job_classes(schedule))
    return DispatcherResults(
        line.label, np.concatenate(waits), np.concatenate(slowdowns), merge_classes(classes), len(line.done)
    )


def _omitted_labels(borne: Sequence[DispatcherResults]) -> str:
    return ", ".join(one.label for one in borne[chart.MOST_LINES :])


def _charts(
    lines: Sequence[ResultRow],
    borne: Sequence[DispatcherResults],
    pair: tuple[str, str],
    known: ClairvoyantResult | None,
) -> list[Chart]:
    ran = [one for one in borne if len(one.waits)]
    if not ran:
        return []
    drawn = [
        ratios(lines, "Relative to the first dispatcher"),
        *sweeps(lines),
        radar([line for line in lines if line.done], "Radar"),
        compare_charts.clairvoyant(lines, known, "Mean waits and clairvoyance") if known else None,
        compare_charts.waits(ran, "Waits"),
        compare_charts.slowdowns(ran, "Bounded slowdowns"),
        compare_charts.class_breakdown(ran, WIDTH, "Breakdown by width"),
        compare_charts.class_breakdown(ran, WALLTIME, "Breakdown by walltime"),
        _over_time(lines, pair),
    ]
    return [one for one in drawn if one is not None]


def _over_time(lines: Sequence[ResultRow], pair: tuple[str, str]) -> Chart | None:
    runs = [line.done[0] for label in dict.fromkeys(pair) for line in lines if line.label == label and line.done]
    files = [(run, read_run(run.folder)) for run in runs]
    files = [(run, read) for run, read in files if read.schedule.ran.any()]
    if not files:
        return None
    start = min(int(read.schedule.submit.min()) for _, read in files)
    end = max(int(read.schedule.finish[read.schedule.ran].max()) for _, read in files)
    first = files[0][1]
    named = [(f"{run.label}, {run.drawn_by}", read.schedule) for run, read in files]
    return gantt(named, first.platform, TimeAxis(start, end, first.run.unix_start))
