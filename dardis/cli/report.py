"""`dardis report`: draws the report of a folder again, from the files in it, and its charts as files of their own."""

from __future__ import annotations

import re
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Literal

import typer


def report(
    run_dir: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a run, or of dardis scale.")],
    charts: Annotated[
        Literal["pdf", "svg"] | None, typer.Option(help="Write every chart to DIR/charts as well.", metavar="pdf|svg")
    ] = None,
    gantt: Annotated[
        str | None,
        typer.Option(metavar="FROM,TO", help="Draw each job of a run between these times (s), with its number."),
    ] = None,
) -> None:
    """Draw DIR/report.html from the other files in DIR: one file that opens without a network."""
    from dardis.model.errors import InputError
    from dardis.model.folder_lock import locked
    from dardis.model.folders import COMPARISON_FOLDER, RUN_FOLDER, SCALE_FOLDER
    from dardis.report.chart_files import Form
    from dardis.report.page import draw_report
    from dardis.report.scale_page import draw_scale_report

    form, span = None if charts is None else Form(charts), None if gantt is None else _span(gantt)
    if COMPARISON_FOLDER.mark is not None and (run_dir / COMPARISON_FOLDER.mark).exists():
        found = "is the folder of a comparison, which draws its report itself"
        raise InputError(run_dir, found, "a run's folder, one of those under runs/, or that of dardis scale")
    of_scale = any((run_dir / name).exists() for name in ("scale.json", "scale.csv"))
    if span is not None and of_scale:
        raise InputError("--gantt", f"{run_dir} holds scale experiments", "the folder of a run")
    with locked(run_dir, run_dir) if run_dir.is_dir() else nullcontext():
        (SCALE_FOLDER if of_scale else RUN_FOLDER).check_finished(run_dir)
        path = draw_scale_report(run_dir, form=form) if of_scale else draw_report(run_dir, form=form, span=span)
    typer.echo(f"report: {path}")
    if form is not None:
        typer.echo(f"charts: {run_dir / 'charts'}")


def _span(text: str) -> tuple[int, int]:
    """What `--gantt` says. Raises InputError."""
    from dardis.model.errors import InputError
    from dardis.model.numbers import LARGEST_INT64

    found = re.fullmatch(r"\s*(-?[0-9]{1,19})\s*,\s*(-?[0-9]{1,19})\s*", text)
    if found is None or not -LARGEST_INT64 // 4 < int(found[1]) < int(found[2]) < LARGEST_INT64 // 4:
        raise InputError("--gantt", text, "FROM,TO in seconds of the trace, FROM before TO: 0,86400")
    return int(found[1]), int(found[2])
