"""Options that several commands take, each said once: which trace, which of its jobs, and what is replaced."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dardis.config.cuts import MOST_WALLTIME_FACTOR
from dardis.config.option_texts import decimal, one_of, whole
from dardis.model.choices import Overrun, Resources


def dispatchers_beginning(incomplete: str) -> list[str]:
    """Complete the last of the dispatchers' names, which commas part: for shells, which ask for it at a TAB."""
    from dardis.registry import dispatcher_names

    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in dispatcher_names() if name.startswith(last)]


TracePath = Annotated[
    Path,
    typer.Argument(metavar="TRACE", help="SWF, job table, sacct, Batsim's JSON, tables of public traces; or packed."),
]
FirstJobs = Annotated[int | None, typer.Option(parser=whole("--jobs", 1), metavar="N", help="Only the first N jobs.")]
SubmittedFrom = Annotated[
    str | None,
    typer.Option("--from", metavar="TIME", help="Only jobs submitted from then: s, a UTC date, or +2d from the first."),
]
SubmittedBefore = Annotated[
    str | None, typer.Option("--to", metavar="TIME", help="Only jobs submitted before then, told as with --from.")
]
Trimmed = Annotated[
    str | None,
    typer.Option("--trim", metavar="A,B", help="Count only jobs between warm-up and cool-down: s, spans, or times."),
]
OverrunRule = Annotated[
    Overrun | None,
    typer.Option(
        "--overrun",
        parser=one_of("--overrun", Overrun),
        metavar="kill|extend",
        help="Jobs that outrun walltimes die (kill), or have longer ones.",
    ),
]
WalltimeFactor = Annotated[
    float | None,
    typer.Option(
        parser=decimal("--walltime-factor", 1, MOST_WALLTIME_FACTOR),
        metavar="X",
        help="Where the trace states no walltimes: so many times the runtimes.",
    ),
]
CalendarStart = Annotated[
    str | None, typer.Option(metavar="UTC", help="When the trace's first job was submitted: 2023-07-03T00:00Z.")
]
Events = Annotated[
    Path | None,
    typer.Option(metavar="E.toml", help="What happens beside jobs: queues, nodes, reservations, changed asks."),
]
ResourcesRule = Annotated[
    Resources | None,
    typer.Option(
        "--resources",
        parser=one_of("--resources", Resources),
        metavar="nodes|cores",
        help="What allocated_resources of jobs.csv are (nodes; evalys wants cores).",
    ),
]
NodeNames = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Names of the nodes, one a line, where they aren't the platform's.")
]
Force = Annotated[bool, typer.Option("--force", help="Replace OUT if it exists.")]
