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

from dardis.kernels.free_capacity_index import NO_CHANGES, NO_INDEX
from dardis.model import offer_rows
from dardis.model.choices import NodeChoice
from dardis.model.local_queries import SeekQuery, SeekResponse
from dardis.model.platform import NodeGroup, Platform
from dardis.node_manager import NodePool
from dardis.node_manager.pool_buffers import MOST_SIZES, FreeCapacityIndexes
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

    def seek(
        self, request: tuple[int, ...], units: int, walltime: int, now: int, *, groups: int = 1,
        first: int | None = None, choice: NodeChoice = NodeChoice.BEST_FIT, distinct: bool = False,
    ) -> SeekResponse:  # fmt: skip
        """Let both find and reserve the job's start, and see that they agree."""
        self.job += 1
        seek = SeekQuery(
            self.job, 1, now if first is None else first, max(walltime, 60), walltime, units, groups,
            np.array(request, dtype=np.int64), offer_rows.NODE_CHOICES[choice], distinct,
        )  # fmt: skip
        ours = self.knows.seek(seek, now)
        with patch.object(FreeCapacityIndexes, "index_of", return_value=(NO_CHANGES, NO_INDEX)):
            theirs = self.asks.seek(seek, now)
        assert (ours.start, ours.rounds) == (theirs.start, theirs.rounds)
        assert ours.nodes.tolist() == theirs.nodes.tolist()
        assert ours.units.tolist() == theirs.units.tolist()
        return ours

    def end(self, job: int, now: int) -> None:
        for pool in (self.knows, self.asks):
            pool.handle(say.UnitsEnded(job, 0), now)


@given(st.data())
@examples(4)
def test_index_finds_the_starts_and_nodes_of_a_full_search(data):
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


def busy(pair: Pair, count: int, seed: int, sizes: int, most_units: int) -> Iterator[tuple[int, SeekResponse]]:
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
def test_index_finds_starts_of_long_runs(nodes, cores, sizes, most_units):
    pair = Pair.of(Platform("equal", (NodeGroup("n", nodes, {"cores": cores}),)))
    starts = [found.start - now for now, found in busy(pair, 600, 1, sizes, most_units)]
    assert 100 < starts.count(0) < 600
    assert len(pair.knows.state._open_nodes._kept) == min(sizes, MOST_SIZES)


def test_refusal_of_a_node_is_cached_until_the_node_changes():
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
