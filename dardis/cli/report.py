"""`dardis report`: draws the report of a run again, from the files in its folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def report(run_dir: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a run.")]) -> None:
    """Draw DIR/report.html from the other files in DIR: one file that opens without a network."""
    from dardis.report.page import draw_report

    typer.echo(f"report: {draw_report(run_dir)}")
