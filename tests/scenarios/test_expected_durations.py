"""Backfilling by expected durations, worked out by hand: who goes before whom, and what who outruns his does to it."""

import pytest
from kit.actual import actual
from kit.central import dispatch, setup_of
from kit.foreseen import Foreseen

from dardis.model.platform import NodeGroup, Platform

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


def test_who_predicts_is_asked_when_a_job_arrives_and_told_when_it_ends():
    foreseen = Foreseen(EXPECTED)
    jobs = [*JOBS[:2], actual(9, 0, 0, None, 9, 1, (1,), 1, runtime=9, after=2, think=7)]
    jobs.sort(key=lambda one: (one.submit, one.number))
    dispatch(FOUR_CORES, jobs, setup_of("easy", "expected=last-two"), predictor=foreseen)
    assert foreseen.heard == [
        ("asked", 1, 0), ("asked", 9, 0), ("asked", 2, 1), ("ended", 9, 9), ("ended", 1, 50), ("ended", 2, 60),
    ]  # fmt: skip
