"""A pool that keeps who can hold a unit from now on finds the starts and nodes that one finds that asks every node."""

from collections.abc import Iterator
from dataclasses import dataclass
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from kit.effort import examples
from kit.machine import platforms, requests

from dardis.kernels import openings
from dardis.kernels.openings import NO_CHANGES, NO_OPENINGS, OPEN_END
from dardis.model import codes
from dardis.model.choices import NodeChoice
from dardis.model.platform import Maintenance, NodeGroup, Platform
from dardis.node_manager import NodePool
from dardis.node_manager.open_nodes import MOST_SIZES, OpenNodes
from dardis.wire import messages as say


@dataclass
class Pair:
    """Two pools of the same nodes that are told the same; one of them knows who is open."""

    knows: NodePool
    asks: NodePool
    job: int = 0

    @classmethod
    def of(cls, platform: Platform) -> "Pair":
        return cls(NodePool(platform, 0, platform.node_count), NodePool(platform, 0, platform.node_count))

    def handle(self, message: say.Message, now: int) -> list:
        effects = self.knows.handle(message, now)
        with patch.object(OpenNodes, "of", return_value=(NO_CHANGES, NO_OPENINGS)):
            return [effects, self.asks.handle(message, now)]

    def seek(
        self, request: tuple[int, ...], units: int, walltime: int, now: int, *, groups: int = 1,
        first: int | None = None, choice: NodeChoice = NodeChoice.BEST_FIT, distinct: bool = False,
    ) -> say.Sought:  # fmt: skip
        """Let both find and reserve the job's start, and see that they agree."""
        self.job += 1
        seek = say.Seek(
            self.job, 1, now if first is None else first, max(walltime, 60), walltime, units, groups,
            np.array(request, dtype=np.int64), codes.NODE_CHOICES[choice], distinct,
        )  # fmt: skip
        ours, theirs = (effects[0].message for effects in self.handle(seek, now))
        assert (ours.start, ours.rounds) == (theirs.start, theirs.rounds)
        assert ours.nodes.tolist() == theirs.nodes.tolist()
        assert ours.units.tolist() == theirs.units.tolist()
        return ours

    def end(self, job: int, now: int) -> None:
        self.handle(say.Ended(job, 0), now)


@given(st.data())
@examples(4)
def test_it_finds_what_asking_all_finds(data):
    platform = data.draw(platforms(most_nodes=data.draw(st.sampled_from((3, 9, 200)))))
    sizes = data.draw(st.lists(requests(platform), min_size=1, max_size=3))
    choice, distinct = data.draw(st.sampled_from(NodeChoice)), data.draw(st.booleans())
    pair, now, running = Pair.of(platform), 0, []
    for _ in range(data.draw(st.integers(5, 40))):
        now += data.draw(st.sampled_from((0, 0, 1, 9, 40, 200)))
        if running and data.draw(st.integers(0, 3)) == 0:
            pair.end(running.pop(data.draw(st.integers(0, len(running) - 1))), now)
        found = pair.seek(
            data.draw(st.sampled_from(sizes)), data.draw(st.integers(1, 12)), data.draw(st.integers(1, 50)), now,
            groups=data.draw(st.integers(1, (1 << len(platform.groups)) - 1)),
            first=now + data.draw(st.sampled_from((0, 0, 0, 5))), choice=choice, distinct=distinct,
        )  # fmt: skip
        if len(found.nodes):
            running.append(pair.job)
            event("now" if found.start == now else "later")


def busy(pair: Pair, count: int, seed: int, sizes: int, most_units: int) -> Iterator[tuple[int, say.Sought]]:
    """Many jobs of a few sizes; each third ends early."""
    draws, now, ends = np.random.default_rng(seed), 0, []
    for _ in range(count):
        now += int(draws.integers(0, 4))
        while ends and ends[0][0] <= now:
            pair.end(ends.pop(0)[1], now)
        walltime = int(draws.integers(1, 400))
        found = pair.seek((1 + int(draws.integers(sizes)),), int(draws.integers(1, most_units)), walltime, now)
        if len(found.nodes):
            ends = sorted([*ends, (found.start + walltime // int(draws.choice((1, 1, 3))), pair.job)])
        yield now, found


@pytest.mark.parametrize(
    ("nodes", "cores", "sizes", "most_units"),
    [(300, 8, 3, 60), (700, 16, 2, 300), (60, 32, MOST_SIZES + 4, 20)],
    ids=["a few sizes", "orders that need several chunks", "more sizes than are kept"],
)
def test_long_runs(nodes, cores, sizes, most_units):
    pair = Pair.of(Platform("equal", (NodeGroup("n", nodes, {"cores": cores}),)))
    starts = [found.start - now for now, found in busy(pair, 600, 1, sizes, most_units)]
    assert 100 < starts.count(0) < 600
    assert len(pair.knows.state._open_nodes._kept) == min(sizes, MOST_SIZES)


def test_a_list_of_changes_that_begins_anew_is_noticed():
    pair = Pair.of(Platform("equal", (NodeGroup("n", 20, {"cores": 8}),)))
    with patch("dardis.node_manager.open_nodes.make_changes", lambda _: openings.make_changes(20)._replace(
        node=np.zeros(5, dtype=np.int32)
    )):  # fmt: skip
        assert sum(found.start == now for now, found in busy(pair, 200, 2, 2, 40)) > 10
    assert pair.knows.state._open_nodes._changes.about[openings.ISSUE] > 100


def test_more_nodes_than_can_be_put_in_order_are_asked():
    """All hold more at the end of the run than later on: whoever comes first is known only when all have been seen."""
    nodes = 2 * openings.HEAP
    windows = (Maintenance(tuple(range(nodes)), 1000, 2000, (7,)),)
    pair = Pair.of(Platform("equal", (NodeGroup("n", nodes, {"cores": 8}),), maintenance=windows))
    for units in (1, 3, 9 * nodes, 5 * nodes):
        pair.seek((1,), units, 500, 10)
        pair.seek((2,), units, 1500, 10)


def test_the_order_begins_anew_after_years():
    """Seconds from the base on have 28 bits."""
    pair, now = Pair.of(Platform("equal", (NodeGroup("n", 5, {"cores": 4}),))), 0
    for step in range(60):
        now += OPEN_END // (9, 3, 500)[step % 3]
        for walltime in (100, OPEN_END // 2, OPEN_END, 5 * OPEN_END):
            pair.seek((1 + step % 2,), 1 + step % 5, walltime, now)


def test_what_a_node_refused_is_kept_until_it_changes():
    """One node is free from 200 on, the other for 20 s at 100, and from 220 on; then from 100 on."""
    pair = Pair.of(Platform("equal", (NodeGroup("n", 2, {"cores": 8}),)))
    for first, walltime in ((0, 90), (0, 100), (120, 100), (0, 110)):
        pair.seek((8,), 1, walltime, 0, first=first)
    between = 3

    def starts(walltime: int) -> int:
        start = pair.seek((8,), 1, walltime, 0).start
        pair.end(pair.job, 0)
        return start

    assert starts(30) == 200
    (kept,) = pair.knows.state._open_nodes._kept.values()
    assert kept.refused.tolist() == [[0, 0], [220, 20]]
    assert [starts(walltime) for walltime in (21, 20, 30)] == [200, 100, 200]
    pair.end(between, 0)
    assert starts(30) == 100


@given(st.data())
@examples(1)
def test_gaps_of_long_and_short_jobs(data):
    """Jobs that can't start now, long and short in turns, on nodes that hold few of them: notes are made and used."""
    pair, now, held = Pair.of(Platform("equal", (NodeGroup("n", 3, {"cores": 4}),))), 0, []
    for _ in range(40):
        now += data.draw(st.sampled_from((0, 0, 3, 30)))
        if held and data.draw(st.integers(0, 2)) == 0:
            pair.end(held.pop(data.draw(st.integers(0, len(held) - 1))), now)
        first, walltime = now + data.draw(st.sampled_from((0, 0, 0, 5, 70))), data.draw(st.integers(1, 90))
        if len(
            pair.seek(
                (data.draw(st.sampled_from((2, 4))),), data.draw(st.integers(1, 3)), walltime, now, first=first
            ).nodes
        ):
            held.append(pair.job)
    kept = pair.knows.state._open_nodes._kept.values()
    event("notes" if any((of.refused[:, openings.SOONEST] > 0).any() for of in kept) else "none")


def test_it_is_known():
    """Else the tests above would compare asking with asking: who starts now is found without a question."""
    pair = Pair.of(Platform("equal", (NodeGroup("n", 50, {"cores": 8}),)))  # of which two jobs fill one
    for _ in range(3):
        pair.seek((1,), 4, 100, 0)
    kept = pair.knows.state._open_nodes._kept
    assert [entry.about[openings.NODES] for entry in kept.values()] == [49]
    assert pair.asks.state._open_nodes._kept == {}
