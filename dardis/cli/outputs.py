"""Decides which files commands may write: InputError for what exists, or has no fitting name."""

from __future__ import annotations

from pathlib import Path

from dardis.model.errors import InputError


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
