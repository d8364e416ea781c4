"""Interface of export formats, and actions of plans."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

import numpy as np

from dardis.model.arrays import Bools, Ints
from offline.folder.plan_folder import PlanFolder
from offline.folder.tables import OnOffTable


class Export(NamedTuple):
    """Export's text, and notes."""

    text: str
    notes: tuple[str, ...] = ()


Exporter: TypeAlias = Callable[[PlanFolder, list[str]], Export]
"""Makes an export from a plan and node names."""


class Format(NamedTuple):
    """Export format."""

    export: Exporter
    what: str
    is_program: bool = False
    can_be_checked: bool = False


class Step(NamedTuple):
    """Nodes to shut down and boot at a time."""

    time: int
    off: list[int]
    on: list[int]


def steps(onoff: OnOffTable) -> list[Step]:
    """Group actions by time."""
    return [
        Step(int(time), sorted(onoff.node[now & ~onoff.on].tolist()), sorted(onoff.node[now & onoff.on].tolist()))
        for time in np.unique(onoff.time)
        for now in [onoff.time == time]
    ]


def initially_on(onoff: OnOffTable, nodes: int) -> Bools:
    """Whether nodes are on before the first action, (nodes,)."""
    on = np.ones(nodes, dtype=np.bool_)
    for node, boots in zip(onoff.node[::-1].tolist(), onoff.on[::-1].tolist(), strict=True):
        on[node] = not boots
    return on


def absences(onoff: OnOffTable, boot_s: Ints, start: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Yield (from, to, node) of downtime with boots within `[start, end)`."""
    gone = {int(node): start for node in np.flatnonzero(~initially_on(onoff, len(boot_s)))}
    for time, node, boots in zip(onoff.time.tolist(), onoff.node.tolist(), onoff.on.tolist(), strict=True):
        if not boots:
            gone[node] = max(time, start)
        elif (back := min(time + int(boot_s[node]), end)) > (since := gone.pop(node)):
            yield since, back, node
    yield from ((since, end, node) for node, since in gone.items() if since < end)
