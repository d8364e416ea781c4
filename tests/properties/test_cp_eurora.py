"""The Eurora scheduler's model, with queues that are stopped at times, against trying everything."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.cp_brute_force import is_open, least, problems, queue_cost, see_that_starts_fit, with_queues
from kit.effort import examples

from dardis.dispatch.cp.eurora import Eurora, Means
from dardis.dispatch.cp.problem import Blocked, Problem, Waiting
from dardis.model.job import FOREVER, Job
from dardis.model.platform import NodeGroup, Platform
from dardis.model.queues import Queue

CLOSED = problems().flatmap(with_queues)


def see_that_all_start_in_hours(problem: Problem, starts: dict[int, int]) -> None:
    assert sorted(starts) == [*range(len(problem.waiting))]
    assert all(is_open(problem, problem.waiting[job].job, start - problem.now) for job, start in starts.items())


@examples(0.7)
@given(CLOSED)
def test_what_is_proven_is_what_trying_everything_finds(problem):
    answer = Eurora(Means(shortcuts=False)).answer(problem, 1)
    best = least(problem, queue_cost(problem.platform))
    if problem.waiting:
        assert answer.result is not None
        assert answer.result.proven
        assert (answer.objective, answer.bound) == (pytest.approx(best), pytest.approx(best))
        see_that_all_start_in_hours(problem, answer.starts)
    see_that_starts_fit(problem, answer)


@examples(0.7)
@given(CLOSED, st.sampled_from([1, 4, 1500]), st.sampled_from([0, 20]))
def test_an_answer_of_ours_is_improved_and_bounded_whatever_the_model_may_hold(problem, most_places, exchanges):
    """Where only some are in the model, the others follow: nobody is lost, and the bound is one of all."""
    answer = Eurora(Means(most_places=most_places, exchanges=exchanges, plan_jobs=3)).answer(problem, 1)
    best = least(problem, queue_cost(problem.platform))
    assert answer.bound <= best + 1e-9
    assert answer.objective >= best - 1e-9
    see_that_all_start_in_hours(problem, answer.starts)
    see_that_starts_fit(problem, answer)
    if most_places == 1500 and answer.result is not None:
        assert answer.objective == pytest.approx(best)


@examples(0.7)
@given(CLOSED, st.integers(1, 12), st.booleans())
def test_within_a_reservation_as_many_run_as_can_and_then_wait_least(problem, ends, shortcuts):
    """T equation 4.4: who would not end in time need not run."""
    over = problem.now + ends
    problem = replace(problem, platform=replace(problem.platform, ends=over))
    price, delays = 10_000.0, queue_cost(problem.platform)
    best = least(problem, lambda one, start, now: delays(one, start, now) + price * (start + one.duration > over))
    answer = Eurora(Means(shortcuts=shortcuts)).answer(problem, 1)
    starts = [(problem.waiting[place], start) for place, start in answer.starts.items()]
    late = sum(start + one.duration > over for one, start in starts)
    waits = sum(delays(one, start, problem.now) for one, start in starts)
    found = late * price + waits
    assert found == pytest.approx(best) if answer.result is not None else found >= best - 1e-9
    see_that_starts_fit(problem, answer)


@examples(0.5)
@given(st.lists(CLOSED, min_size=1, max_size=3))
def test_the_same_problems_in_turn_have_the_same_answers(listed):
    told = []
    for _ in range(2):
        model = Eurora(Means())
        told.append([(one.starts, one.objective, one.bound) for one in (model.answer(each, 3) for each in listed)])
    assert told[0] == told[1]


def two_nodes(*jobs: tuple[str, int, int, int], stopped: tuple[tuple[int, int], ...] = ()) -> Problem:
    """At 10, two nodes of groups a and b; queues `calm` (expected wait 10 s) and `quick` (1 s), the last one stopped.

    Jobs are queue, submission, duration and groups; each takes a node.
    """
    queues = (Queue("calm", expected_wait_s=10), Queue("quick", expected_wait_s=1, stopped=stopped))
    platform = Platform("two", (NodeGroup("a", 1, {"cores": 2}), NodeGroup("b", 1, {"cores": 2})), queues=queues)
    waiting = tuple(
        Waiting(Job(number, submit, submit, None, duration, 1, (2,), groups, queue), duration)
        for number, (queue, submit, duration, groups) in enumerate(jobs)
    )
    return Problem(platform, 10, (), waiting, keeps_hours=True)


@pytest.mark.parametrize("shortcuts", [True, False])
def test_who_is_told_a_shorter_wait_goes_first_unless_the_queue_is_stopped(shortcuts):
    jobs = ("calm", 0, 4, 1), ("quick", 9, 4, 1)
    open_now = Eurora(Means(shortcuts=shortcuts)).answer(two_nodes(*jobs), 1)
    assert open_now.starts == {1: 10, 0: 14}
    # Waits of 14 s over 10 s, and of 1 s.
    assert open_now.objective == pytest.approx(1.4 + 1)
    stopped = Eurora(Means(shortcuts=shortcuts)).answer(two_nodes(*jobs, stopped=((8, 12),)), 1)
    # To let the first go before would make the second wait until 14: 1.0 + 5 against 1.6 + 3.
    assert stopped.starts == {1: 12, 0: 16}
    assert stopped.objective == pytest.approx(1.6 + 3)


@pytest.mark.parametrize("shortcuts", [True, False])
def test_whom_nothing_open_ever_holds_is_left_out_and_the_others_are_planned(shortcuts):
    """Group b is closed for ever (T eq. 4.6): its job waits, and doesn't make the whole infeasible."""
    problem = two_nodes(("calm", 0, 4, 1), ("calm", 0, 4, 2), ("calm", 0, 4, 3))
    closed = replace(problem, blocked=(Blocked(1, 0, FOREVER, (2,)),))
    answer = Eurora(Means(shortcuts=shortcuts)).answer(closed, 1)
    assert sorted(answer.starts) == [0, 2]
    assert sorted(answer.starts.values()) == [10, 14]


def test_a_job_of_no_queue_goes_by_its_window_and_by_an_hour_if_it_has_none():
    platform = Platform("one", (NodeGroup("a", 1, {"cores": 1}),), queues=(Queue("late", longest_wait_s=50),))
    jobs = Job(0, 0, 0, 20, 5, 1, (1,), 1), Job(1, 0, 0, None, 5, 1, (1,), 1), Job(2, 0, 0, 20, 5, 1, (1,), 1, "late")
    told = []
    for job in jobs:
        problem = Problem(platform, 100, (), (Waiting(job, 5),))
        told.append(Eurora(Means()).answer(problem, 1).objective)
    assert told == pytest.approx([100 / 20, 100 / 3600, 100 / 50])


def test_a_queue_that_is_halved_after_failures_is_whole_again_after_a_success():
    """A model that may hold nothing is too large; then one of half of the queue, the first who came, is asked."""
    jobs = [("calm", place, 4, 1) for place in range(4)]
    model = Eurora(Means(most_places=2, shortcuts=False))
    counts = [len(model.answer(two_nodes(*jobs), 1).starts) for _ in range(4)]
    assert counts == [0, 2, 0, 2]


def test_a_model_that_could_hold_not_even_the_first_is_too_large():
    jobs = [("calm", place, 4 + place, 3) for place in range(4)]
    told = [Eurora(Means(most_places=most)).answer(two_nodes(*jobs), 1).too_large for most in (1, 2)]
    assert told == [True, False]


def test_the_order_of_the_last_cycle_is_begun_with():
    """What chance has found before is not lost where none is left: no exchange is tried in the second cycle."""
    rng = np.random.default_rng(5)
    jobs = [("calm", 0, int(rng.integers(1, 60)), 3) for _ in range(30)]
    problem = two_nodes(*jobs)
    model = Eurora(Means(most_places=1, exchanges=300))
    first = model.answer(problem, 1)
    model._means = Means(most_places=1, exchanges=0)
    again = model.answer(problem, 1)
    assert again.objective <= first.objective + 1e-9
