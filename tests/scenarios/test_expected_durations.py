"""Backfilling by expected durations, worked out by hand: who goes before whom, and what who outruns his does to it."""

import pytest
from kit.actual import actual, asking
from kit.central import dispatch, setup_of
from kit.foreseen import Foreseen

from dardis.model.platform import Maintenance, NodeGroup, Platform
from dardis.model.profile import StepFunction
from dardis.model.target import DesiredProfile

FOUR_CORES = Platform("one", (NodeGroup("n", 1, {"cores": 4}),))


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


def test_easy_by_walltimes_lets_everybody_pass():
    """Job 2 is promised second 100, so that who ends by then may go before it."""
    assert starts("easy", expected={}) == [0, 50, 2, 22, 27]


def test_easy_lets_only_those_pass_who_are_expected_to_be_out_of_the_way():
    """Job 2 is promised second 10: job 3 would delay it, job 4 would not.

    At 10 s job 1 is expected to end at 70 s: job 3 starts, and job 5 after it.
    """
    assert starts("easy", "expected=last-two") == [0, 50, 10, 3, 30]


def test_by_the_second_the_first_reservation_is_always_due():
    """At 20 s job 1 is expected to end at 21 s, so that job 2 is promised that second and no other job starts."""
    assert starts("easy", "expected=last-two", "correction=second") == [0, 50, 60, 3, 60]
    assert starts("conservative", "expected=last-two", "correction=second") == [0, 50, 60, 3, 60]


@pytest.mark.parametrize("name", ["easy", "conservative"])
def test_a_queue_does_not_starve_behind_a_job_that_outlives_its_prediction(name):
    """Short jobs pass a job that waits for the whole machine, while the job that runs is far from its end."""
    short = [job(number, 10 + number, 1, 60, 30) for number in range(3, 23)]
    jobs = [job(1, 0, 2, 7200, 7000), job(2, 1, 4, 7200, 10), *short]
    expected = {1: 10, 2: 10, **{one.number: 30 for one in short}}
    by_second = starts(name, "expected=last-two", "correction=second", jobs=jobs, expected=expected)
    assert by_second[1] == 7000
    assert min(by_second[2:]) >= 7010
    by_steps = starts(name, "expected=last-two", jobs=jobs, expected=expected)
    assert by_steps[1] == 7000
    assert max(by_steps[2:]) < 1000


def test_the_dispatcher_is_asked_when_a_prediction_expires():
    """Nothing arrives or ends at 10 s, at 70 s or at 370 s; job 3 fits only before the third promise to job 2."""
    jobs = [job(1, 0, 2, 7200, 3000), job(2, 1, 4, 100, 10), job(3, 2, 2, 400, 250)]
    assert starts("easy", "expected=last-two", jobs=jobs, expected={1: 10, 2: 10, 3: 250}) == [0, 3000, 70]


def test_conservative_plans_anew_when_somebody_outruns():
    """Job 2 is promised 10 s, then 70 s: jobs 3 and 5 start before it as soon as they end before that."""
    assert starts("conservative", "expected=last-two") == [0, 50, 10, 3, 30]


def capped(until, cores):
    """Fewer cores wished until then."""
    return DesiredProfile(FOUR_CORES, {0: StepFunction.from_steps(cores, [(until, 4)])})


@pytest.mark.parametrize("profile", ["hard", "soft"])
def test_room_that_is_held_for_who_may_not_start_yet_stays_held(profile):
    """Job 1 may start at 100 s, and its room is held, though it was expected to be out of it after 5 s."""
    jobs = [job(1, 0, 3, 50, 50), job(2, 10, 2, 200, 200)]
    settings = (f"profile={profile}", "profile_check=instant", "expected=last-two")
    assert starts("easy", *settings, jobs=jobs, expected={1: 5}, desired=capped(100, 2)) == [100, 150]


@pytest.mark.parametrize("name", ["easy", "conservative"])
@pytest.mark.parametrize("order", ["batched", "per-event"])
def test_nobody_outruns_his_walltime(name, order):
    """Job 1 is over at 10 s for certain, even where arrivals are seen before ends: then job 2 has its turn, not 3."""
    jobs = [job(1, 0, 2, 10, 10), job(2, 1, 4, 10, 10), job(3, 10, 2, 40, 30)]
    found = starts(name, f"event_order={order}", "expected=last-two", jobs=jobs, expected={1: 10, 2: 10, 3: 1})
    assert found == [0, 10, 20]


def test_who_waits_is_planned_by_his_walltime_as_maintenance_comes_near():
    """At 0 s job 2 could be over by 70 s and is expected to take 5 s; at 30 s it could not, and has to wait."""
    platform = Platform("one", FOUR_CORES.groups, maintenance=(Maintenance((0,), 70, 90),))
    jobs = [job(1, 0, 4, 40, 30), job(2, 1, 4, 45, 45), job(3, 2, 4, 20, 20)]
    for name in ("easy", "conservative"):
        settings = ("expected=last-two",)
        assert starts(name, *settings, jobs=jobs, expected={1: 30, 2: 5, 3: 5}, platform=platform) == [0, 90, 30]


@pytest.mark.parametrize(("name", "order"), [("rules-wt", [4, 5, 1, 3]), ("rules-ljf", [3, 1, 5, 4])])
def test_orders_by_walltime_go_by_what_is_expected(name, order):
    """They wait for job 0, which takes all; jobs 1 and 3 ask for as much time as each other."""
    jobs = [job(0, 0, 4, 60, 60), *(asking(one, submit=1, earliest=1, request=(4,)) for one in JOBS if one.number != 2)]
    start = starts(name, "expected=real", jobs=jobs, expected={0: 60, 1: 10, 3: 20, 4: 5, 5: 6})
    assert [number for _, number in sorted(zip(start, (0, 1, 3, 4, 5), strict=True))] == [0, *order]


def test_nobody_runs_into_maintenance_however_short_he_is_expected_to_be():
    """It would not be killed before its walltime: so it waits, though it is expected to end in time."""
    platform = Platform("one", FOUR_CORES.groups, maintenance=(Maintenance((0,), 60, 80),))
    assert starts("easy", "expected=last-two", jobs=[job(1, 0, 1, 100, 70)], expected={1: 5}, platform=platform) == [80]
    assert starts("easy", "expected=last-two", jobs=[job(1, 0, 1, 60, 60)], expected={1: 5}, platform=platform) == [0]


def test_who_predicts_is_asked_when_a_job_arrives_and_told_when_it_ends():
    foreseen = Foreseen(EXPECTED)
    jobs = [*JOBS[:2], actual(9, 0, 0, None, 9, 1, (1,), 1, runtime=9, after=2, think=7)]
    jobs.sort(key=lambda one: (one.submit, one.number))
    dispatch(FOUR_CORES, jobs, setup_of("easy", "expected=last-two"), predictor=foreseen)
    assert foreseen.heard == [
        ("asked", 1, 0), ("asked", 9, 0), ("asked", 2, 1), ("ended", 9, 9), ("ended", 1, 50), ("ended", 2, 60),
    ]  # fmt: skip
