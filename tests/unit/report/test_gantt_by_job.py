"""Nodes over time: by class as in every second, and by job each with as many cores as it holds, for itself."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.schedules import schedule_of

from dardis.metrics.cores import core_sets, first_cores
from dardis.model.platform import NodeGroup, Platform
from dardis.model.schedule import Schedule
from dardis.report import chart
from dardis.report.chart import TimeAxis
from dardis.report.gantt import node_use
from dardis.report.gantt_jobs import blocks, gantt_of_jobs

PLATFORM = Platform("p", (NodeGroup("a", 2, {"cores": 3}), NodeGroup("b", 3, {"cores": 5})))
CAPACITY = PLATFORM.capacity[:, 0]
NODES_OF = st.lists(
    st.tuples(st.integers(0, 4), st.integers(1, 3)), min_size=1, max_size=4, unique_by=lambda one: one[0]
)
ASKED = st.lists(st.tuples(st.integers(0, 60), st.integers(1, 30), NODES_OF), max_size=9)

SPANS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 90), st.integers(1, 30), st.integers(1, 3)), max_size=8)
"""Node, start, length and units of jobs."""


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


@given(spans=SPANS, rows=st.integers(1, 5), step=st.sampled_from([1, 4, 12, 120]))
def test_node_use_by_class_is_that_of_every_second(spans, rows, step):
    jobs = [{"start": start, "finish": start + length, "placed": {node: units}} for node, start, length, units in spans]
    schedule, count = schedule_of(("cores",), jobs), len(spans)
    classes = np.arange(count) % 2
    held = np.zeros((2, 5, 120))
    for one, (node, first, seconds, amount) in zip(classes, spans, strict=True):
        held[one, node, first : first + seconds] += amount
    row = np.arange(5) * rows // 5
    gathered = np.stack([held[:, row == r].sum(axis=1) / CAPACITY[row == r].sum() for r in range(rows)], axis=1)
    expected = gathered.reshape(2, rows, 120 // step, step).mean(axis=3)
    edges = np.linspace(0, 120, 120 // step + 1)
    np.testing.assert_allclose(node_use(schedule, PLATFORM, edges, rows, classes, 2), expected, atol=1e-9)
    later = replace(schedule, start=schedule.start + 1000, finish=schedule.finish + 1000)
    np.testing.assert_allclose(node_use(later, PLATFORM, edges + 1000, rows, classes, 2), expected, atol=1e-9)


@given(asked=ASKED, start=st.integers(0, 60), length=st.integers(1, 90))
def test_every_job_in_the_span_has_its_cores_for_itself(asked, start, length):
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


def test_the_cores_are_those_that_jobs_csv_has_whenever_the_span_begins():
    schedule = placed([(0, 5, [(0, 1)]), (2, 50, [(0, 1)]), (7, 50, [(0, 1)])])
    drawn = blocks(schedule, PLATFORM, 10, 20)
    assert core_sets(schedule, PLATFORM)[1:] == ["1", "0"]
    assert list(zip(drawn.job.tolist(), drawn.low.tolist(), strict=True)) == [(1, 1), (2, 0)]


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


@pytest.mark.parametrize(("end", "named"), [(9, ["100", "101"]), (900, [])])
def test_numbers_stand_where_there_is_room(end, named):
    with chart.style():
        drawn = gantt_of_jobs(placed([(0, 9, [(0, 3)]), (0, 9, [(2, 5)])]), PLATFORM, TimeAxis(0, end, None))
    assert [text.get_text() for text in drawn.drawing.axes[0].texts] == named
    assert drawn.caption.startswith("2 jobs that ran")
