"""Who can hold a unit from now on, for the sizes of unit that a pool is asked for."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from dardis.kernels.openings import (
    ISSUE,
    MOST_NODES,
    NO_CHANGES,
    NO_OPENINGS,
    WRITTEN,
    Changes,
    Openings,
    make_changes,
    make_openings,
)
from dardis.model.arrays import Ints

MOST_SIZES: Final = 16
"""Sizes that are kept; who was asked for longest ago goes."""
MOST_NAMES: Final = 4096
"""Sizes that are remembered to have been asked for."""


class OpenNodes:
    """What is known of so many nodes. A size is kept from the second time on that it is asked for."""

    def __init__(self, nodes: int) -> None:
        """Know nothing."""
        self._nodes = nodes
        self._changes = NO_CHANGES
        self._kept: OrderedDict[tuple[int, bytes], Openings] = OrderedDict()
        self._asked: set[tuple[int, bytes]] = set()

    def touch(self, nodes: Ints) -> None:
        """Note that what these hold has changed."""
        changes = self._changes
        if not len(changes.node):
            return
        written = int(changes.about[WRITTEN])
        end = written + len(nodes)
        if end <= len(changes.node):
            changes.node[written:end] = nodes
            changes.about[WRITTEN] = end
        else:
            # The list begins anew, and all is looked at when somebody asks.
            changes.about[WRITTEN] = 0
            changes.about[ISSUE] += 1

    def of(self, request: Ints, groups: int) -> tuple[Changes, Openings]:
        """What is kept for a unit of this size on nodes of these groups; nothing at first."""
        size = groups, request.tobytes()
        openings = self._kept.get(size)
        if openings is not None:
            self._kept.move_to_end(size)
        elif size in self._asked and self._nodes <= MOST_NODES:
            if not self._kept:
                self._changes = make_changes(self._nodes)
            if len(self._kept) == MOST_SIZES:
                self._asked.discard(self._kept.popitem(last=False)[0])
            openings = self._kept[size] = make_openings(self._nodes)
        else:
            if len(self._asked) == MOST_NAMES:
                self._asked.clear()
            self._asked.add(size)
            return NO_CHANGES, NO_OPENINGS
        return self._changes, openings
