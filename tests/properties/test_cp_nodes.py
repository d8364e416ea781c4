"""The models on nodes and the answer that comes first, against trying everything."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.cp_brute_force import (
    could_start,
    empty_floor,
    fits_somewhere,
    late_cost,
    least,
    least_makespan,
    problems,
    put,
    seconds_of,
    see_that_starts_fit,
    slowdown_cost,
    tardiness_cost,
    with_queues,
)
from kit.effort import examples

from dardis.dispatch.cp import objectives
from dardis.dispatch.cp.first import Machine, Plan
from dardis.dispatch.cp.node_model import Task, build
from dardis.dispatch.cp.nodes import Aim, Means, Pcp14, Pcp19
from dardis.dispatch.cp.problem import Answer, Model, Problem, Waiting
from dardis.dispatch.cp.search import Effort, search
from dardis.model.job import Job
from dardis.model.platform import NodeGroup, Platform

LEAST = {
    Aim.MAKESPAN: least_makespan,
    Aim.TARDINESS: lambda problem: least(problem, tardiness_cost),
    Aim.LATE: lambda problem: least(problem, late_cost),
}


def where_of(plan: Plan, job: int) -> tuple[tuple[int, int], ...]:
    ((nodes, units),) = plan.where[job][1]
    return tuple(zip(nodes.tolist(), units.tolist(), strict=True))


def see_that_it_fits(problem: Problem, plan: Plan) -> None:
    free = empty_floor(problem, seconds_of(problem))
    for job, waiting in enumerate(problem.waiting):
        where = where_of(plan, job)
        assert sum(units for _, units in where) == waiting.job.units
        assert all(waiting.job.groups >> int(problem.platform.group_of_node[node]) & 1 for node, _ in where)
        assert not problem.distinct or all(units == 1 for _, units in where)
        assert [node for node, _ in where] == sorted({node for node, _ in where})
        put(free, waiting.job, where, int(plan.starts[job]), waiting.duration)
    assert (free >= 0).all()


ANY_PROBLEM = problems(most_jobs=5) | problems(most_jobs=5).flatmap(with_queues)


@given(ANY_PROBLEM, st.randoms(use_true_random=False))
def test_the_first_answer_starts_all_who_fit_and_nobody_else(problem, chance):
    order = list(range(len(problem.waiting)))
    chance.shuffle(order)
    plan = Machine(problem, problem.waiting).place(order)
    assert plan is not None
    see_that_it_fits(problem, plan)
    assert sorted(plan.order) == sorted(order)
    key = {job: (int(plan.starts[job]), order.index(job)) for job in order}
    assert [key[job] for job in plan.order] == sorted(key.values())
    for job in order:
        free = empty_floor(problem, seconds_of(problem))
        before = list(plan.order[: plan.order.index(job)])
        for instant in range(int(plan.starts[job])):
            # Those who had their nodes when the job was tried.
            while before and key[before[0]] < (instant, order.index(job)):
                other = before.pop(0)
                waiting = problem.waiting[other]
                put(free, waiting.job, where_of(plan, other), int(plan.starts[other]), waiting.duration)
            assert not fits_somewhere(problem, free, problem.waiting[job], instant)


@given(ANY_PROBLEM, st.randoms(use_true_random=False))
def test_a_list_schedule_starts_each_as_early_as_it_can_beside_those_before_it(problem, chance):
    order = list(range(len(problem.waiting)))
    chance.shuffle(order)
    plan = Machine(problem, problem.waiting).put(order)
    assert plan is not None
    see_that_it_fits(problem, plan)
    assert [*plan.order] == order
    free = empty_floor(problem, seconds_of(problem))
    for job in order:
        waiting, start = problem.waiting[job], int(plan.starts[job])
        assert start == next(s for s in range(free.shape[2]) if fits_somewhere(problem, free, waiting, s))
        put(free, waiting.job, where_of(plan, job), start, waiting.duration)


@given(ANY_PROBLEM)
def test_earliest_starts_are_those_of_a_look_at_every_second(problem):
    free = empty_floor(problem, seconds_of(problem))
    found = Machine(problem, problem.waiting).earliest().tolist()
    for waiting, earliest in zip(problem.waiting, found, strict=True):
        assert earliest == next(s for s in range(free.shape[2]) if fits_somewhere(problem, free, waiting, s))


def see_to_best(answer: Answer, best: float, *, always_proven: bool) -> None:
    assert answer.bound <= best + 1e-9
    assert answer.objective >= best - 1e-9
    if always_proven or (answer.result is not None and answer.result.proven):
        assert answer.result is not None
        assert answer.result.proven
    if answer.result is not None or answer.bound == answer.objective:
        assert answer.objective == pytest.approx(best)


@examples(0.5)
@given(problems(), st.booleans(), st.sampled_from(Aim))
def test_pcp14_proves_what_trying_everything_finds(problem, shortcuts, aim):
    answer = Pcp14(aim, composite=False, means=Means(Effort(), shortcuts=shortcuts)).answer(problem, 1)
    see_to_best(answer, LEAST[aim](problem), always_proven=not shortcuts and bool(problem.waiting))
    see_that_starts_fit(problem, answer)


@examples(0.5)
@given(problems(), st.booleans())
def test_pcp19_proves_what_trying_everything_finds(problem, shortcuts):
    answer = Pcp19(means=Means(Effort(), shortcuts=shortcuts)).answer(problem, 1)
    rest = could_start(problem)
    assert sorted(answer.starts) == [job for job, waiting in enumerate(problem.waiting) if waiting in rest.waiting]
    see_to_best(answer, least(rest, slowdown_cost), always_proven=not shortcuts and bool(rest.waiting))
    see_that_starts_fit(problem, answer)


@examples(1)
@given(problems(), st.sampled_from(Aim), st.booleans())
def test_the_fluid_bound_lies_below_the_best(problem, aim, known):
    """Of every aim, whether or not it is known when jobs could start alone."""
    task = Task(problem, tuple(range(len(problem.waiting))), problem.running, problem.horizon - problem.now)
    none = np.zeros(len(task.jobs), dtype=np.int64)
    first = task.machine().earliest() if known else none
    objective = Pcp14._objective(aim, task)
    assert task.least(objective, first) <= LEAST[aim](problem) + 1e-9
    weighted = objectives.slowdown(task.jobs, problem.now)
    assert task.least(weighted, first) <= least(problem, slowdown_cost) + 1e-9


def queue_for_one_group(due: int) -> Problem:
    """Three jobs of 2 s that need all of the one node of group a, beside a node of group b that stands idle."""
    platform = Platform("two", (NodeGroup("a", 1, {"cores": 2}), NodeGroup("b", 1, {"cores": 2})))
    jobs = [Job(number, 10, 10, 10 + due, 2, 1, (2,), 1) for number in range(3)]
    return Problem(platform, 10, (), tuple(Waiting(job, 2) for job in jobs))


def test_the_fluid_bound_is_met_where_a_group_is_full_all_the_time():
    problem = queue_for_one_group(1)
    # They start after 0, 2 and 4 s.
    assert Pcp19(means=Means(most_places=0)).answer(problem, 1).bound == pytest.approx(1 + 2 + 3)
    makespan = Pcp14(composite=False, means=Means(most_places=0)).answer(problem, 1)
    assert (makespan.bound, makespan.objective, makespan.too_large) == (6, 6, True)


def test_whoever_is_due_later_may_cost_nothing_or_be_early_in_the_fluid_bound():
    bounds = []
    for due in (1, 2, 3):
        problem = queue_for_one_group(due)
        answer = Pcp14(Aim.TARDINESS, composite=False, means=Means(most_places=0)).answer(problem, 1)
        assert answer.bound <= least(problem, tardiness_cost)
        bounds.append(answer.bound)
    # Σ (s − due) / due is (0 + 2 + 4 − 3 · 1) / 1 and (6 − 3 · 2) / 2; who is early is not paid for it.
    assert bounds == pytest.approx([3, 0, 0])


@examples(0.3)
@given(problems(most_jobs=5))
def test_answers_of_five_jobs_and_more_are_the_best(problem):
    means = Means(Effort(), shortcuts=False)
    see_to_best(Pcp19(0, means).answer(problem, 1), least(problem, tardiness_cost), always_proven=bool(problem.waiting))


@examples(0.5)
@given(problems(most_jobs=5), st.sampled_from([Pcp14(), Pcp14(Aim.LATE), *(Pcp19(version) for version in range(4))]))
def test_the_same_again_and_never_worse_than_the_first(problem, model: Model):
    one, two = model.answer(problem, 3), model.answer(problem, 3)
    assert one.starts == two.starts
    assert (one.objective, one.bound, one.deterministic_s) == (two.objective, two.bound, two.deterministic_s)
    see_that_starts_fit(problem, one)


@examples(0.5)
@given(problems(most_jobs=5), st.booleans())
def test_what_the_solver_finds_fits_on_nodes_and_takes_a_whole_hint(problem, hinted):
    by_arrival = sorted(problem.waiting, key=lambda waiting: (waiting.job.submit, waiting.job.number))
    problem = replace(problem, waiting=tuple(by_arrival))
    task = Task(problem, tuple(range(len(by_arrival))), problem.running, problem.horizon - problem.now)
    objective = objectives.slowdown(task.jobs, problem.now)
    hint = task.machine().place(range(len(task.jobs)))
    assert hint is not None
    shares = task.shares(1000)
    assert shares is not None
    built = build(task, shares, objective, (), np.zeros(len(task.jobs), np.int64), hint if hinted else None)
    proto = built.model.proto
    if hinted:
        assert sorted(proto.solution_hint.vars) == list(range(len(proto.variables)))
    solved, _ = search(built.model, Effort(), 1)
    plan = built.read(solved)
    see_that_it_fits(problem, plan)
    assert objective.value(plan.starts) <= objective.value(hint.starts) + 1e-9
    if hinted:
        for variable, value in zip(list(proto.solution_hint.vars), list(proto.solution_hint.values), strict=True):
            built.model.add(built.model.get_int_var_from_proto_index(variable) == value)
        again, _ = search(built.model, Effort(), 1)
        see_that_it_fits(problem, built.read(again))
        assert built.read(again).starts.tolist() == hint.starts.tolist()
