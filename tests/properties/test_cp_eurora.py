"""The Eurora scheduler's model, with queues that are stopped at times, against trying everything."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.cp_brute_force import is_open, least, problems, queue_cost, see_that_starts_fit, with_queues
from kit.effort import examples

from dardis.dispatch.cp.decision_problem import DecisionProblem, WaitingJob
from dardis.dispatch.cp.eurora_scheduler import Eurora, EuroraLimits
from dardis.model.job import Job
from dardis.model.platform import NodeGroup, Platform
from dardis.model.queues import Queue

CLOSED = problems().flatmap(with_queues)


def see_that_all_start_in_hours(problem: DecisionProblem, starts: dict[int, int]) -> None:
    assert sorted(starts) == [*range(len(problem.waiting))]
    assert all(is_open(problem, problem.waiting[job].job, start - problem.now) for job, start in starts.items())


@examples(0.7)
@given(CLOSED)
def test_proven_optimum_equals_exhaustive_search(problem):
    answer = Eurora(EuroraLimits(shortcuts=False)).decide(problem, 1)
    best = least(problem, queue_cost(problem.platform))
    if problem.waiting:
        assert answer.result is not None
        assert answer.result.proven
        assert (answer.objective, answer.bound) == (pytest.approx(best), pytest.approx(best))
        see_that_all_start_in_hours(problem, answer.starts)
    see_that_starts_fit(problem, answer)


@examples(0.7)
@given(CLOSED, st.sampled_from([1, 4, 1500]), st.sampled_from([0, 20]))
def test_first_answer_is_improved_and_bounded_for_any_model_size(problem, most_places, exchanges):
    answer = Eurora(EuroraLimits(most_places=most_places, exchanges=exchanges, plan_jobs=3)).decide(problem, 1)
    best = least(problem, queue_cost(problem.platform))
    assert answer.bound <= best + 1e-9
    assert answer.objective >= best - 1e-9
    see_that_all_start_in_hours(problem, answer.starts)
    see_that_starts_fit(problem, answer)
    if most_places == 1500 and answer.result is not None:
        assert answer.objective == pytest.approx(best)


@examples(0.7)
@given(CLOSED, st.integers(1, 12), st.booleans())
def test_reservation_maximizes_running_jobs_then_minimizes_waits(problem, ends, shortcuts):
    over = problem.now + ends
    problem = replace(problem, platform=replace(problem.platform, ends=over))
    price, delays = 10_000.0, queue_cost(problem.platform)
    best = least(problem, lambda one, start, now: delays(one, start, now) + price * (start + one.duration > over))
    answer = Eurora(EuroraLimits(shortcuts=shortcuts)).decide(problem, 1)
    starts = [(problem.waiting[place], start) for place, start in answer.starts.items()]
    late = sum(start + one.duration > over for one, start in starts)
    waits = sum(delays(one, start, problem.now) for one, start in starts)
    found = late * price + waits
    assert found == pytest.approx(best) if answer.result is not None else found >= best - 1e-9
    see_that_starts_fit(problem, answer)


def two_nodes(*jobs: tuple[str, int, int, int], stopped: tuple[tuple[int, int], ...] = ()) -> DecisionProblem:
    """At 10, two nodes of groups a and b; queues `calm` (expected wait 10 s) and `quick` (1 s), the last one stopped.

    Jobs are queue, submission, duration and groups; each takes a node.
    """
    queues = (Queue("calm", expected_wait_s=10), Queue("quick", expected_wait_s=1, stopped=stopped))
    platform = Platform("two", (NodeGroup("a", 1, {"cores": 2}), NodeGroup("b", 1, {"cores": 2})), queues=queues)
    waiting = tuple(
        WaitingJob(Job(number, submit, submit, None, duration, 1, (2,), groups, queue), duration)
        for number, (queue, submit, duration, groups) in enumerate(jobs)
    )
    return DecisionProblem(platform, 10, (), waiting, keeps_hours=True)


def test_queue_halved_after_failures_is_complete_after_a_success():
    jobs = [("calm", place, 4, 1) for place in range(4)]
    model = Eurora(EuroraLimits(most_places=2, shortcuts=False))
    counts = [len(model.decide(two_nodes(*jobs), 1).starts) for _ in range(4)]
    assert counts == [0, 2, 0, 2]


def test_model_too_small_for_one_job_is_reported_as_too_large():
    jobs = [("calm", place, 4 + place, 3) for place in range(4)]
    told = [Eurora(EuroraLimits(most_places=most)).decide(two_nodes(*jobs), 1).too_large for most in (1, 2)]
    assert told == [True, False]
