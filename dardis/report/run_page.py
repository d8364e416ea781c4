"""Draws a run's `report.html`, one self-contained file."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import jinja2

from dardis.config.cuts import Cut, TraceClock, seconds_of
from dardis.model.errors import InputError
from dardis.model.files import atomic_text
from dardis.report import distributions, gantt, over_time, run_summary
from dardis.report.chart import Chart, ChartFormat, TimeAxis, style, write_charts
from dardis.report.gantt import MOST_BLOCKS, gantt_of_jobs
from dardis.report.glossary import TermLinker
from dardis.report.run_files import RunFiles, read_run

Span = tuple[Cut, Cut]
"""Seconds of the trace's clock, or cuts."""
_NEVER: Final = 1 << 60


def draw_report(run_dir: Path, *, form: ChartFormat | None = None, span: Span | None = None) -> Path:
    """Write a run's `report.html`; with `form`, also charts. `span` adds a chart of single jobs.

    Raises InputError for invalid files or an empty span, and OSError.
    """
    files = read_run(run_dir)
    path = run_dir / "report.html"
    drawn = charts(files, span)
    write_page(
        path,
        "report.html.j2",
        title=f"{files.run.dispatcher or 'A run'} on {Path(files.run.trace or 'a trace').name}",
        lead=files.platform.describe(),
        nothing_ran=None if files.schedule.ran.any() else run_summary.nothing_ran(files),
        headlines=run_summary.headlines(files.metrics, files.platform.currency),
        figures=run_summary.figures(files.metrics, files.platform.currency),
        setup=run_summary.setup(files),
        warnings=list(dict.fromkeys(files.run.warnings)),
        lists=[
            (
                "rejected",
                run_summary.first_entries([f"job {one.job}; reason {one.reason}" for one in files.run.rejected]),
            ),
            ("skipped", run_summary.first_entries(files.run.skipped)),
        ],
        groups=[(by, *run_summary.group_table(files, by)) for by in ("queue", "user")],
        charts=drawn,
    )
    if form is not None:
        write_charts(run_dir, {"": drawn}, form)
    return path


def write_page(path: Path, template: str, **values: object) -> None:
    """Write a page from a template. Raises OSError."""
    pages = jinja2.Environment(
        loader=jinja2.PackageLoader("dardis.report"), autoescape=True, undefined=jinja2.StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    words = TermLinker()
    pages.filters["linked"] = words.link_terms
    text = pages.get_template(template).render(values, used_words=words.used_terms)
    with atomic_text(path) as file:
        file.write(text)


def charts(files: RunFiles, span: Span | None = None) -> list[Chart]:
    """Available charts; `span` selects single jobs."""
    with style():
        single = [] if span is None else [_jobs_within(files, span)]
        drawn = _charts_of_jobs(files, single) if files.schedule.ran.any() else single
        if files.decisions is not None and files.decisions[:, 2].any():
            drawn.append(distributions.decision_times(files.decisions))
    return drawn


def _jobs_within(files: RunFiles, span: Span) -> Chart:
    schedule, run = files.schedule, files.run
    begins, first = "seconds, +2d, or a run with --calendar-start", int(schedule.submit.min(initial=_NEVER))
    clock = TraceClock(Path(run.trace or "the trace"), first, run.unix_start, begins)
    start, end = (seconds_of("--gantt", cut, clock) for cut in span)
    if not -_NEVER < start < end < _NEVER:
        raise InputError("--gantt", f"from {start} s to {end} s", "FROM before TO")
    inside = schedule.ran & (schedule.start < end) & (schedule.finish > start)
    if not inside.any():
        ran = (
            f"from {schedule.start[schedule.ran].min()} s to {schedule.finish.max()} s"
            if schedule.ran.any()
            else "never"
        )
        raise InputError("--gantt", f"no job ran from {start} s to {end} s", f"a span with jobs; they ran {ran}")
    if (blocks := int(schedule.placed.counts[inside].sum())) > MOST_BLOCKS:
        found = f"{inside.sum():,} jobs on {blocks:,} nodes, counted with repetition"
        raise InputError("--gantt", found, f"a span with at most {MOST_BLOCKS:,}")
    return gantt_of_jobs(schedule, files.platform, TimeAxis(start, end, files.run.unix_start))


def _charts_of_jobs(files: RunFiles, single: list[Chart]) -> list[Chart]:
    schedule = files.schedule
    start, end = int(schedule.submit.min()), int(schedule.finish[schedule.ran].max())
    axis = TimeAxis(start, end, files.run.unix_start)
    money = [over_time.power_and_money(files.power, axis, files.platform.currency)] if files.power else []
    nodes = [over_time.nodes_on(files.downtime, files.platform, axis)] if files.downtime else []
    return [
        over_time.utilisation(files.profile, files.platform, axis, wished=bool(files.run.profile_file)),
        over_time.queue(schedule, axis),
        *nodes,
        *([distributions.gaps(files.gaps, axis)] if files.gaps else []),
        *money,
        gantt.gantt([("", schedule)], files.platform, axis),
        *single,
        distributions.waits(schedule),
        distributions.slowdowns(schedule),
        distributions.waits_by_width(schedule),
        *([distributions.accuracy(schedule, files.expected)] if files.expected else []),
    ]
