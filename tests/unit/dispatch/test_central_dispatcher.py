"""The central dispatcher on examples small enough to work out by hand."""

import pytest
from kit.actual import actual
from kit.central_runs import dispatch, setup_of
from kit.replay import placement

from dardis.model.job import NO_TIME
from dardis.model.platform import NodeGroup, Platform
from dardis.model.step_function import StepFunction
from dardis.model.target import DesiredProfile

ONE = Platform("one", (NodeGroup("n", 1, {"cores": 4}),))


def job(number, submit, walltime, cores, *, units=1, runtime=None, est=None, lst=None, groups=1):
    return actual(
        number,
        submit,
        submit if est is None else est,
        lst,
        walltime,
        units,
        (cores,),
        groups,
        runtime=runtime or walltime,
    )


def starts(platform, jobs, name, *settings, desired=None):
    run = dispatch(platform, jobs, setup_of(name, *settings), desired=desired)
    return [None if start == NO_TIME else start for start in run.schedule.start.tolist()]


def binding(platform, first, *steps):
    return DesiredProfile(platform, {0: StepFunction.from_steps(first, list(steps))})


BLOCKED = [job(1, 0, 10, 3), job(2, 1, 10, 4), job(3, 2, 30, 1), job(4, 3, 5, 1), job(5, 4, 3, 1)]
AT_ONCE = [job(1, 0, 10, 3), job(2, 1, 10, 4), job(3, 2, 8, 1), job(4, 2, 6, 1)]
IN_ORDER = [job(1, 0, 10, 1), job(2, 0, 10, 1), job(3, 0, 10, 4), job(4, 0, 5, 1)]
TWO_FIT = [job(1, 0, 10, 2), job(2, 1, 10, 4), job(3, 2, 5, 1), job(4, 2, 3, 1)]
OVERTAKEN = [job(1, 0, 10, 4), job(2, 1, 10, 4), job(3, 2, 3, 4)]
THREE_WAIT = [job(1, 0, 10, 3), job(2, 1, 5, 2), job(3, 2, 5, 4), job(4, 3, 20, 1)]


@pytest.mark.parametrize(
    ("jobs", "name", "settings", "expected"),
    [
        (BLOCKED, "rules-fcfs", (), [0, 10, 20, 20, 20]),
        (BLOCKED, "rules-fcfs", ("ordering=relaxed",), [0, 32, 2, 10, 10]),  # 3 to 5 use what is free, and 2 waits
        (BLOCKED, "easy", (), [0, 10, 20, 3, 20]),  # only 4 ends before the reservation of 2
        (AT_ONCE, "easy", (), [0, 10, 2, 20]),
        (AT_ONCE, "easy", ("order=sjbf",), [0, 10, 20, 2]),
        (THREE_WAIT, "easy", ("backfill_depth=2",), [0, 10, 15, 20]),
        (THREE_WAIT, "conservative", (), [0, 10, 15, 20]),
        (BLOCKED, "easy", ("backfill_window=2",), [0, 10, 20, 20, 20]),  # 2 and 3, which can't start
        (AT_ONCE, "easy", ("order=sjbf", "backfill_window=2"), [0, 10, 2, 20]),  # the first two by arrival, 2 and 3
        (IN_ORDER, "easy", ("backfill_window=2",), [0, 0, 10, 0]),  # who starts in order does not count
        (TWO_FIT, "easy", ("backfill_window=2",), [0, 10, 2, 7]),  # 3 frees its place for the next pass
        (OVERTAKEN, "conservative", ("rule=wt", "backfill_window=1"), [0, 13, 10]),  # 2 keeps no reservation
    ],
)
def test_backfilling_rules_order_one_queue(jobs, name, settings, expected):
    assert starts(ONE, jobs, name, *settings) == expected


def test_a_job_is_killed_at_its_walltime_and_follows_its_leader():
    leader = job(1, 0, 10, 4, runtime=25)
    follower = actual(2, 3, 3, None, 5, 1, (4,), 1, after=1, think=7, runtime=5)
    assert starts(ONE, [leader, follower], "easy") == [0, 17]


GROUPS = Platform(
    "three groups", tuple(NodeGroup(name, count, {"cores": 4}) for name, count in (("a", 1), ("b", 1), ("c", 2)))
)
FILL = [job(1, 0, 50, 2, groups=0b001), job(2, 0, 50, 3, groups=0b010)]


@pytest.mark.parametrize(
    ("choice", "narrow", "two_units"),
    [
        ("first-fit", {0: 1}, {0: 1, 2: 1}),
        ("best-fit", {1: 1}, {0: 1, 2: 1}),
        ("worst-fit", {2: 1}, {2: 2}),
        ("contiguous", {0: 1}, {2: 2}),
    ],
)
def test_node_choices_select_nodes(choice, narrow, two_units):
    for tried, expected in ((job(3, 1, 9, 1, groups=7), narrow), (job(3, 1, 9, 2, units=2, groups=7), two_units)):
        run = dispatch(GROUPS, [*FILL, tried], setup_of("easy", f"node_choice={choice}"))
        assert placement(run.schedule, 2) == expected


def test_desired_profile_is_checked_at_starts_and_during_runs():
    desired = binding(ONE, 4, (10, 1), (40, 4))
    jobs = [job(1, 0, 20, 3), job(2, 5, 5, 1)]
    assert starts(ONE, jobs, "rules-fcfs", desired=desired) == [0, 5]
    assert starts(ONE, jobs, "rules-fcfs", "profile_check=span", desired=desired) == [40, 40]
    assert starts(ONE, jobs, "rules-fcfs", "profile_check=span", "ordering=relaxed", desired=desired) == [40, 5]
    assert starts(ONE, jobs, "easy", "profile=hard", desired=desired) == [40, 5]
    assert starts(ONE, jobs, "easy", "profile=off", desired=desired) == [0, 5]


@pytest.mark.parametrize("name", ["rules-fcfs", "easy", "conservative"])
def test_a_soft_profile_binds_until_the_deadline(name):
    desired = binding(ONE, 0, (100, 4))
    jobs = [job(1, 0, 5, 2, lst=30), job(2, 0, 5, 2)]
    assert starts(ONE, jobs, name, "profile=soft", desired=desired) == [30, 100]
    assert starts(ONE, jobs, name, "profile=hard", desired=desired) == [100, 100]


@pytest.mark.parametrize("name", ["rules-fcfs", "easy", "conservative"])
@pytest.mark.parametrize("check", ["instant", "span"])
def test_job_that_never_fits_the_profile_is_rejected(name, check):
    jobs = [job(1, 0, 5, 3), job(2, 1, 5, 1)]
    settings = (name, f"profile_check={check}")
    assert starts(ONE, jobs, *settings, "profile=soft", desired=binding(ONE, 2)) == [0, 5]
    hard = dispatch(ONE, jobs, setup_of(*settings, "profile=hard"), desired=binding(ONE, 2))
    assert hard.schedule.start.tolist() == [NO_TIME, 1]
    assert "no start within the hard desired profile" in hard.reasons[0]
