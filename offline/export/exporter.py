"""The interface of export formats, and the actions of a plan by node and time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

import numpy as np

from dardis.model.arrays import Bools, Ints
from offline.folder.plan_folder import PlanFolder
from offline.folder.tables import OnOffTable


class Export(NamedTuple):
    """A text, and what whoever uses it must know: one line each."""

    text: str
    notes: tuple[str, ...] = ()


Exporter: TypeAlias = Callable[[PlanFolder, list[str]], Export]
"""Makes the text of a plan, given the names of all nodes as the tool knows them."""


class Format(NamedTuple):
    """A format that can be asked for."""

    export: Exporter
    what: str
    is_program: bool = False
    can_be_checked: bool = False
    """Whether it can be played on the days before the plan."""


class Step(NamedTuple):
    """What begins at one instant: the nodes whose shut-down, and those whose boot begins; ascending."""

    time: int
    off: list[int]
    on: list[int]


def steps(onoff: OnOffTable) -> list[Step]:
    """The actions, those of one instant together."""
    return [
        Step(int(time), sorted(onoff.node[now & ~onoff.on].tolist()), sorted(onoff.node[now & onoff.on].tolist()))
        for time in np.unique(onoff.time)
        for now in [onoff.time == time]
    ]


def first_on(onoff: OnOffTable, nodes: int) -> Bools:
    """Which nodes are on before the first action, shape (nodes,): all but those whose first action is a boot."""
    on = np.ones(nodes, dtype=np.bool_)
    for node, boots in zip(onoff.node[::-1].tolist(), onoff.on[::-1].tolist(), strict=True):
        on[node] = not boots
    return on


def absences(onoff: OnOffTable, boot_s: Ints, start: int, end: int) -> Iterator[tuple[int, int, int]]:
    """(from, to, node) of every time within `[start, end)` in which a node holds nothing: until its boot has ended."""
    gone = {int(node): start for node in np.flatnonzero(~first_on(onoff, len(boot_s)))}
    for time, node, boots in zip(onoff.time.tolist(), onoff.node.tolist(), onoff.on.tolist(), strict=True):
        if not boots:
            gone[node] = max(time, start)
        elif (back := min(time + int(boot_s[node]), end)) > (since := gone.pop(node)):
            yield since, back, node
    yield from ((since, end, node) for node, since in gone.items() if since < end)
