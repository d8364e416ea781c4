"""Node states from Slurm's nodes, or a CSV of `node,state`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from dardis.config.slurm.slurm_reader import SHOWN, parse_slurm
from dardis.config.slurm.state_table import SlurmState
from dardis.model.arrays import Bools
from dardis.model.errors import InputError, one_line
from dardis.model.files import by_name, csv_table, is_json, read_text
from dardis.model.hostlist import hostlist
from dardis.model.platform import Platform
from dardis.model.resources import CORES

COLUMNS: Final = ("node", "state")
WORDS: Final = ("on", "busy", "closed", "off", "shutting_down", "booting")
"""State words of a CSV, joined by `+`."""


@dataclass(frozen=True)
class NodeStates:
    """Node states, (nodes,). Without any, a node is on and idle."""

    busy: Bools
    closed: Bools
    """Accepts no jobs; running jobs continue."""
    off: Bools
    """Off, without jobs."""
    shutting_down: Bools
    booting: Bools
    unnamed: int
    notes: tuple[str, ...] = ()


class _StateLine(NamedTuple):
    line: int
    name: str
    words: frozenset[str]
    cores: int | None = None
    unknown: tuple[str, ...] = ()
    is_scheduled: bool = True
    """False outside partitions, if any exist."""


def read_node_states(path: Path, platform: Platform, names: Sequence[str]) -> NodeStates:
    """Read node states; `names`: node names. Raises InputError for unknown or repeated nodes, words and formats.

    Notes: unknown nodes outside partitions are omitted; nodes with another CPU count or an unknown Slurm state are
    closed.
    """
    left_out: list[str] = []
    resized: list[str] = []
    unknown: dict[str, list[str]] = {}
    place = {name: node for node, name in enumerate(names)}
    lines: dict[str, int] = {}
    columns = {word: np.zeros(len(names), dtype=np.bool_) for word in WORDS}
    cores = platform.capacity[:, platform.kinds.index(CORES)]
    for said in _state_lines(path):
        here = f"{path}:{said.line}"
        node = place.get(said.name)
        if node is None and not said.is_scheduled:
            left_out.append(said.name)
            continue
        if node is None:
            expected = f"a name such as {names[0]}, or --names FILE with all node names in order"
            raise InputError(here, f"{said.name!r} is not a node of platform {platform.name}", expected)
        if said.name in lines:
            raise InputError(here, f"node {said.name} again, after line {lines[said.name]}", "each node once")
        lines[said.name] = said.line
        for word in said.words:
            columns[word][node] = True
        if said.cores not in {None, int(cores[node])}:
            resized.append(said.name)
            columns["closed"][node] = True
        for word in said.unknown:
            unknown.setdefault(word, []).append(said.name)
    busy, off = columns["busy"], columns["off"] & ~columns["busy"]
    shutting_down = columns["shutting_down"] & ~busy & ~off
    booting = columns["booting"] & ~busy & ~off & ~shutting_down
    notes = [f"{path}: nodes in no partition are left out: {hostlist(left_out)}"] if left_out else []
    if resized:
        notes.append(f"{path}: nodes whose CPUs differ from platform {platform.name} are closed: {hostlist(resized)}")
    for word, held in unknown.items():
        notes.append(f"{path}: nodes with the unknown state {word} are closed: {hostlist(held)}")
    told = tuple(one_line(note, len(note)) for note in notes)
    return NodeStates(busy, columns["closed"], off, shutting_down, booting, len(names) - len(lines), told)


def _state_lines(path: Path) -> Iterator[_StateLine]:
    text = read_text(path)
    if is_json(text) or SHOWN.search(text):
        site = parse_slurm(path, text)
        for node in site.nodes:
            words, unknown = frozenset(_state_words(node.state)), node.state.unknown
            yield _StateLine(node.line, node.name, words, node.cores, unknown, site.schedules(node))
        return
    if not text.strip():
        raise InputError(path, "is empty", "the output of scontrol show node -o, or a CSV of node,state")
    header, rows = csv_table(path, text, COLUMNS)
    for line, fields in rows:
        try:
            row = by_name(header, fields)
        except ValueError as error:
            raise InputError(f"{path}:{line}", str(error)) from None
        words = frozenset(row["state"].strip().split("+"))
        if not words <= {*WORDS}:
            raise InputError(f"{path}:{line}", f"state {row['state']!r}", "of " + ", ".join(WORDS) + ", joined by +")
        yield _StateLine(line, row["node"].strip(), words)


def _state_words(state: SlurmState) -> Iterator[str]:
    if state.closing:
        yield "closed"
    if state.is_busy:
        yield "busy"
    yield state.power.replace(" ", "_")
