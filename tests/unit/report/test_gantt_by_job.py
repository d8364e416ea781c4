"""Nodes over time: by class as in every second, and by job each with as many cores as it holds, for itself."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.schedules import schedule_of

from dardis.metrics.cores import first_cores
from dardis.model.platform import NodeGroup, Platform
from dardis.model.schedule import Schedule
from dardis.report.gantt import blocks

PLATFORM = Platform("p", (NodeGroup("a", 2, {"cores": 3}), NodeGroup("b", 3, {"cores": 5})))
CAPACITY = PLATFORM.capacity[:, 0]
NODES_OF = st.lists(
    st.tuples(st.integers(0, 4), st.integers(1, 3)), min_size=1, max_size=4, unique_by=lambda one: one[0]
)
ASKED = st.lists(st.tuples(st.integers(0, 60), st.integers(1, 30), NODES_OF), max_size=9)


def placed(asked: list[tuple[int, int, list[tuple[int, int]]]]) -> Schedule:
    """Jobs from (start, seconds, nodes with their units of one core), those left out that find a node full."""
    held, kept = np.zeros((5, 120), np.int64), []
    for start, seconds, where in asked:
        if all((held[node, start : start + seconds] + units <= CAPACITY[node]).all() for node, units in where):
            for node, units in where:
                held[node, start : start + seconds] += units
            kept.append((start, seconds, sorted(where)))
    rows = [
        {"number": 100 + n, "start": start, "finish": start + seconds, "placed": dict(where)}
        for n, (start, seconds, where) in enumerate(kept)
    ]
    return schedule_of(("cores",), rows)


@given(asked=ASKED, start=st.integers(0, 60), length=st.integers(1, 90))
def test_every_job_in_the_span_has_exclusive_cores(asked, start, length):
    schedule = placed(asked)
    drawn, first = blocks(schedule, PLATFORM, start, start + length), first_cores(PLATFORM)
    owner = np.full((first[-1], 120), -1)
    for job, low, high in zip(drawn.job, drawn.low, drawn.high, strict=True):
        mine = owner[low:high, schedule.start[job] : schedule.finish[job]]
        assert (mine == -1).all()
        mine[:] = job
    for job in range(len(schedule.number)):
        inside = schedule.start[job] < start + length and schedule.finish[job] > start
        held = (owner[:, schedule.start[job]] == job) if inside else (owner == job).any(axis=1)
        expected = np.zeros(5, np.int64)
        nodes, units = schedule.placed.of(job)
        expected[nodes] = units * inside
        assert np.add.reduceat(held.astype(np.int64), first[:-1]).tolist() == expected.tolist()


FULL = placed([(0, 9, [(0, 3)])])
THREE = placed([(0, 9, [(0, 3)]), (9, 9, [(0, 3)]), (18, 9, [(0, 3)])])


@pytest.mark.parametrize(
    ("schedule", "rows"),
    [
        (placed([(0, 9, [(0, 3), (1, 3), (2, 2), (4, 1)])]), [(0, 8), (16, 17)]),
        (replace(THREE, start=np.zeros(3, np.int64), finish=np.full(3, 9)), 3 * [(0, 3)]),
        (replace(FULL, request=np.array([[7]])), [(0, 3)]),
        (replace(FULL, request=np.array([[0]])), []),
    ],
    ids=["neighbouring cores are one", "who finds no room stays in the node", "more than there are", "no cores"],
)
def test_blocks_by_hand(schedule, rows):
    drawn = blocks(schedule, PLATFORM, 0, 9)
    assert list(zip(drawn.low.tolist(), drawn.high.tolist(), strict=True)) == rows
