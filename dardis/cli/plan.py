"""`dardis plan`: tomorrow's power-cap profile, node switching and expected profit, from what is known today."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from dardis.cli.derived import options_of

if TYPE_CHECKING:
    from offline.planner.budget import SearchProgress


@options_of("offline.day.options:PlanSpec")
def plan(options: dict[str, Any]) -> None:
    """Plan a UTC day from the jobs before it; write profile.csv, target.json, onoff.csv, schedule.csv and a report."""
    from dardis.config.option import spec_of
    from offline.day.command import run_plan
    from offline.day.figures import figures_for_people
    from offline.day.options import PlanSpec

    request = spec_of(PlanSpec, options)
    with shown_progress() as progress:
        planned = run_plan(request, progress)
    for note in planned.notes:
        typer.echo(f"dardis: note: {note}", err=True)
    for name, value in (*figures_for_people(planned.plan.summary), ("plan", request.out)):
        typer.echo(f"  {name:<22} {value}")


@contextmanager
def shown_progress() -> Iterator[SearchProgress | None]:
    """What is being done, the best profit and the bound, on a terminal; nothing in a pipe."""
    import sys

    if not sys.stdout.isatty():
        yield None
        return
    from rich.console import Console

    with Console(stderr=True).status("reading") as status:

        def tell(doing: str, best: float | None, bound: float | None) -> None:
            shown = [doing, *([f"best {best:,.2f}"] if best is not None else [])]
            status.update("  ".join([*shown, *([f"bound {bound:,.2f}"] if bound is not None else [])]))

        yield tell
