"""Central dispatchers over jobs with parts, exact or neighbouring nodes and alternatives, against the slow one."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from kit.central_reference import SlowDispatcher
from kit.central_runs import Case, dispatch, setup_of
from kit.effort import examples
from kit.machine import jobs, platforms, with_queues, with_shapes
from kit.replay import placement
from kit.run import Run
from properties import test_replan_schedules
from properties.test_central import setups

from dardis.model.choices import EventOrder


@st.composite
def shaped_cases(draw, *, following: bool = False, **fixed) -> Case:
    """Any machine, queues, set-up and jobs, most of them with shapes, and no wishes."""
    platform = draw(platforms())
    listed = draw(with_shapes(platform, draw(jobs(platform, following=following, most=8))))
    platform, listed = draw(with_queues(platform, listed))
    return Case(platform, listed, draw(setups(**fixed)), None)


def by_part(run: Run, place: int) -> list[dict[int, int]]:
    """Node to units of each part of a job."""
    parts = run.schedule.parts
    if parts is None:
        return [placement(run.schedule, place)]
    return [dict(parts.placed.pairs(part)) for part in range(*parts.offsets[place : place + 2].tolist())]


@given(shaped_cases(event_order=EventOrder.BATCHED))
@examples(2)
def test_schedule_of_shaped_jobs_equals_the_slow_reference(case):
    run = case.run(seed=3)
    schedule = run.schedule
    slow = SlowDispatcher(case.platform, case.jobs, case.setup, None, 3)
    ran = np.flatnonzero(schedule.ran).tolist()
    assert {case.jobs[p].number: (int(schedule.start[p]), placement(schedule, p)) for p in ran} == slow.claims
    for place in ran:
        job = case.jobs[place]
        if job.job.requests:
            assert by_part(run, place) == [where for _, where in slow.pieces[job.number]]
            taken = -1 if schedule.taken is None else int(schedule.taken[place])
            assert taken == (slow.taken[job.number] if len(job.job.requests) > 1 else -1)


@given(shaped_cases(following=True), st.integers(1, 3))
@examples(2)
def test_schedules_are_legal_with_any_initial_buffer_size(case, slots):
    case.run_twice(slots)


@st.composite
def replan_cases(draw) -> Case:
    """The same under `replan`, which has no slow one."""
    case = draw(shaped_cases(following=True))
    return Case(case.platform, case.jobs, draw(test_replan_schedules.setups()), None)


@given(replan_cases(), st.integers(1, 3))
@examples(2)
def test_replan_schedules_are_legal_with_any_initial_buffer_size(case, slots):
    expected = case.run_twice(slots)
    distinct = f"units_per_node={case.setup.units_per_node.value}"
    assert dispatch(case.platform, case.jobs, setup_of("rules-fcfs", distinct)).reasons == expected.reasons
