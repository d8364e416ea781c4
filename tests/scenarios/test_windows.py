"""Drawn start times lie on a grid; the last instant of the grid must not hide what comes after it."""

from dataclasses import replace

import pytest
from kit.actual import actual
from kit.run import simulate

from dardis.model.choices import ProfileRule
from dardis.model.job import Actual
from dardis.model.platform import Maintenance, NodeGroup, Platform
from dardis.model.profile import StepFunction
from dardis.model.target import DesiredProfile
from dardis.task_manager import SETUPS

DRAWN = ("dardis-profile", "dardis-balance")
ONE_NODE = Platform("one", (NodeGroup("n", 1, {"cores": 1}),))


def job_with(latest: int | None) -> Actual:
    return actual(1, 0, 0, latest, 10, 1, (1,), 1, runtime=10)


def wish_from(moment: int) -> DesiredProfile:
    return DesiredProfile(ONE_NODE, {0: StepFunction.from_steps(0, [(moment, 1)])})


@pytest.mark.parametrize("name", DRAWN)
def test_a_job_without_deadline_starts_after_all_that_is_reserved(name):
    closed = replace(ONE_NODE, maintenance=(Maintenance((0,), 0, 7230),))
    run = simulate(closed, [job_with(None)], SETUPS[name])
    assert run.reasons == {}
    assert run.schedule.start[0] >= 7230


@pytest.mark.parametrize("name", DRAWN)
@pytest.mark.parametrize("latest", [None, 0])
def test_a_hard_profile_is_waited_for(name, latest):
    setup = replace(SETUPS[name], profile=ProfileRule.HARD)
    run = simulate(ONE_NODE, [job_with(latest)], setup, desired=wish_from(10_000))
    assert run.reasons == {}
    assert run.schedule.start[0] >= 10_000


@pytest.mark.parametrize("name", DRAWN)
def test_a_soft_profile_is_kept_by_a_job_without_deadline(name):
    run = simulate(ONE_NODE, [job_with(None)], SETUPS[name], desired=wish_from(7230))
    assert run.schedule.start[0] >= 7230
