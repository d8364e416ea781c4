"""The pool references against published sums of start times, and against schedules worked out by hand.

Whoever trusts them as what a dispatcher must give finds here what they rest on.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from kit.pool_reference import PoolJobs, starts
from kit.published import LONG, PUBLISHED, SHORT


@pytest.mark.parametrize("name", [*SHORT, *(pytest.param(name, marks=pytest.mark.slow) for name in LONG)])
def test_sums_of_starts_are_the_published_ones(name: str, shared: Path) -> None:
    row = PUBLISHED[name]
    jobs = row.prepared(shared)
    assert {policy: sum(starts(jobs, row.processors, policy)) for policy in row.sums} == row.sums


def pool_jobs(*rows: tuple[int, int, int, int]) -> PoolJobs:
    """Jobs from (submit, runtime, estimate, cores)."""
    return PoolJobs(*(list(column) for column in zip(*rows, strict=True)))


@pytest.mark.parametrize("policy", ["easy", "easy-event", "conservative", "conservative-event"])
def test_a_long_narrow_job_does_not_delay_the_head(policy: str) -> None:
    jobs = pool_jobs((1, 100, 100, 3), (2, 50, 50, 4), (3, 1000, 1000, 1))
    assert starts(jobs, 4, policy) == [1, 101, 151]


def test_strict_orders_wait_behind_the_first_that_does_not_fit() -> None:
    jobs = pool_jobs((1, 10, 10, 3), (2, 9, 9, 2), (3, 5, 5, 3), (4, 1, 6, 1))
    assert starts(jobs, 4, "fcfs") == [1, 11, 20, 20]
    assert starts(jobs, 4, "sjf") == [1, 16, 11, 11]  # C blocks D, that would fit beside A


def test_conservative_moves_jobs_in_one_round_and_again_at_the_next_completion() -> None:
    """A ends early at 4. C, before D in the round, can only move to 11, the end of D's old slot, not to 10, B's end.

    The round at 9, when D ends just as estimated, lets C have 10.
    """
    jobs = pool_jobs((1, 3, 5, 4), (1, 6, 6, 2), (2, 2, 2, 4), (2, 5, 5, 1))
    for policy in ("conservative", "conservative-event"):
        assert starts(jobs, 4, policy) == [1, 4, 10, 4]


def test_a_conservative_reservation_holds_where_easy_has_only_the_first() -> None:
    jobs = pool_jobs((1, 10, 10, 3), (2, 5, 5, 2), (3, 5, 5, 4), (4, 20, 20, 1))
    assert starts(jobs, 4, "easy") == [1, 11, 24, 4]
    assert starts(jobs, 4, "conservative") == [1, 11, 16, 21]
