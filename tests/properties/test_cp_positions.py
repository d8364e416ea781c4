from __future__ import annotations

import numpy as np
import pytest
from kit import positions_reference as reference
from kit.position_problems import random_problem

from dardis.dispatch.cp.decision_problem import Decision, DecisionProblem
from dardis.dispatch.cp.positions.fixed_boxes import FixedBoxes, first_positions
from dardis.dispatch.cp.positions.lines import first_plan
from dardis.dispatch.cp.positions.pcp20 import Pcp20
from dardis.dispatch.cp.search_effort import Effort

PATIENT = Effort(first_s=30.0, longest_s=30.0)
SEEDS = range(120)


def models(problem: DecisionProblem) -> list[int]:
    return [place for place in range(len(problem.waiting)) if reference.fits_now(problem, place)]


def value(problem: DecisionProblem, starts: dict[int, int]) -> float:
    jobs = problem.waiting
    return sum((s - jobs[p].job.submit + jobs[p].duration) / jobs[p].duration for p, s in starts.items())


def assert_placed(problem: DecisionProblem, answer: Decision) -> None:
    """Who starts now is on free positions of his own, within the nodes that he is said to be on."""
    table, base = reference.dense(problem), first_positions(problem.platform)
    begin = {place for place, start in answer.starts.items() if start == problem.now}
    assert set(answer.where) == set(answer.positions) == begin
    for place in begin:
        waiting = problem.waiting[place]
        ((nodes, units),) = answer.where[place][1]
        assert (np.diff(nodes) > 0).all()
        assert units.sum() == waiting.job.units
        assert not problem.distinct or (units == 1).all()
        positions = answer.positions[place]
        assert positions.shape == (len(waiting.job.request), waiting.job.units)
        for unit, node in enumerate(np.repeat(nodes, units).tolist()):
            assert waiting.job.groups >> int(problem.platform.group_of_node[node]) & 1
            for kind, need in enumerate(waiting.job.request):
                if not need:
                    assert positions[kind, unit] == -1
                    continue
                low = int(positions[kind, unit] - base[node, kind])
                cells = table[node, kind][low : low + need, : waiting.duration]
                assert low >= 0
                assert low + need <= problem.platform.capacity[node, kind]
                assert not cells.any()
                cells[:] = True


@pytest.mark.parametrize("seed", SEEDS)
def test_proven_optima_equal_exhaustive_search(seed):
    problem = random_problem(seed)
    places = models(problem)
    best = reference.best(problem, places)
    for shortcuts in (True, False):
        answer = Pcp20(PATIENT, shortcuts=shortcuts).decide(problem, 1)
        assert sorted(answer.starts) == places
        assert answer.objective == pytest.approx(best)
        assert answer.bound == pytest.approx(best)
        assert answer.bound <= answer.objective
        assert value(problem, answer.starts) == pytest.approx(answer.objective)
        assert answer.variables == len(places) + 2 * sum(problem.waiting[place].job.units for place in places)
        assert_placed(problem, answer)


@pytest.mark.parametrize("seed", SEEDS)
def test_kernel_plan_equals_a_search_second_by_second(seed):
    problem = random_problem(seed, most_jobs=6)
    plan = first_plan(problem, FixedBoxes.of_problem(problem))
    found = {
        place: (placed.start, list(zip(placed.nodes.tolist(), map(tuple, placed.offsets.tolist()), strict=True)))
        for place, placed in plan.items()
    }
    assert found == reference.list_plan(problem)


@pytest.mark.parametrize("seed", SEEDS)
def test_bounds_are_valid_and_answers_no_worse_than_the_kernel(seed):
    problem = random_problem(seed)
    plan = first_plan(problem, FixedBoxes.of_problem(problem))
    ours = value(problem, {place: problem.now + placed.start for place, placed in plan.items()})
    best = reference.best(problem, list(plan))
    answer = Pcp20(Effort(first_s=1e-4, longest_s=1e-4, conflicts=1)).decide(problem, 1)
    assert answer.bound <= best + 1e-9
    assert best - 1e-9 <= answer.objective <= ours + 1e-9


def test_the_fluid_bound_lies_below_the_best_and_often_above_starting_all_now():
    above = 0
    for seed in SEEDS:
        problem = random_problem(seed)
        answer = Pcp20(most_boxes=0).decide(problem, 1)
        places = models(problem)
        at_once = value(problem, dict.fromkeys(places, problem.now))
        assert at_once - 1e-9 <= answer.bound <= reference.best(problem, places) + 1e-9
        above += answer.too_large and answer.bound > at_once + 1e-9
    assert above > 5
