"""Decides what a file says of how nodes stand now: what `scontrol show node` prints, or a CSV of `node,state`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from dardis.config.slurm.read import parse_slurm
from dardis.config.slurm.records import NodeRecord
from dardis.config.slurm.show import SHOWN
from dardis.model.arrays import Bools
from dardis.model.errors import InputError
from dardis.model.files import by_name, csv_table, read_text
from dardis.model.platform import Platform
from dardis.model.resources import CORES

COLUMNS: Final = ("node", "state")
WORDS: Final = ("on", "busy", "closed", "off", "booting")
"""What a CSV says of a node, several joined by `+`."""


@dataclass(frozen=True)
class NodeStates:
    """How nodes stand, arrays of shape (nodes,). Who is none of this is on and idle."""

    busy: Bools
    """Holds jobs."""
    closed: Bools
    """Takes no jobs: it is drained, down, reserved or in maintenance. What runs there goes on."""
    off: Bools
    """Off, or on its way down, and no job there."""
    booting: Bools
    unnamed: int
    """Nodes of which the file says nothing."""


class _Said(NamedTuple):
    """What a line says of a node."""

    line: int
    name: str
    words: frozenset[str]
    cores: int | None = None
    """How many it has; None: not said."""


def read_node_states(path: Path, platform: Platform, names: Sequence[str]) -> NodeStates:
    """What a file, plain or gzipped, says of the nodes of a platform, which it calls by these names.

    InputError: neither form, a node that the platform has not, or with other cores, or twice, an unknown word.
    """
    place = {name: node for node, name in enumerate(names)}
    lines: dict[str, int] = {}
    columns = {word: np.zeros(len(names), dtype=np.bool_) for word in WORDS}
    cores = platform.capacity[:, platform.kinds.index(CORES)]
    for said in _said(path):
        here = f"{path}:{said.line}"
        node = place.get(said.name)
        if node is None:
            expected = f"one that is called as {names[0]}, or --names FILE with the names of its nodes in their order"
            raise InputError(here, f"{said.name!r} is no node of platform {platform.name}", expected)
        if said.name in lines:
            raise InputError(here, f"node {said.name} again, after line {lines[said.name]}", "each node once")
        if said.cores not in {None, int(cores[node])}:
            counted = f"node {said.name} has {said.cores} CPUs"
            raise InputError(here, counted, f"{cores[node]} cores, as platform {platform.name} has it")
        lines[said.name] = said.line
        for word in said.words:
            columns[word][node] = True
    busy = columns["busy"]
    return NodeStates(
        busy, columns["closed"], columns["off"] & ~busy, columns["booting"] & ~columns["off"] & ~busy,
        len(names) - len(lines),
    )  # fmt: skip


def _said(path: Path) -> Iterator[_Said]:
    """What each line says, by the form that the file has."""
    text = read_text(path)
    if SHOWN.search(text):
        for node in parse_slurm(path, text).nodes:
            yield _Said(node.line, node.name, frozenset(_words_of(node)), node.cores)
        return
    if not text.strip():
        raise InputError(path, "is empty", "what scontrol show node -o prints, or a CSV of node,state")
    header, rows = csv_table(path, text, COLUMNS)
    for line, fields in rows:
        try:
            row = by_name(header, fields)
        except ValueError as error:
            raise InputError(f"{path}:{line}", str(error)) from None
        words = frozenset(row["state"].strip().split("+"))
        if not words <= {*WORDS}:
            raise InputError(f"{path}:{line}", f"state {row['state']!r}", "of " + ", ".join(WORDS) + ", joined by +")
        yield _Said(line, row["node"].strip(), words)


def _words_of(node: NodeRecord) -> Iterator[str]:
    """What Slurm's state of a node is in these words."""
    state = node.state
    if state.out_of_work:
        yield "closed"
    for word, is_so in (("busy", state.is_busy), ("off", state.is_off), ("booting", state.is_booting)):
        if is_so:
            yield word
