from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from kit.node_schedules import random_jobs, schedule_of

from dardis.model.job import FOREVER
from dardis.model.placements import Placements
from offline.onoff.spans import busy_spans, busy_spans_of, idle_gaps

END = 60
JOBS = st.lists(st.tuples(st.integers(0, 50), st.integers(1, 9), st.sets(st.integers(0, 3), min_size=1)), max_size=8)


def by_second(node: np.ndarray, start: np.ndarray, end: np.ndarray) -> np.ndarray:
    held = np.zeros((4, END), dtype=np.int64)
    for n, a, b in zip(node, start, end, strict=True):
        held[n, a:b] += 1
    return held


@given(JOBS)
def test_busy_spans_and_gaps_are_what_every_second_says(drawn) -> None:
    jobs = [(start, start + length, tuple(nodes)) for start, length, nodes in drawn]  # nodes may be shared
    schedule = schedule_of(jobs)
    busy = busy_spans_of(schedule)
    placed = schedule.placed.job_of
    truth = by_second(schedule.placed.nodes, schedule.start[placed], schedule.finish[placed]) > 0
    spans = by_second(busy.node, busy.start, busy.end)
    assert np.array_equal(spans, truth)  # none overlap, or a 2 would be there

    same = busy.node[1:] == busy.node[:-1]
    assert (busy.start[1:][same] > busy.end[:-1][same]).all(), "spans that touch are one"

    gaps = idle_gaps(busy, 4, 5, 40)
    assert (gaps.start >= 5).all()
    assert (gaps.start < 40).all()
    idle = by_second(gaps.node, gaps.start, np.minimum(gaps.end, END))
    assert np.array_equal(idle[:, 5:40], 1 - truth[:, 5:40])
    ends = {(n, s) for n, s in zip(busy.node.tolist(), busy.start.tolist(), strict=True)}
    assert all(end == FOREVER or (n, end) in ends for n, end in zip(gaps.node.tolist(), gaps.end.tolist(), strict=True))


@given(st.integers(0, 10_000))
def test_the_opener_is_the_job_that_found_the_node_idle(seed: int) -> None:
    schedule = schedule_of(random_jobs(np.random.default_rng(seed), 12, 4, 50))
    busy = busy_spans_of(schedule)
    assert np.array_equal(schedule.start[busy.opener], busy.start)


def test_a_job_that_ends_as_the_next_begins_leaves_no_gap() -> None:
    busy = busy_spans_of(schedule_of([(0, 10, (0,)), (10, 20, (0,)), (21, 30, (0,))]))
    assert list(zip(busy.start.tolist(), busy.end.tolist(), busy.opener.tolist(), strict=True)) == [
        (0, 20, 0), (21, 30, 2),
    ]  # fmt: skip


def test_jobs_without_nodes_occupy_none() -> None:
    busy = busy_spans(np.array([5]), np.array([9]), Placements.none(1))
    gaps = idle_gaps(busy, 2, 0, 10)
    assert gaps.node.tolist() == [0, 1]
    assert gaps.end.tolist() == [FOREVER, FOREVER]
