"""Options that several commands take, each said once: which trace, which of its jobs, and what is replaced."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dardis.config import option_texts

TracePath = Annotated[Path, typer.Argument(metavar="TRACE", help=option_texts.TRACE)]
NodeNames = Annotated[Path | None, typer.Option(metavar="FILE", help=option_texts.NODE_NAMES)]
Strict = Annotated[bool, typer.Option("--strict", help=option_texts.STRICT)]
Force = Annotated[bool, typer.Option("--force", help="Replace OUT if it exists.")]
