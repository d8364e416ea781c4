"""`replan` over random machines, jobs and settings: legal, repeatable, in nobody's way for ever, and what it says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from kit.actual import actual
from kit.central_runs import Case, dispatch, starts_on_one_node
from kit.effort import examples
from kit.machine import desired_profiles, jobs, platforms
from kit.pool_reference import PoolJobs
from kit.recording_predictor import Foreseen
from kit.replan_reference import SlowReplan

from dardis.dispatch import REPLAN_SETUPS
from dardis.dispatch.replan.setups import PlanWeights, ReplanSetUp
from dardis.dispatch.setups import ProfileCheck
from dardis.model.choices import EventOrder, Expecting, NodeChoice, OnOff, ProfileRule, UnitsPerNode
from dardis.model.platform import NodeGroup, Platform


@st.composite
def setups(draw, **fixed) -> ReplanSetUp:
    """Any settings that go together, some of them fixed."""
    setup = ReplanSetUp(
        plan_jobs=draw(st.sampled_from((1, 2, 4, 100))),
        exchanges=draw(st.sampled_from((0, 3, 40))),
        weights=draw(st.sampled_from(PlanWeights)),
        solver=draw(st.sampled_from((OnOff.OFF, OnOff.OFF, OnOff.ON))),
        conflicts=10,
        profile=draw(st.sampled_from(ProfileRule)),
        profile_check=draw(st.sampled_from(ProfileCheck)),
        node_choice=draw(st.sampled_from(NodeChoice)),
        units_per_node=draw(st.sampled_from(UnitsPerNode)),
        event_order=draw(st.sampled_from(EventOrder)),
    )
    return replace(setup, **fixed).checked()


@st.composite
def cases(draw, *, most: int = 12, **fixed) -> Case:
    """Any machine, jobs, wishes and set-up, with these settings fixed."""
    platform = draw(platforms())
    desired = draw(st.none() | desired_profiles(platform))
    return Case(platform, draw(jobs(platform, following=True, most=most)), draw(setups(**fixed)), desired)


@given(cases(), st.integers(1, 3))
@examples(3)
def test_replan_schedules_are_legal_and_repeatable_with_small_initial_buffers(case, slots):
    """The audit is in `dispatch`; nobody waits for ever: who is rejected can never run.

    Chance is an argument. Passes that stop for want of room go on as if there had been enough; the last plan is kept.
    """
    case.assert_only_the_impossible_is_rejected(case.run_twice(slots).schedule)


@given(cases(expected=Expecting.LAST_TWO), st.data())
@examples(2)
def test_replan_schedules_are_legal_and_repeatable_with_any_expected_runtimes(case, data):
    expected = {job.number: data.draw(st.integers(1, job.walltime)) for job in case.jobs}
    first = case.run(predictor=Foreseen(expected))
    assert first.schedule.digest() == case.run(predictor=Foreseen(expected)).schedule.digest()
    ran = np.flatnonzero(first.schedule.ran)
    assert [case.jobs[place].duration for place in ran] == (first.schedule.finish - first.schedule.start)[ran].tolist()


@st.composite
def pools(draw) -> tuple[PoolJobs, int]:
    """Jobs on few cores, many events at one instant; some wait for days."""
    cores, scale = draw(st.integers(1, 8)), draw(st.sampled_from((1, 5000)))
    row = st.tuples(st.integers(1, 30), st.integers(1, 12), st.sampled_from((0, 1, 5)), st.integers(1, cores))
    rows = sorted(draw(st.lists(row, min_size=1, max_size=16)), key=lambda row: row[0])
    submit, runtime, more, width = (list(column) for column in zip(*rows, strict=True))
    estimate = [scale * (a + b) for a, b in zip(runtime, more, strict=True)]
    return PoolJobs([scale * s for s in submit], [scale * r for r in runtime], estimate, width), cores


@given(pools(), st.sampled_from((1, 3, 100)), st.sampled_from(PlanWeights))
@examples(3)
def test_replan_on_one_node_equals_the_slow_reference(pool, plan_jobs, weights):
    made, cores = pool
    setup = replace(REPLAN_SETUPS["replan"], plan_jobs=plan_jobs, exchanges=0, weights=weights)
    slow = SlowReplan(made, cores, plan_jobs, short_first=weights is PlanWeights.SHORT)
    assert starts_on_one_node(made, cores, setup) == slow.starts


@given(st.integers(2, 5), st.integers(1, 4), st.sampled_from((0, 20)))
@examples(0.5)
def test_wide_job_starts_despite_a_stream_of_short_jobs(nodes, length, exchanges):
    platform = Platform("p", (NodeGroup("n", nodes, {"cores": 2}),))
    day, step = 86_400, 1800
    short = [
        actual(number, number * step // 2, number * step // 2, None, length * step, 1, (1,), 1, runtime=length * step)
        for number in range(4 * day * 2 // step)
    ]
    wide = actual(10_000, day // 4, day // 4, None, 10 * step, nodes, (2,), 1, runtime=10 * step)
    listed = sorted([*short, wide], key=lambda job: (job.submit, job.number))
    schedule = dispatch(platform, listed, replace(REPLAN_SETUPS["replan"], exchanges=exchanges)).schedule
    place = schedule.number.tolist().index(wide.number)
    assert schedule.start[place] < 3 * day
