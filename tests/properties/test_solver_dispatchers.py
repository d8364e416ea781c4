"""Runs of dispatchers that ask models: on any machine all jobs run or are rejected, and the audit finds nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.actual import actual
from kit.central_runs import dispatch, setup_of, use_small_buffers
from kit.effort import examples
from kit.machine import desired_profiles, jobs, platforms, with_queues, with_shapes

from dardis.dispatch.cp.pcp_nodes import Aim
from dardis.dispatch.cp.setups import CP_SETUPS, DecisionCost, EuroraBaseSetUp, Hcp19SetUp, Pcp14SetUp, Pcp19SetUp
from dardis.model.choices import EventOrder, Expecting, OnOff, ProfileRule, UnitsPerNode
from dardis.model.job import NO_TIME
from dardis.model.platform import Maintenance, NodeGroup, Platform
from dardis.model.step_function import StepFunction
from dardis.model.target import DesiredProfile
from dardis.predict import new_predictor

SETUPS = [
    *(setup for setup in CP_SETUPS.values() if not setup.needs_deadlines),
    *(Pcp19SetUp(version=version) for version in range(3)),
    *(Hcp19SetUp(version=version, model_jobs=3) for version in range(4)),
    CP_SETUPS["pcp14"],
]


def short_searches(setup, seconds):
    """The settings by which searches of a set-up have so long."""
    if isinstance(setup, EuroraBaseSetUp):
        return {"k1": seconds, "k2": 1.0, "exchanges": 20}
    return {"delta": seconds, "delta_max": seconds}


@st.composite
def solver_cases(draw, *, shaped=False):
    """A set-up, a machine, jobs, and what is wished of its nodes; `shaped`: jobs with parts, and nothing wished."""
    setup = draw(st.sampled_from(SETUPS))
    platform = draw(platforms())
    listed = draw(jobs(platform, most=8, following=True))
    if shaped:
        listed = draw(with_shapes(platform, listed))
        platform, listed = draw(with_queues(platform, listed))
    if setup.needs_deadlines:
        listed = [
            replace(job, job=replace(job.job, latest=job.earliest + 20)) if job.latest is None else job
            for job in listed
        ]
    setup = replace(
        setup,
        event_order=draw(st.sampled_from(EventOrder)),
        units_per_node=draw(st.sampled_from(UnitsPerNode)),
        profile=draw(st.sampled_from([ProfileRule.SOFT, ProfileRule.HARD])),
        decision_cost=draw(st.sampled_from(DecisionCost)),
        expected=Expecting.WALLTIME
        if shaped
        else draw(st.sampled_from([Expecting.WALLTIME, Expecting.LAST_TWO, Expecting.REAL])),
        shortcuts=draw(st.sampled_from(OnOff)),
        conflicts=50,
        **short_searches(setup, 0.01),
    ).checked()
    return setup, platform, listed, None if shaped else draw(st.none() | desired_profiles(platform))


@examples(0.5)
@given(solver_cases())
def test_all_jobs_run_or_are_rejected_and_runs_repeat(case):
    setup, platform, listed, desired = case
    truth = {job.number: job.duration for job in listed}
    runs = []
    for _ in range(2):
        predictor = None if setup.expected is Expecting.WALLTIME else new_predictor(setup.expected, truth, 1)
        runs.append(dispatch(platform, listed, setup, desired=desired, predictor=predictor))
    assert runs[0].schedule.digest() == runs[1].schedule.digest()


@examples(0.5)
@given(solver_cases(shaped=True), st.integers(1, 3))
def test_shaped_jobs_run_unless_the_machine_never_holds_them(case, slots):
    setup, platform, listed, _ = case
    run = dispatch(platform, listed, setup)
    rules = setup_of("rules-fcfs", f"units_per_node={setup.units_per_node.value}")
    assert run.reasons == dispatch(platform, listed, rules).reasons
    with use_small_buffers(slots):
        assert dispatch(platform, listed, setup).schedule.digest() == run.schedule.digest()


@examples(0.5)
@given(solver_cases() | solver_cases(shaped=True))
def test_all_jobs_start_although_the_solver_finds_nothing(case):
    setup, platform, listed, desired = case
    hasty = replace(setup, shortcuts=OnOff.OFF, conflicts=1, expected=Expecting.WALLTIME, **short_searches(setup, 1e-9))
    dispatch(platform, listed, hasty, desired=desired)


@pytest.mark.parametrize("name", ["pcp14", "pcp19", "hcp19", "pcp20", "cp-eurora"])
@pytest.mark.parametrize("wish", [False, True])
def test_no_job_starts_that_would_overlap_maintenance_or_exceed_the_profile(name, wish):
    closed = () if wish else (Maintenance((0,), 50, 70),)
    platform = Platform("one", (NodeGroup("n", 1, {"cores": 4}),), maintenance=closed)
    cores = StepFunction(np.array([NO_TIME, 50, 70]), np.array([4, 0, 4]))
    desired = DesiredProfile(platform, {0: cores}) if wish else None
    listed = [
        actual(number, 0, 0, 500, walltime, 1, (2,), 1, runtime=walltime) for number, walltime in ((1, 10), (2, 100))
    ]
    setup = replace(CP_SETUPS[name], profile=ProfileRule.HARD)
    assert dispatch(platform, listed, setup, desired=desired).schedule.start.tolist() == [0, 70]


def test_job_submitted_during_a_decision_is_decided_after_it():
    platform = Platform("two", (NodeGroup("n", 2, {"cores": 2}),))
    listed = [actual(number, submit, submit, None, 100, 1, (2,), 1, runtime=100) for number, submit in ((1, 0), (2, 1))]
    setup = Hcp19SetUp(shortcuts=OnOff.OFF, decision_cost=DecisionCost.DETERMINISTIC)
    assert dispatch(platform, listed, setup).schedule.start.tolist() == [1, 2]


def test_job_with_a_later_planned_start_waits_although_a_core_is_free():
    platform = Platform("one", (NodeGroup("n", 1, {"cores": 2}),))
    listed = [
        actual(number, 0, 0, latest, walltime, 1, (cores,), 1, runtime=walltime)
        for number, (latest, walltime, cores) in enumerate([(0, 1, 1), (1, 2, 2), (100, 10, 1)], 1)
    ]
    setup = Pcp14SetUp(objective=Aim.TARDINESS, composite=OnOff.OFF)
    assert dispatch(platform, listed, setup).schedule.start.tolist() == [0, 1, 3]
