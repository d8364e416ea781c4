"""What nodes publish, against one array entry a second: a run from now fits the view as it fits the node."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from kit.dense import DenseNode
from kit.effort import examples

from dardis.kernels import published_profiles
from dardis.kernels.profile import DONE, FULL
from dardis.kernels.rows import Rows, grown, make_rows

SECONDS = 40
KINDS = 2


@st.composite
def profiles(draw) -> list[np.ndarray]:
    """Of one to four nodes, free and wished amounts of two kinds by second, shape (seconds, 4); the last for ever."""
    made = []
    for _ in range(draw(st.integers(1, 4))):
        steps = draw(st.lists(st.tuples(st.integers(1, SECONDS - 1), *[st.integers(-1, 4)] * 4), max_size=8))
        seconds = np.tile(np.array(draw(st.tuples(*[st.integers(0, 4)] * 4))), (SECONDS, 1))
        for start, *values in sorted(steps):
            seconds[start:] = values
        made.append(seconds)
    return made


def rows_of(profiles: list[np.ndarray]) -> Rows:
    """The same as a node manager keeps it."""
    rows = make_rows(len(profiles), 2 * KINDS, SECONDS + 4, np.int32)
    for node, seconds in enumerate(profiles):
        changes = np.flatnonzero((seconds[1:] != seconds[:-1]).any(axis=1)) + 1
        times = np.concatenate([[0], changes])
        head = rows.head[node]
        rows.time[head : head + len(times)] = times
        rows.value[head : head + len(times)] = seconds[times]
        rows.size[node] = len(times)
    return rows


def published(rows: Rows, nodes: np.ndarray, now: int, room: int = 1000) -> tuple[int, np.ndarray, ...]:
    offset = np.full(len(nodes) + 1, -7, dtype=np.int64)
    time, value = np.zeros(room, dtype=np.int64), np.zeros((room, 2 * KINDS), dtype=np.int64)
    return published_profiles.publish(rows, nodes, now, offset, time, value), offset, time, value


def dense(rows: Rows, node: int) -> DenseNode:
    """One array entry a second of a row of the view."""
    head, size = rows.head[node], rows.size[node]
    places = np.searchsorted(rows.time[head : head + size], np.arange(SECONDS), side="right") - 1
    values = rows.value[head : head + size][np.maximum(places, 0)].astype(np.int64)
    made = DenseNode(values[0, :KINDS], SECONDS, values[:, KINDS:])
    made.free = values[:, :KINDS]
    return made


@given(profiles(), st.integers(0, SECONDS - 1), st.data())
@examples(1.5)
def test_immediate_start_fits_the_published_profile_as_it_fits_the_node(made, now, data):
    rows = rows_of(made)
    some = np.array(sorted(data.draw(st.sets(st.integers(0, len(made) - 1), min_size=1))))
    count, *told = published(rows, some, now)
    assert count <= rows.size[some].sum()
    kept = make_rows(len(made), 2 * KINDS, 1, np.int32)
    while published_profiles.accept(kept, some, *told) == FULL:
        kept = grown(kept)
    request = np.array(data.draw(st.tuples(st.integers(0, 3), st.integers(1, 3))))
    for place, node in enumerate(some.tolist()):
        assert kept.size[node] == told[0][place + 1] - told[0][place]
        truth = DenseNode(made[node][0, :KINDS], SECONDS, made[node][:, KINDS:])
        truth.free = made[node][:, :KINDS].copy()
        for desired_binds in (False, True):
            for walltime in (1, 2, 7, SECONDS):
                asked = (now, now, now, walltime, request, desired_binds, 1)
                assert dense(kept, node).offers(*asked) == truth.offers(*asked)
    assert all(kept.size[node] == 0 for node in range(len(made)) if node not in some)


@given(profiles(), st.integers(0, SECONDS - 1))
def test_published_steps_never_rise(made, now):
    rows = rows_of(made)
    count, offset, time, value = published(rows, np.arange(len(made)), now)
    assert offset[-1] == count
    for low, high in pairwise(offset.tolist()):
        assert time[low] <= now
        assert (time[low + 1 : high] > now).all()
        assert (np.diff(time[low:high]) > 0).all()
        assert (np.diff(value[low:high], axis=0) <= 0).all()
        assert (np.diff(value[low:high], axis=0) < 0).any(axis=1).all()


def test_small_buffer_is_reported_before_any_write():
    seconds = np.tile(np.arange(SECONDS, 0, -1)[:, None], (1, 2 * KINDS))
    rows = rows_of([seconds, seconds[:1].repeat(SECONDS, axis=0)])
    count, offset, time, _ = published(rows, np.array([0, 1]), 0, room=SECONDS)
    assert count == -(SECONDS + 1)
    assert (offset == -7).all()
    assert not time.any()
    count, *told = published(rows, np.array([0, 1]), 0, room=-count)
    assert count == SECONDS + 1
    kept = make_rows(2, 2 * KINDS, 1, np.int32)
    kept = kept._replace(time=kept.time[:4], value=kept.value[:4])
    assert published_profiles.accept(kept, np.array([0, 1]), *told) == FULL
    kept = grown(kept, 2 * SECONDS + 8)
    assert published_profiles.accept(kept, np.array([0, 1]), *told) == DONE
    assert kept.size.tolist() == [SECONDS, 1]
