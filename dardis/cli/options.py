"""Options that several commands take, each said once: which trace, which of its jobs, and what is replaced."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

TracePath = Annotated[
    Path,
    typer.Argument(metavar="TRACE", help="SWF, job table, sacct, Batsim's JSON, tables of public traces; or packed."),
]
NodeNames = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Names of the nodes, one a line, where they aren't the platform's.")
]
Force = Annotated[bool, typer.Option("--force", help="Replace OUT if it exists.")]
