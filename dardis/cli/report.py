"""`dardis report`: draws the report of a run again, from the files in its folder."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer


def report(
    run_dir: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a run, or of dardis scale.")],
) -> None:
    """Draw DIR/report.html from the other files in DIR: one file that opens without a network."""
    from dardis.model.errors import InputError
    from dardis.model.folder_lock import locked
    from dardis.model.folders import COMPARISON_FOLDER, RUN_FOLDER, SCALE_FOLDER
    from dardis.report.page import draw_report
    from dardis.report.scale_page import draw_scale_report

    if COMPARISON_FOLDER.mark is not None and (run_dir / COMPARISON_FOLDER.mark).exists():
        found = "is the folder of a comparison, which draws its report itself"
        raise InputError(run_dir, found, "a run's folder, one of those under runs/, or that of dardis scale")
    of_scale = any((run_dir / name).exists() for name in ("scale.json", "scale.csv"))
    with locked(run_dir, run_dir) if run_dir.is_dir() else nullcontext():
        (SCALE_FOLDER if of_scale else RUN_FOLDER).check_finished(run_dir)
        typer.echo(f"report: {(draw_scale_report if of_scale else draw_report)(run_dir)}")
