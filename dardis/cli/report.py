"""`dardis report`: draws the report of a run again, from the files in its folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def report(
    run_dir: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a run, or of dardis scale.")],
) -> None:
    """Draw DIR/report.html from the other files in DIR: one file that opens without a network."""
    from dardis.report.page import draw_report
    from dardis.report.scale_page import draw_scale_report

    draw = draw_scale_report if (run_dir / "scale.json").exists() else draw_report
    typer.echo(f"report: {draw(run_dir)}")
