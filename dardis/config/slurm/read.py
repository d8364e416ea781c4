"""Decides by its content which form a Slurm file has, and promises that each node is there once."""

from __future__ import annotations

from pathlib import Path

from dardis.config.slurm.conf import CONFIGURES, parse_conf
from dardis.config.slurm.fields import SlurmSite
from dardis.config.slurm.show import SHOWN, parse_show
from dardis.model.errors import InputError
from dardis.model.files import read_text

_EXPECTED = "what scontrol show node -o prints, or a slurm.conf with its nodes"


def read_slurm(path: Path) -> SlurmSite:
    """The nodes and partitions of a file of either form, plain or gzipped.

    InputError: a file that can't be read, and what `parse_slurm` refuses.
    """
    return parse_slurm(path, read_text(path))


def parse_slurm(path: Path, text: str) -> SlurmSite:
    """The same of a text; `path` names it in messages.

    InputError: neither form or no node, a line that says what can't be, and a node twice.
    """
    if SHOWN.search(text):
        site = parse_show(path, text)
    elif CONFIGURES.search(text):
        site = parse_conf(path, text)
    else:
        raise InputError(path, "neither form of a Slurm site" if text.strip() else "is empty", _EXPECTED)
    if not site.nodes:
        included = f" (it includes {site.included[0]}, which is not read)" if site.included else ""
        raise InputError(path, f"no node{included}", _EXPECTED)
    _check(path, site)
    return site


def _check(path: Path, site: SlurmSite) -> None:
    """Refuse nodes that occur twice and names of partitions with blanks."""
    lines: dict[str, int] = {}
    for node in site.nodes:
        if node.name in lines:
            found = f"node {node.name} again, after line {lines[node.name]}"
            raise InputError(f"{path}:{node.line}", found, "each node once")
        lines[node.name] = node.line
    for partition in site.partitions:
        if not partition.name.isprintable() or partition.name.split() != [partition.name]:
            raise InputError(path, f"partition {partition.name!r}", "a name without blanks")
