"""Models over nodes on jobs with parts, exact or neighbouring nodes and alternatives, against trying everything."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.cp_brute_force import (
    Search,
    allotments,
    empty_floor,
    fits,
    fits_so,
    is_as_asked,
    is_open,
    late_cost,
    least,
    least_makespan,
    problems,
    put_so,
    queue_cost,
    seconds_of,
    see_that_starts_fit,
    slowdown_cost,
    tardiness_cost,
    ways_of,
    with_queues,
    with_shapes,
)
from kit.effort import examples

from dardis.dispatch.cp.eurora import Eurora
from dardis.dispatch.cp.eurora import Means as MeansOfEurora
from dardis.dispatch.cp.first import Machine, Plan
from dardis.dispatch.cp.node_model import Task
from dardis.dispatch.cp.nodes import Aim, Means, Pcp14, Pcp19
from dardis.dispatch.cp.objectives import slowdown
from dardis.dispatch.cp.problem import Blocked, Problem, Waiting
from dardis.dispatch.cp.search import Effort
from dardis.model.job import FOREVER

SHAPED = problems(most_jobs=3).flatmap(with_shapes)
CLOSED = problems(most_jobs=3).flatmap(with_shapes).flatmap(with_queues)
LEAST = {
    Aim.MAKESPAN: least_makespan,
    Aim.TARDINESS: lambda problem: least(problem, tardiness_cost),
    Aim.LATE: lambda problem: least(problem, late_cost),
}


def see_that_it_fits(problem: Problem, plan: Plan) -> None:
    """All jobs are run as they ask to be, and beside one another."""
    free = empty_floor(problem, seconds_of(problem))
    for waiting, start, (taken, parts) in zip(problem.waiting, plan.starts.tolist(), plan.where, strict=True):
        request = dict(waiting.requests)[taken]
        placed = []
        for part, (nodes, units) in zip(request.parts, parts, strict=True):
            where = tuple(zip(nodes.tolist(), units.tolist(), strict=True))
            assert sum(units.tolist()) == part.units
            assert is_as_asked(part, where, contiguous=request.contiguous)
            assert all(part.groups >> int(problem.platform.group_of_node[node]) & 1 for node, _ in where)
            assert not problem.distinct or all(count == 1 for _, count in where)
            placed.append((part, where))
        assert is_open(problem, waiting.job, start)
        put_so(free, (request.walltime, tuple(placed)), start)
    assert (free >= 0).all()


def could_begin(problem: Problem, free: np.ndarray, waiting: Waiting, start: int) -> bool:
    """Whether each part of one of its requests finds nodes then, the others away."""
    return is_open(problem, waiting.job, start) and any(
        all(
            any(
                is_as_asked(part, where, contiguous=request.contiguous)
                and fits(free, part, where, start, request.walltime)
                for where in allotments(problem, part)
            )
            for part in request.parts
        )
        for _, request in waiting.requests
    )


@given(SHAPED | CLOSED, st.randoms(use_true_random=False))
def test_both_first_answers_fit(problem, chance):
    order = list(range(len(problem.waiting)))
    chance.shuffle(order)
    for how in (Machine.place, Machine.put):
        plan = how(Machine(problem, problem.waiting), order)
        assert plan is not None
        see_that_it_fits(problem, plan)
    assert [*plan.order] == order


@given(SHAPED | CLOSED)
def test_earliest_starts_are_those_of_a_look_at_every_second(problem):
    free = empty_floor(problem, seconds_of(problem))
    found = Machine(problem, problem.waiting).earliest().tolist()
    for waiting, earliest in zip(problem.waiting, found, strict=True):
        first = next(s for s in range(free.shape[2]) if could_begin(problem, free, waiting, s))
        assert earliest == first
        whole = next(
            s
            for s in range(free.shape[2])
            if is_open(problem, waiting.job, s) and any(fits_so(free, way, s) for way in ways_of(problem, waiting))
        )
        assert earliest <= whole
        if all(len(request.parts) == 1 for _, request in waiting.requests):
            assert earliest == whole


@examples(0.5)
@given(SHAPED, st.booleans(), st.sampled_from(Aim))
def test_pcp14_proves_what_trying_everything_finds(problem, shortcuts, aim):
    answer = Pcp14(aim, composite=False, means=Means(Effort(), shortcuts=shortcuts)).answer(problem, 1)
    best = LEAST[aim](problem)
    assert answer.bound <= best + 1e-9
    if problem.waiting and not shortcuts:
        assert answer.result is not None
        assert answer.result.proven
    if answer.result is not None or answer.bound == answer.objective:
        assert answer.objective == pytest.approx(best)
    see_that_starts_fit(problem, answer)


@examples(0.5)
@given(SHAPED, st.booleans())
def test_pcp19_proves_what_trying_everything_finds(problem, shortcuts):
    free = empty_floor(problem, seconds_of(problem))
    could = [job for job, waiting in enumerate(problem.waiting) if could_begin(problem, free, waiting, 0)]
    answer = Pcp19(means=Means(Effort(), shortcuts=shortcuts)).answer(problem, 1)
    assert sorted(answer.starts) == could
    best = least(replace(problem, waiting=tuple(problem.waiting[job] for job in could)), slowdown_cost)
    assert answer.bound <= best + 1e-9
    if answer.result is not None or answer.bound == answer.objective:
        assert answer.objective == pytest.approx(best)
    see_that_starts_fit(problem, answer)


@examples(0.5)
@given(CLOSED, st.booleans())
def test_the_eurora_scheduler_proves_what_trying_everything_finds(problem, shortcuts):
    """T equation 4.7: all parts start together."""
    answer = Eurora(MeansOfEurora(shortcuts=shortcuts)).answer(problem, 1)
    best = Search(problem, queue_cost(problem.platform), lambda a, b: a + b).run()
    assert sorted(answer.starts) == [*range(len(problem.waiting))]
    assert answer.bound <= best + 1e-9
    assert answer.objective >= best - 1e-9
    if answer.result is not None:
        assert answer.objective == pytest.approx(best)
    see_that_starts_fit(problem, answer)


@examples(0.5)
@given(CLOSED, st.data(), st.booleans(), st.sampled_from(["pcp14", "eurora"]))
def test_whom_the_nodes_that_are_left_never_hold_is_left_out_and_the_others_are_planned(problem, data, shortcuts, name):
    """A node has failed, and others may have less for ever; whoever of one part could still run is there."""
    node = data.draw(st.integers(0, problem.platform.node_count - 1))
    failed = Blocked(node, problem.now - 1, FOREVER, tuple(problem.platform.capacity[node].tolist()))
    blocked = (*(block for block in problem.blocked if block.node != node), failed)
    problem = replace(problem, blocked=blocked, running=tuple(one for one in problem.running if node not in one.nodes))
    left = problem.platform.capacity[:, :, None].copy()
    left[node] = 0
    could = {job for job, one in enumerate(problem.waiting) if any(fits_so(left, w, 0) for w in ways_of(problem, one))}
    if name == "pcp14":
        problem = replace(problem, keeps_hours=False)
        cost = tardiness_cost
        answer = Pcp14(Aim.TARDINESS, composite=False, means=Means(Effort(), shortcuts=shortcuts)).answer(problem, 1)
    else:
        cost = queue_cost(problem.platform)
        answer = Eurora(MeansOfEurora(shortcuts=shortcuts)).answer(problem, 1)
    assert could >= answer.starts.keys()
    for job in could.difference(answer.starts):  # orders of parts are tried as on the whole machine
        assert all(len(request.parts) > 1 for _, request in problem.waiting[job].requests)
    planned = replace(problem, waiting=tuple(problem.waiting[job] for job in sorted(answer.starts)))
    best = Search(planned, cost, lambda a, b: a + b).run() if answer.starts else 0
    assert answer.bound <= best + 1e-9 or not answer.starts
    if answer.starts and answer.result is not None:
        assert answer.objective == pytest.approx(best)
    see_that_starts_fit(problem, answer)


@examples(1)
@given(SHAPED, st.booleans())
def test_the_fluid_bound_lies_below_the_best(problem, known):
    task = Task(problem, tuple(range(len(problem.waiting))), problem.running, problem.horizon - problem.now)
    first = task.machine().earliest() if known else np.zeros(len(task.jobs), dtype=np.int64)
    assert (first < FOREVER).all()
    assert task.least(slowdown(task.jobs, problem.now), first) <= least(problem, slowdown_cost) + 1e-9
