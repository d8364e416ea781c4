"""The background load is alike for any bounds, legal, and what reserving job by job leaves; jobs are as documented."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dardis.model.job import NO_TIME
from dardis.node_manager.state import PoolState
from dardis.scale import load

NODES = 150


def rows_of(rows, node):
    span = slice(rows.head[node], rows.head[node] + rows.size[node])
    return rows.time[span].tolist(), rows.value[span, 0].tolist()


def filled(first, last, window=86_400, reservations=4, seed=1):
    state = PoolState(load.machine(NODES), first, last, None)
    load.fill(state, window, reservations, seed)
    return state


@given(st.integers(0, 400), st.integers(1, 200), st.integers(1, 6), st.integers(0, 3))
def test_any_part_of_the_machine_has_the_load_of_the_whole(low, count, reservations, seed):
    whole = load.background(0, 640, 9_000, reservations, seed)
    part = load.background(low, low + count, 9_000, reservations, seed)
    for of_whole, of_part in zip(whole, part, strict=True):
        assert np.array_equal(of_whole[low : low + count], of_part)


@pytest.mark.parametrize("bounds", [(0, 150), (0, 1, 75, 150), (0, 37, 37, 64, 150)])
def test_profiles_and_lists_do_not_depend_on_bounds(bounds):
    whole = filled(0, NODES)
    for first, last in pairwise(bounds):
        part = filled(first, last)
        for node in range(first, last):
            assert rows_of(part.profiles, node - first) == rows_of(whole.profiles, node)
            assert rows_of(part.books, node - first) == rows_of(whole.books, node)


@pytest.mark.parametrize(("window", "reservations"), [(86_400, 4), (10, 5), (3_000, 1), (86_400, 40)])
def test_it_is_what_reserving_job_by_job_leaves(window, reservations):
    start, end, cores, number = load.background(0, NODES, window, reservations, 3)
    reference = PoolState(load.machine(NODES), 0, NODES, None)
    for job in np.unique(number):
        nodes, layer = np.nonzero(number == job)
        first = nodes[0], layer[0]
        assert np.array_equal(nodes, np.arange(nodes[0], nodes[0] + len(nodes)))
        assert 1 <= len(nodes) <= load.MOST_UNITS
        assert len(np.unique(np.stack([start, end, cores])[:, nodes, layer], axis=1).T) == 1
        one = np.ones(len(nodes), dtype=np.int64)
        request = cores[first].reshape(1)
        assert reference.reserve(nodes, one, request, int(start[first]), int(end[first]), NO_TIME)
        reference.book(nodes, int(job), int(start[first]), NO_TIME)
    state = filled(0, NODES, window, reservations, 3)
    for node in range(NODES):
        assert rows_of(state.profiles, node) == rows_of(reference.profiles, node)
        assert rows_of(state.books, node) == rows_of(reference.books, node)
        assert len(rows_of(state.books, node)[0]) == reservations
    assert start.min() >= 0
    assert end.max() < window
    assert (end > start).all()
    assert number.min() >= load.BACKGROUND
    assert set(np.unique(cores)) <= set(range(1, 17))


def test_a_filled_pool_still_takes_reservations():
    state = filled(0, NODES)
    nodes, one = np.arange(NODES), np.ones(NODES, dtype=np.int64)
    for n in range(30):
        at = 200_000 + 10 * n
        assert state.reserve(nodes, one, one[:1], at, at + 5, 0)
        state.book(nodes, n, at, 0)
    assert {len(rows_of(state.books, node)[0]) for node in range(NODES)} <= {31, 32, 33, 34}


def test_jobs_are_as_documented():
    jobs = load.jobs(3_000, 5_000, 7)
    assert [job.submit for job in jobs] == list(range(3_000))
    assert [job.number for job in jobs] == list(range(1, 3_001))
    assert all(job.earliest == job.submit and job.latest == job.submit + 4_999 for job in jobs)
    assert all(job.runtime == job.walltime for job in jobs)
    assert {job.units for job in jobs} == set(range(1, 9))
    assert {job.request for job in jobs} == {(cores,) for cores in range(1, 17)}
    walltimes = np.array([job.walltime for job in jobs])
    assert walltimes.min() >= 600
    assert walltimes.max() < 7_200
    assert np.median(walltimes) == pytest.approx((600 * 7_200) ** 0.5, rel=0.1)
    assert load.jobs(5, 5_000, 7) == jobs[:5]
    assert load.jobs(5, 5_000, 2) != jobs[:5]
