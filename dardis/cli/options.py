"""Options that several commands share, and which output files commands may write."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dardis.config import option_texts
from dardis.model.errors import InputError

TracePath = Annotated[Path, typer.Argument(metavar="TRACE", help=option_texts.TRACE)]
NodeNames = Annotated[Path | None, typer.Option(metavar="FILE", help=option_texts.NODE_NAMES)]
Strict = Annotated[bool, typer.Option("--strict", help=option_texts.STRICT)]
Force = Annotated[bool, typer.Option("--force", help="Replace OUT if it exists.")]


def check_platform_out(out: Path, force: bool) -> None:
    """Refuse a file that can't be a platform's, and with no `force` one that exists. Raises InputError."""
    if out.suffix != ".toml":
        raise InputError(out, "no name of a platform file", "a name that ends in .toml")
    if not out.parent.is_dir():
        raise InputError(out, "its folder does not exist", "a file in a folder that exists")
    check_absent(out, force)


def check_absent(out: Path, force: bool) -> None:
    """Refuse a file that exists, but with `force`. Raises InputError."""
    if out.exists() and not force:
        raise InputError(out, "exists", "another name, or --force to replace it")
