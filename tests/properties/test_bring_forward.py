"""Whoever has what he holds earlier leaves the same profiles and lists as if he had given it back and taken it anew."""

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st
from kit.effort import examples

from dardis.kernels import profile
from dardis.model.platform import NodeGroup, Platform
from dardis.node_manager.pool_state import PoolState

PLATFORM = Platform("few", (NodeGroup("n", 3, {"cores": 4, "gpus": 2}),))
NOW = 5

spans = st.tuples(st.integers(0, 40), st.integers(1, 25))
reservations = st.tuples(
    spans, st.sets(st.integers(0, 2), min_size=1), st.integers(1, 2), st.sampled_from([(1, 0), (1, 1), (2, 0)])
)


def row(rows, node):
    mine = slice(rows.head[node], rows.head[node] + rows.size[node])
    return rows.time[mine].tolist(), rows.value[mine].tolist()


@given(st.lists(reservations, min_size=1, max_size=12), st.data())
@examples(1)
def test_earlier_start_leaves_the_same_state_as_release_and_new_reservation(others, data):
    (first, length), nodes, units, request = others[0]
    start = first + NOW + 1
    moved, anew = (PoolState(PLATFORM, 0, 3, None) for _ in range(2))
    mine, mine_units = np.array(sorted(nodes)), np.full(len(nodes), units)
    need = np.array(request)
    held = []
    for job, ((begin, span), where, count, what) in enumerate(others[1:], start=2):
        taken = np.array(sorted(where)), np.full(len(where), count), np.array(what), begin, begin + span
        if moved.reserve(*taken, 0):
            assert anew.reserve(*taken, 0)
            held.append((taken[0], job, begin))
    assume(moved.reserve(mine, mine_units, need, start, start + length, 0))
    assert anew.reserve(mine, mine_units, need, start, start + length, 0)
    held.insert(data.draw(st.integers(0, len(held))), (mine, 1, start))
    for state in (moved, anew):
        for where, job, begin in held:
            state.book(where, job, begin, 0)
    new = data.draw(st.integers(NOW, start - 1))
    anew.release(mine, mine_units, need, start, start + length, NOW)
    assume(anew.reserve(mine, mine_units, need, new, new + length, NOW))
    anew.unbook(mine, 1, start)
    anew.book(mine, 1, new, NOW)
    moved.grow()  # every row has room now
    profile.bring_forward(moved.profiles, mine, mine_units, need, start, start + length, new)
    assert profile.rebook(moved.books, mine, 1, start, new) == profile.DONE
    for node in range(3):
        for state in (moved, anew):
            profile.release(state.profiles, np.array([node]), np.zeros(1, np.int64), need, NOW, NOW + 1, NOW)
        assert row(moved.profiles, node) == row(anew.profiles, node)
        starts, jobs = row(moved.books, node)
        kept = [(begin, job) for begin, job in zip(starts, jobs, strict=True) if begin > NOW]
        assert kept == [(begin, job) for begin, job in zip(*row(anew.books, node), strict=True) if begin > NOW]
