"""The models on nodes and the answer that comes first, also of jobs of any shape, against trying everything."""

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
    fits_somewhere,
    is_as_asked,
    is_open,
    late_cost,
    least,
    least_makespan,
    placements_of,
    problems,
    put,
    put_so,
    queue_cost,
    seconds_of,
    see_that_starts_fit,
    slowdown_cost,
    tardiness_cost,
    with_queues,
    with_shapes,
)
from kit.effort import examples

from dardis.dispatch.cp import objectives, pool_relaxation
from dardis.dispatch.cp.decision_problem import BlockedCapacity, Decision, DecisionModel, DecisionProblem, WaitingJob
from dardis.dispatch.cp.eurora_scheduler import Eurora
from dardis.dispatch.cp.eurora_scheduler import EuroraLimits as MeansOfEurora
from dardis.dispatch.cp.first_answer import JobWork, NodePlan, ProblemMachine, least_end
from dardis.dispatch.cp.node_model import Subproblem, build
from dardis.dispatch.cp.pcp_nodes import Aim, NodeModelLimits, Pcp14, Pcp19
from dardis.dispatch.cp.pool_relaxation import raised_pools
from dardis.dispatch.cp.search_effort import Effort, search
from dardis.model.job import FOREVER

POOLS = NodeModelLimits(most_places=0, pools=True)
MODELS = [Pcp14(), Pcp14(Aim.LATE), Pcp14(search_limits=POOLS), *(Pcp19(version) for version in range(4))]
SHAPED = problems(most_jobs=3).flatmap(with_shapes)
CLOSED = problems(most_jobs=3).flatmap(with_shapes).flatmap(with_queues)
LEAST = {
    Aim.MAKESPAN: least_makespan,
    Aim.TARDINESS: lambda problem: least(problem, tardiness_cost),
    Aim.LATE: lambda problem: least(problem, late_cost),
}


def where_of(plan: NodePlan, job: int) -> tuple[tuple[int, int], ...]:
    ((nodes, units),) = plan.where[job][1]
    return tuple(zip(nodes.tolist(), units.tolist(), strict=True))


def see_that_it_fits(problem: DecisionProblem, plan: NodePlan) -> None:
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


def could_begin(problem: DecisionProblem, free: np.ndarray, waiting: WaitingJob, start: int) -> bool:
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


ANY_PROBLEM = problems(most_jobs=5) | problems(most_jobs=5).flatmap(with_queues)


@given(ANY_PROBLEM, st.randoms(use_true_random=False))
def test_first_answer_starts_exactly_the_jobs_that_fit(problem, chance):
    order = list(range(len(problem.waiting)))
    chance.shuffle(order)
    plan = ProblemMachine(problem, problem.waiting).start_or_postpone(order)
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
def test_list_schedule_starts_each_job_as_early_as_possible(problem, chance):
    order = list(range(len(problem.waiting)))
    chance.shuffle(order)
    plan = ProblemMachine(problem, problem.waiting).start_in_turn(order)
    assert plan is not None
    see_that_it_fits(problem, plan)
    assert [*plan.order] == order
    free = empty_floor(problem, seconds_of(problem))
    for job in order:
        waiting, start = problem.waiting[job], int(plan.starts[job])
        assert start == next(s for s in range(free.shape[2]) if fits_somewhere(problem, free, waiting, s))
        put(free, waiting.job, where_of(plan, job), start, waiting.duration)


def see_to_best(answer: Decision, best: float, *, always_proven: bool) -> None:
    assert answer.bound <= best + 1e-9
    assert answer.objective >= best - 1e-9
    if always_proven or (answer.result is not None and answer.result.proven):
        assert answer.result is not None
        assert answer.result.proven
    if answer.result is not None or answer.bound == answer.objective:
        assert answer.objective == pytest.approx(best)


@examples(1)
@given(problems() | SHAPED, st.booleans(), st.sampled_from(Aim), st.booleans())
def test_pcp14_optimum_equals_exhaustive_search(problem, shortcuts, aim, pools):
    limits = NodeModelLimits(Effort(), 0 if pools else 1500, shortcuts, pools)
    answer, best = Pcp14(aim, composite=False, search_limits=limits).decide(problem, 1), LEAST[aim](problem)
    if pools and answer.result is not None and not answer.result.proven:
        assert answer.bound - 1e-9 <= best <= answer.objective + 1e-9
    else:
        see_to_best(answer, best, always_proven=not (shortcuts or pools) and bool(problem.waiting))
    plain = Pcp14(aim, composite=False, search_limits=replace(limits, pools=False)).decide(problem, 1)
    assert not pools or (answer.too_large, answer.objective <= plain.objective) == (False, True)
    see_that_starts_fit(problem, answer)


@examples(1)
@given(problems() | SHAPED, st.booleans(), st.sampled_from([None, 0]))
def test_pcp19_optimum_equals_exhaustive_search(problem, shortcuts, version):
    free = empty_floor(problem, seconds_of(problem))
    means = NodeModelLimits(Effort(), shortcuts=shortcuts)
    if version == 0:
        answer, rest, cost = Pcp19(0, means).decide(problem, 1), problem, tardiness_cost
    else:
        could = [job for job, waiting in enumerate(problem.waiting) if could_begin(problem, free, waiting, 0)]
        answer, cost = Pcp19(search_limits=means).decide(problem, 1), slowdown_cost
        assert sorted(answer.starts) == could
        rest = replace(problem, waiting=tuple(problem.waiting[job] for job in could))
    see_to_best(answer, least(rest, cost), always_proven=not shortcuts and bool(rest.waiting))
    see_that_starts_fit(problem, answer)


@examples(1)
@given(problems() | SHAPED, st.sampled_from(Aim), st.booleans())
def test_fluid_bound_is_at_most_the_optimum(problem, aim, known):
    task = Subproblem(problem, tuple(range(len(problem.waiting))), problem.running, problem.horizon - problem.now)
    first = task.machine().earliest() if known else np.zeros(len(task.jobs), dtype=np.int64)
    assert (first < FOREVER).all()
    objective, pools = Pcp14._objective(aim, task), list(raised_pools(task))
    best = LEAST[aim](problem) + 1e-9
    assert max(task.least(objective, first), pool_relaxation.least(task, pools, objective, first)) <= best
    weighted = objectives.slowdown(task.jobs, problem.now)
    assert task.least(weighted, first) <= least(problem, slowdown_cost) + 1e-9


@examples(0.5)
@given(CLOSED, st.booleans())
def test_eurora_optimum_equals_exhaustive_search(problem, shortcuts):
    answer = Eurora(MeansOfEurora(shortcuts=shortcuts)).decide(problem, 1)
    best = Search(problem, queue_cost(problem.platform), lambda a, b: a + b).run()
    assert sorted(answer.starts) == [*range(len(problem.waiting))]
    assert answer.bound <= best + 1e-9
    assert answer.objective >= best - 1e-9
    if answer.result is not None:
        assert answer.objective == pytest.approx(best)
    see_that_starts_fit(problem, answer)


@examples(0.5)
@given(CLOSED, st.data(), st.booleans(), st.sampled_from(["pcp14", "eurora"]))
def test_job_that_remaining_nodes_never_hold_is_left_out_of_the_plan(problem, data, shortcuts, name):
    node = data.draw(st.integers(0, problem.platform.node_count - 1))
    failed = BlockedCapacity(node, problem.now - 1, FOREVER, tuple(problem.platform.capacity[node].tolist()))
    blocked = (*(block for block in problem.blocked if block.node != node), failed)
    problem = replace(problem, blocked=blocked, running=tuple(one for one in problem.running if node not in one.nodes))
    left = problem.platform.capacity[:, :, None].copy()
    left[node] = 0
    could = {
        job for job, one in enumerate(problem.waiting) if any(fits_so(left, w, 0) for w in placements_of(problem, one))
    }
    if name == "pcp14":
        problem = replace(problem, keeps_hours=False)
        cost = tardiness_cost
        limits = NodeModelLimits(Effort(), shortcuts=shortcuts)
        answer = Pcp14(Aim.TARDINESS, composite=False, search_limits=limits).decide(problem, 1)
    else:
        cost = queue_cost(problem.platform)
        answer = Eurora(MeansOfEurora(shortcuts=shortcuts)).decide(problem, 1)
    assert could >= answer.starts.keys()
    for job in could.difference(answer.starts):  # orders of parts are tried as on the whole machine
        assert all(len(request.parts) > 1 for _, request in problem.waiting[job].requests)
    planned = replace(problem, waiting=tuple(problem.waiting[job] for job in sorted(answer.starts)))
    best = Search(planned, cost, lambda a, b: a + b).run() if answer.starts else 0
    assert answer.bound <= best + 1e-9 or not answer.starts
    if answer.starts and answer.result is not None:
        assert answer.objective == pytest.approx(best)
    see_that_starts_fit(problem, answer)


@examples(0.5)
@given(problems(most_jobs=5), st.sampled_from(MODELS))
def test_answer_is_repeatable_and_never_worse_than_the_first(problem, model: DecisionModel):
    one, two = model.decide(problem, 3), model.decide(problem, 3)
    assert one.starts == two.starts
    assert (one.objective, one.bound, one.deterministic_s) == (two.objective, two.bound, two.deterministic_s)
    see_that_starts_fit(problem, one)


@examples(0.5)
@given(problems(most_jobs=5), st.booleans())
def test_solver_solution_fits_on_nodes_and_accepts_a_complete_hint(problem, hinted):
    by_arrival = sorted(problem.waiting, key=lambda waiting: (waiting.job.submit, waiting.job.number))
    problem = replace(problem, waiting=tuple(by_arrival))
    task = Subproblem(problem, tuple(range(len(by_arrival))), problem.running, problem.horizon - problem.now)
    objective = objectives.slowdown(task.jobs, problem.now)
    hint = task.machine().start_or_postpone(range(len(task.jobs)))
    assert hint is not None
    shares = task.node_candidates(1000)
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


def test_fluid_bound_of_work_that_ends_as_a_closed_span_begins():
    time, free = np.array([0, 5, 8, 9]), np.array([[0], [1], [0], [1]])
    assert least_end(JobWork(np.array([3]), np.array([[1]]), time, free)) == 8
