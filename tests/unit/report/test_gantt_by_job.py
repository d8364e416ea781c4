"""The Gantt by job: on its nodes every job has as many cores as it holds, and no two jobs the same at one time."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dardis.metrics.cores import core_sets, first_cores
from dardis.model.job import Status
from dardis.model.placements import Placements
from dardis.model.platform import NodeGroup, Platform
from dardis.model.schedule import Schedule
from dardis.report import chart
from dardis.report.chart import TimeAxis
from dardis.report.gantt_jobs import blocks, gantt_of_jobs

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
    count = len(kept)
    start = np.array([one[0] for one in kept], np.int64)
    length = np.array([one[1] for one in kept], np.int64)
    pairs = [pair for one in kept for pair in one[2]]
    nodes, units = (np.array([pair[place] for pair in pairs], np.int64) for place in (0, 1))
    offsets = np.cumsum([0, *(len(one[2]) for one in kept)])
    one = np.ones(count, np.int64)
    return Schedule(
        kinds=("cores",), number=100 + np.arange(count), submit=start, earliest=start, latest=start, walltime=length,
        units=np.diff(np.concatenate([[0], np.cumsum(units)])[offsets]), request=one[:, None],
        status=np.full(count, Status.COMPLETED, np.int8), start=start, finish=start + length, attempts=one,
        placed=Placements(offsets, nodes, units), queue=[""] * count, user=[""] * count,
    )  # fmt: skip


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


def test_who_is_overfull_three_times_stays_within_the_node():
    schedule = placed([(0, 9, [(0, 3)]), (9, 9, [(0, 3)]), (18, 9, [(0, 3)])])
    together = replace(schedule, start=np.zeros(3, np.int64), finish=np.full(3, 9))
    drawn = blocks(together, PLATFORM, 0, 9)
    assert (drawn.low.tolist(), drawn.high.tolist()) == ([0, 0, 0], [3, 3, 3])


def test_neighbouring_cores_are_one_block():
    schedule = placed([(0, 9, [(0, 3), (1, 3), (2, 2), (4, 1)])])
    drawn = blocks(schedule, PLATFORM, 0, 9)
    assert list(zip(drawn.low.tolist(), drawn.high.tolist(), strict=True)) == [(0, 8), (16, 17)]


def test_who_holds_more_cores_than_there_are_lies_over_others():
    schedule = placed([(0, 9, [(0, 3)])])
    drawn = blocks(replace(schedule, request=np.array([[7]])), PLATFORM, 0, 9)
    assert (drawn.low.tolist(), drawn.high.tolist()) == ([0], [3])


def test_jobs_of_no_cores_are_not_drawn():
    schedule = placed([(0, 9, [(0, 3)])])
    assert len(blocks(replace(schedule, request=np.array([[0]])), PLATFORM, 0, 9).job) == 0


@pytest.mark.parametrize(("end", "named"), [(9, ["100", "101"]), (900, [])])
def test_numbers_stand_where_there_is_room(end, named):
    with chart.style():
        drawn = gantt_of_jobs(placed([(0, 9, [(0, 3)]), (0, 9, [(2, 5)])]), PLATFORM, TimeAxis(0, end, None))
    assert [text.get_text() for text in drawn.drawing.axes[0].texts] == named
    assert drawn.caption.startswith("2 jobs that ran")
