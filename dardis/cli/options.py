"""Options that several commands take, each said once: which trace, which of its jobs, and what is replaced."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dardis.cli.texts import whole


def dispatchers_beginning(incomplete: str) -> list[str]:
    """Complete the last of the dispatchers' names, which commas part: for shells, which ask for it at a TAB."""
    from dardis.registry import dispatcher_names

    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in dispatcher_names() if name.startswith(last)]


TracePath = Annotated[
    Path, typer.Argument(metavar="TRACE", help="SWF, job table, sacct, Eurora CSV or Alibaba's pods, plain or .gz.")
]
FirstJobs = Annotated[int | None, typer.Option(parser=whole("--jobs", 1), metavar="N", help="Only the first N jobs.")]
SubmittedFrom = Annotated[
    int | None,
    typer.Option("--from", parser=whole("--from"), metavar="S", help="Only jobs submitted from this time."),
]
SubmittedBefore = Annotated[
    int | None,
    typer.Option("--to", parser=whole("--to"), metavar="S", help="Only jobs submitted before this time."),
]
CalendarStart = Annotated[
    str | None, typer.Option(metavar="UTC", help="When the trace's first job was submitted: 2023-07-03T00:00Z.")
]
Events = Annotated[
    Path | None,
    typer.Option(metavar="E.toml", help="What happens beside jobs: queues, nodes, reservations, changed asks."),
]
NodeNames = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Names of the nodes, one a line, where they aren't the platform's.")
]
Force = Annotated[bool, typer.Option("--force", help="Replace OUT if it exists.")]
