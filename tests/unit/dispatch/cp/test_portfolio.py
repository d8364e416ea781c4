"""Whom the portfolio lets decide, and that nothing is left behind when it changes its mind (thesis 4.5.2)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from kit.actual import actual
from kit.central_runs import dispatch

from dardis.dispatch import CENTRAL_SETUPS
from dardis.dispatch.cp.portfolio import Method, Ranges
from dardis.dispatch.cp.setups import CP_SETUPS, DecisionCost
from dardis.dispatch.setups import Ordering
from dardis.model.choices import OnOff
from dardis.model.platform import NodeGroup, Platform

PORTFOLIO = CP_SETUPS["portfolio"]
PLATFORM = Platform("two", (NodeGroup("n", 2, {"cores": 4}),))
ALWAYS = {Method.RULE: (10**9, 10**9), Method.MODEL: (0, 10**9), Method.BACKFILLING: (0, 0)}
"""Ranges in which one decides all the time."""


@pytest.mark.parametrize(
    ("units", "nodes", "expected"),
    [
        (584, 65, Method.RULE),
        (585, 65, Method.MODEL),
        (35, 4, Method.RULE),
        (36, 4, Method.MODEL),
        (4100, 65, Method.BACKFILLING),
        (66_625, 4, Method.BACKFILLING),
    ],
)
def test_the_thesis_s_ranges(units, nodes, expected):
    assert Ranges(PORTFOLIO.light, PORTFOLIO.heavy).method(units, nodes) is expected


def some_jobs(count=30):
    """Of one to three nodes' halves, so many at once that some wait, for some hours."""
    return [
        actual(n, 40 * n, 40 * n, None, 100 + 37 * n % 300, 1 + n % 3, (2,), 1, runtime=60 + 23 * n % 200)
        for n in range(1, count + 1)
    ]


def starts(setup, jobs=None):
    return dispatch(PLATFORM, jobs or some_jobs(), setup.checked()).schedule.start.tolist()


@pytest.mark.parametrize(
    ("method", "alone"),
    [
        (Method.RULE, replace(CENTRAL_SETUPS["pbs-walltime"], backfill=OnOff.OFF, ordering=Ordering.RELAXED)),
        (Method.MODEL, CP_SETUPS["cp-eurora"]),
        (Method.BACKFILLING, CENTRAL_SETUPS["pbs-walltime"]),
    ],
)
def test_portfolio_with_one_active_method_equals_that_method(method, alone):
    light, heavy = ALWAYS[method]
    assert starts(replace(PORTFOLIO, light=light, heavy=heavy)) == starts(alone)


@pytest.mark.parametrize("cost", DecisionCost)
def test_no_job_is_lost_when_methods_alternate(cost):
    jobs = []
    for burst in range(3):
        for job in some_jobs(12):
            submit = job.submit + burst * 90_000
            number = job.number + 100 * burst
            jobs.append(
                actual(number, submit, submit, None, job.walltime, job.units, job.request, 1, runtime=job.runtime)
            )
    setup = replace(PORTFOLIO, light=4, heavy=30, decision_cost=cost)
    run = dispatch(PLATFORM, jobs, setup)
    assert run.schedule.ran.all()
    assert run.schedule.digest() == dispatch(PLATFORM, jobs, setup).schedule.digest()


def test_reservation_is_released_when_the_method_changes():
    """Under backfilling all of the machine is kept for the second from 100 on; a day later the rule lets all start.

    Had it kept its room, the third, which is submitted then, would not start at once.
    """
    jobs = [
        actual(1, 0, 0, None, 200_000, 1, (4,), 1, runtime=200_000),
        actual(2, 1, 1, None, 100, 2, (4,), 1, runtime=100),
        actual(3, 100_000, 100_000, None, 150_000, 1, (4,), 1, runtime=100),
    ]
    setup = replace(PORTFOLIO, light=2, heavy=4)
    assert starts(setup, jobs) == [0, 200_000, 100_000]
    assert starts(CENTRAL_SETUPS["pbs-walltime"], jobs) == [0, 200_000, 200_100]
