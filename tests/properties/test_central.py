"""Central dispatchers over random machines, jobs and settings: legal, repeatable, and true to what they promise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from kit.central_reference import SlowDispatcher
from kit.central_runs import Case, dispatch
from kit.dense import dense_nodes
from kit.effort import examples
from kit.machine import desired_profiles, jobs, platforms, with_queues
from kit.recording_predictor import Foreseen
from kit.replay import placement
from kit.run import Run
from kit.time_dependent_orders import number_of

from dardis.dispatch import CENTRAL_SETUPS, CentralSetUp
from dardis.dispatch.queue_orders import RULES, TIMED_ORDERS
from dardis.dispatch.setups import SAME_AS_RULE, Ordering, ProfileCheck
from dardis.model.choices import EventOrder, Expecting, NodeChoice, OnOff, ProfileRule, UnitsPerNode
from dardis.wire.effects import Placed

ORDERS = [*sorted(RULES), *sorted(TIMED_ORDERS), *sorted(TIMED_ORDERS), "most:cores"]


@st.composite
def setups(draw, **fixed) -> CentralSetUp:
    """One of the named set-ups with any settings that go together, some of them fixed."""
    setup = replace(
        draw(st.sampled_from([CENTRAL_SETUPS[name] for name in sorted(CENTRAL_SETUPS)])),
        rule=draw(st.sampled_from(ORDERS)),
        ordering=draw(st.sampled_from(Ordering)),
        backfill=draw(st.sampled_from(OnOff)),
        backfill_depth=draw(st.sampled_from((0, 1, 1, 2, 3))),
        backfill_window=draw(st.sampled_from((0, 0, 1, 2, 4))),
        profile=draw(st.sampled_from(ProfileRule)),
        profile_check=draw(st.sampled_from(ProfileCheck)),
        node_choice=draw(st.sampled_from(NodeChoice)),
        units_per_node=draw(st.sampled_from(UnitsPerNode)),
        event_order=draw(st.sampled_from(EventOrder)),
        age_weight=draw(st.sampled_from((0, 1, 1000))),
        size_weight=draw(st.sampled_from((0, 2, 1000))),
        queue_weight=draw(st.sampled_from((0, 3))),
        max_age_s=draw(st.sampled_from((1, 9, 604_800))),
        favor_small=draw(st.sampled_from(OnOff)),
    )
    fixed = {key: draw(value) if isinstance(value, st.SearchStrategy) else value for key, value in fixed.items()}
    setup = replace(setup, **fixed)
    if setup.backfill is OnOff.ON:
        order = setup.order if "order" in fixed else draw(st.sampled_from([SAME_AS_RULE, *ORDERS]))
        setup = replace(setup, ordering=Ordering.STRICT, order=order)
    return setup.checked()


@st.composite
def cases(draw, *, following: bool = False, wishes: bool = True, most: int = 10, **fixed) -> Case:
    """Any machine, jobs, wishes and set-up, with these settings fixed."""
    platform = draw(platforms())
    desired = draw(st.none() | desired_profiles(platform)) if wishes else None
    platform, listed = draw(with_queues(platform, draw(jobs(platform, following=following, most=most))))
    return Case(platform, listed, draw(setups(**fixed)), desired)


@given(cases(following=True), st.integers(1, 3))
@examples(3)
def test_schedules_are_legal_and_repeatable_with_small_initial_buffers(case, slots):
    """The audit is in `dispatch`; chance is an argument; only a job that can never run is rejected.

    Passes that stop for want of room, of each sort, go on as if there had been enough.
    """
    case.assert_only_the_impossible_is_rejected(case.run_twice(slots).schedule)


@given(cases(event_order=EventOrder.BATCHED))
@examples(2)
def test_schedule_equals_the_slow_reference(case):
    schedule = case.run(seed=3).schedule
    slow = SlowDispatcher(case.platform, case.jobs, case.setup, case.desired, 3)
    ran = np.flatnonzero(schedule.ran).tolist()
    assert {case.jobs[p].number: (int(schedule.start[p]), placement(schedule, p)) for p in ran} == slow.claims


@given(cases(rule=st.sampled_from(sorted(TIMED_ORDERS)), ordering=Ordering.STRICT, backfill=OnOff.OFF, wishes=False))
@examples(1)
def test_started_job_precedes_all_waiting_jobs_in_the_order(case):
    setup, platform = case.setup, replace(case.platform, queues=())
    waiting = {job.number: job.job for job in case.jobs}
    first = min(job.submit for job in case.jobs)

    def key(number: int, now: int) -> tuple[float, int, int]:
        job = waiting[number]
        return number_of(setup.rule, job, now, first, platform, setup), job.submit, number

    def see(now: int, placed: list[Placed], _reserved: dict[int, int]) -> None:
        begun = [one.job for one in placed]
        here = [number for number, job in waiting.items() if job.earliest <= now and number not in begun]
        assert all(key(one, now) < key(other, now) for one in begun for other in here if other not in refused)
        for one in begun:
            del waiting[one]

    refused: set[int] = set()
    run = dispatch(platform, case.jobs, setup)
    refused = {case.jobs[place].number for place in run.reasons}
    dispatch(platform, case.jobs, setup, watch=see)
    assert waiting.keys() == refused


@st.composite
def expected_cases(draw, **fixed) -> tuple[Case, dict[int, int]]:
    """A case whose jobs are expected to run for any time up to their walltimes, shorter or longer than they do."""
    case = draw(cases(expected=Expecting.LAST_TWO, **fixed))
    return case, {job.number: draw(st.integers(1, job.walltime)) for job in case.jobs}


@given(expected_cases(following=True))
@examples(2)
def test_schedules_are_legal_and_repeatable_with_any_expected_runtimes(drawn):
    case, expected = drawn
    first = case.run(predictor=Foreseen(expected))
    assert first.schedule.digest() == case.run(predictor=Foreseen(expected)).schedule.digest()
    ran = np.flatnonzero(first.schedule.ran)
    assert [case.jobs[place].duration for place in ran] == (first.schedule.finish - first.schedule.start)[ran].tolist()


@given(expected_cases(event_order=EventOrder.BATCHED))
@examples(2)
def test_schedule_equals_the_slow_reference_with_expected_runtimes(drawn):
    case, expected = drawn
    schedule = case.run(seed=3, predictor=Foreseen(expected)).schedule
    slow = SlowDispatcher(case.platform, case.jobs, case.setup, case.desired, 3, expected)
    ran = np.flatnonzero(schedule.ran).tolist()
    assert {case.jobs[p].number: (int(schedule.start[p]), placement(schedule, p)) for p in ran} == slow.claims


def used_by_second(case: Case, run: Run) -> np.ndarray:
    """What is in use on each node in each second, shape (nodes, seconds, kinds)."""
    schedule = run.schedule
    seconds = max(int(schedule.finish.max()), 0) + 1
    used = np.zeros((case.platform.node_count, seconds, len(case.platform.kinds)), dtype=np.int64)
    for place in np.flatnonzero(schedule.ran).tolist():
        for node, units in placement(schedule, place).items():
            used[node, schedule.start[place] : schedule.finish[place]] += units * schedule.request[place]
    return used


@given(cases(following=True, profile=ProfileRule.HARD))
@examples(1.5)
def test_hard_profile_holds_during_runs_or_at_starts(case):
    run = case.run()
    if case.desired is None or not run.schedule.ran.any():
        return
    used = used_by_second(case, run)
    open_always = replace(case.platform, maintenance=())
    wished = np.stack([node.wished for node in dense_nodes(open_always, case.desired, used.shape[1])])
    exceeded = used > np.maximum(wished, 0)
    if case.setup.profile_check is ProfileCheck.SPAN:
        assert not exceeded.any()
    for place in np.flatnonzero(run.schedule.ran).tolist():
        asked = run.schedule.request[place] > 0
        for node in placement(run.schedule, place):
            assert not exceeded[node, run.schedule.start[place], asked].any()


@given(cases(following=True, wishes=False, backfill_depth=1))
@examples(1)
def test_walltime_as_expected_runtime_changes_nothing(case):
    certain = case.run().schedule.digest()
    foreseen = replace(case, setup=replace(case.setup, expected=Expecting.LAST_TWO))
    walltimes = {job.number: job.walltime for job in case.jobs}
    assert foreseen.run(predictor=Foreseen(walltimes)).schedule.digest() == certain
