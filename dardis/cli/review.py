"""`dardis review`: a planned day as it was lived, beside the same day without a plan."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def review(
    plan_dir: Annotated[Path, typer.Argument(metavar="PLAN_DIR", help="The folder of dardis plan.")],
    run: Annotated[Path, typer.Option(metavar="DIR", help="A run that followed the plan (--profile target.json).")],
    beside: Annotated[Path, typer.Option(metavar="DIR", help="A run of the same jobs that did not.")],
    out: Annotated[Path, typer.Option(metavar="FILE.html", help="Where the page goes.")],
    force: Annotated[bool, typer.Option("--force", help="Replace FILE.html.")] = False,
) -> None:
    """Judge a plan's day: two runs under the plan's weather and prices, as two lines and a page."""
    from dardis.cli.outputs import check_absent
    from offline.day.review import draw
    from offline.day.review import review as judge

    check_absent(out, force)
    told = judge(plan_dir, run, beside)
    draw(out, told)
    for line in told.lines:
        typer.echo(line)
    typer.echo(f"Page: {out.absolute()}")
