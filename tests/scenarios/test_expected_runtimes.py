"""Backfilling by expected durations, worked out by hand: who goes before whom, and what who outruns his does to it."""

import pytest
from kit.actual import actual, asking
from kit.central_runs import dispatch, setup_of
from kit.recording_predictor import Foreseen

from dardis.model.platform import NodeGroup, Platform
from dardis.model.step_function import StepFunction
from dardis.model.target import DesiredProfile

FOUR_CORES = Platform("one", (NodeGroup("n", 1, {"cores": 4}),))


def capped(until, cores):
    """Fewer cores wished until then."""
    return DesiredProfile(FOUR_CORES, {0: StepFunction.from_steps(cores, [(until, 4)])})


def job(number, submit, cores, walltime, runtime):
    return actual(number, submit, submit, None, walltime, 1, (cores,), 1, runtime=runtime)


JOBS = [
    job(1, 0, 2, 100, 50),  # is expected to run for 10 s, and outruns that
    job(2, 1, 4, 100, 10),
    job(3, 2, 2, 50, 20),
    job(4, 3, 2, 50, 5),
    job(5, 20, 2, 50, 5),
]
EXPECTED = {1: 10, 2: 10, 3: 20, 4: 5, 5: 5}


def starts(name, *settings, jobs=JOBS, expected=EXPECTED, platform=FOUR_CORES, desired=None):
    run = dispatch(platform, jobs, setup_of(name, *settings), desired=desired, predictor=Foreseen(expected))
    return run.schedule.start.tolist()


@pytest.mark.parametrize("name", ["easy", "conservative"])
def test_overrunning_prediction_does_not_starve_the_queue(name):
    short = [job(number, 10 + number, 1, 60, 30) for number in range(3, 23)]
    jobs = [job(1, 0, 2, 7200, 7000), job(2, 1, 4, 7200, 10), *short]
    expected = {1: 10, 2: 10, **{one.number: 30 for one in short}}
    by_second = starts(name, "expected=last-two", "correction=second", jobs=jobs, expected=expected)
    assert by_second[1] == 7000
    assert min(by_second[2:]) >= 7010
    by_steps = starts(name, "expected=last-two", jobs=jobs, expected=expected)
    assert by_steps[1] == 7000
    assert max(by_steps[2:]) < 1000


def test_dispatcher_decides_when_a_prediction_expires():
    jobs = [job(1, 0, 2, 7200, 3000), job(2, 1, 4, 100, 10), job(3, 2, 2, 400, 250)]
    assert starts("easy", "expected=last-two", jobs=jobs, expected={1: 10, 2: 10, 3: 250}) == [0, 3000, 70]


def test_predictor_is_called_on_submission_and_notified_on_job_end():
    foreseen = Foreseen(EXPECTED)
    jobs = [*JOBS[:2], actual(9, 0, 0, None, 9, 1, (1,), 1, runtime=9, after=2, think=7)]
    jobs.sort(key=lambda one: (one.submit, one.number))
    dispatch(FOUR_CORES, jobs, setup_of("easy", "expected=last-two"), predictor=foreseen)
    assert foreseen.heard == [
        ("asked", 1, 0), ("asked", 9, 0), ("asked", 2, 1), ("ended", 9, 9), ("ended", 1, 50), ("ended", 2, 60),
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["easy", "conservative"])
def test_only_jobs_expected_to_end_in_time_are_backfilled(name):
    """Job 2 is promised second 10: job 3 would delay it, job 4 would not.

    At 10 s job 1 is expected to end at 70 s: job 3 starts, and job 5 after it. By the second the first is always due.
    """
    assert starts(name, "expected=last-two") == [0, 50, 10, 3, 30]
    assert starts(name, "expected=last-two", "correction=second") == [0, 50, 60, 3, 60]


@pytest.mark.parametrize(("name", "order"), [("rules-wt", [4, 5, 1, 3]), ("rules-ljf", [3, 1, 5, 4])])
def test_orders_by_walltime_use_expected_runtimes(name, order):
    jobs = [job(0, 0, 4, 60, 60), *(asking(one, submit=1, earliest=1, request=(4,)) for one in JOBS if one.number != 2)]
    start = starts(name, "expected=real", jobs=jobs, expected={0: 60, 1: 10, 3: 20, 4: 5, 5: 6})
    assert [number for _, number in sorted(zip(start, (0, 1, 3, 4, 5), strict=True))] == [0, *order]


@pytest.mark.parametrize("profile", ["hard", "soft"])
def test_capacity_held_for_a_later_start_stays_reserved(profile):
    jobs = [job(1, 0, 3, 50, 50), job(2, 10, 2, 200, 200)]
    settings = (f"profile={profile}", "profile_check=instant", "expected=last-two")
    assert starts("easy", *settings, jobs=jobs, expected={1: 5}, desired=capped(100, 2)) == [100, 150]
