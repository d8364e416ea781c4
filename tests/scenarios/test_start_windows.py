"""Windows, reservations and profiles by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest
from kit.actual import actual
from kit.central_runs import dispatch, setup_of
from kit.run import simulate

from dardis.model.choices import ProfileRule
from dardis.model.job import ActualJob
from dardis.model.platform import Maintenance, NodeGroup, Platform
from dardis.model.step_function import StepFunction
from dardis.model.target import DesiredProfile, Split
from dardis.task_manager import SETUPS

DRAWN = ("dardis-profile", "dardis-balance")
ONE_NODE = Platform("one", (NodeGroup("n", 1, {"cores": 1}),))


def job_with(latest: int | None) -> ActualJob:
    return actual(1, 0, 0, latest, 10, 1, (1,), 1, runtime=10)


def wish_from(moment: int) -> DesiredProfile:
    return DesiredProfile(ONE_NODE, {0: StepFunction.from_steps(0, [(moment, 1)])})


@pytest.mark.parametrize("name", DRAWN)
def test_job_without_deadline_starts_after_all_reservations(name):
    closed = replace(ONE_NODE, maintenance=(Maintenance((0,), 0, 7230),))
    run = simulate(closed, [job_with(None)], SETUPS[name])
    assert run.reasons == {}
    assert run.schedule.start[0] >= 7230


@pytest.mark.parametrize("name", DRAWN)
@pytest.mark.parametrize("latest", [None, 0])
def test_job_waits_for_a_hard_profile(name, latest):
    setup = replace(SETUPS[name], profile=ProfileRule.HARD)
    run = simulate(ONE_NODE, [job_with(latest)], setup, desired=wish_from(10_000))
    assert run.reasons == {}
    assert run.schedule.start[0] >= 10_000


FOUR = Platform("four", (NodeGroup("n", 1, {"cores": 4}),))


def binding(platform: Platform, value: int, *steps: tuple[int, int]) -> DesiredProfile:
    """Wishes for the cores of the whole machine."""
    return DesiredProfile(platform, {0: StepFunction.from_steps(value, steps)}, {}, Split.PROPORTIONAL)


def core_job(number: int, submit: int, walltime: int, cores: int, **more) -> ActualJob:
    """A job of one unit that runs its whole walltime."""
    return actual(number, submit, submit, None, walltime, 1, (cores,), 1, **more, runtime=walltime)


def central_starts(name: str, jobs: list[ActualJob], desired: DesiredProfile, *settings: str) -> list[int]:
    """Start times on the machine of four cores."""
    starts: list[int] = dispatch(FOUR, jobs, setup_of(name, *settings), desired=desired).schedule.start.tolist()
    return starts


@pytest.mark.parametrize("rule", ["soft", "hard"])
def test_a_reservation_behind_maintenance_keeps_its_nodes(rule: str) -> None:
    groups = NodeGroup("a", 1, {"cores": 6}), NodeGroup("b", 2, {"cores": 2})
    platform = Platform("mended", groups, maintenance=(Maintenance((0, 1, 2), 1167, 1820),))
    jobs = [
        actual(6, 1039, 1039, 3080, 912, 3, (1,), 0b10, runtime=912),
        actual(7, 1225, 1225, None, 29, 3, (1,), platform.all_groups, runtime=9),
    ]
    desired = binding(platform, 8, (3958, 1), (4307, 2))
    run = dispatch(platform, jobs, setup_of("conservative", f"profile={rule}"), desired=desired)
    assert run.schedule.start.tolist() == [1820, 1820]


@pytest.mark.parametrize("rule", ["soft", "hard"])
@pytest.mark.parametrize(
    ("name", "settings"), [("rules-fcfs", ["backfill=on", "backfill_depth=unlimited"]), ("conservative", [])]
)
def test_two_jobs_with_held_capacity_do_not_block_each_other_forever(name: str, settings: list[str], rule: str) -> None:
    jobs = [core_job(1, 0, 100, 4), core_job(2, 60, 1000, 2), core_job(3, 61, 1000, 2)]
    desired = binding(FOUR, 4, (50, 0), (200, 2))
    settings = [*settings, "profile_check=instant", f"profile={rule}"]
    assert central_starts(name, jobs, desired, *settings) == [0, 200, 1200]


@pytest.mark.parametrize("rule", ["soft", "hard"])
def test_held_capacity_is_renewed_after_its_time(rule: str) -> None:
    jobs = [core_job(1, 0, 100, 4), core_job(2, 60, 50, 4), core_job(3, 300, 5000, 1)]
    desired = binding(FOUR, 4, (50, 1), (500, 4))
    starts = central_starts("easy", jobs, desired, "profile_check=instant", f"profile={rule}")
    assert starts == [0, 500, 550]


LOSING = binding(FOUR, 4, (100, 2))
FOLLOWED = [core_job(1, 0, 90, 4), core_job(2, 1, 50, 3), core_job(3, 2, 10, 1, after=2), core_job(4, 5, 100_000, 1)]
"""From 100 on job 2 can't start any more; job 3 follows it, job 4 keeps the run going for long."""
GONE_AT = range(51, 101)
"""Job 2 must start at 50 at the latest, which job 1 does not let it, and job 1 ends at 90."""


@pytest.mark.parametrize("name", ["easy", "conservative", "rules-fcfs"])
def test_dependent_jobs_of_a_lost_job_are_submitted_at_once(name: str) -> None:
    run = dispatch(FOUR, FOLLOWED, setup_of(name, "profile=hard", "profile_check=span"), desired=LOSING)
    assert [*run.reasons] == [1]
    assert run.schedule.submit[2] in GONE_AT
    assert run.schedule.start[2] in GONE_AT
