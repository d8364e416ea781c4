"""Decides how the nodes of a platform are called: as the platform says, or as a site calls them."""

from __future__ import annotations

from pathlib import Path

from dardis.model.errors import InputError
from dardis.model.files import read_text
from dardis.model.platform import Platform


def node_names(platform: Platform, file: Path | None) -> list[str]:
    """Names of all nodes: one a line of `file` in the platform's order, else the platform's own. Raises InputError."""
    if file is None:
        return [platform.node_name(node) for node in range(platform.node_count)]
    names = read_text(file).split()
    if len(names) != platform.node_count:
        raise InputError(file, f"{len(names)} names", f"{platform.node_count}, one for each node of {platform.name}")
    if doubled := sorted({name for name in names if names.count(name) > 1}):
        raise InputError(file, f"{doubled[0]} occurs twice", "each name once")
    return names
