from __future__ import annotations

from dataclasses import replace

import pytest
from kit import positions_reference as reference
from kit.position_problems import NOW, machine, running, waiting

from dardis.dispatch.cp.decision_problem import BlockedCapacity, DecisionProblem
from dardis.dispatch.cp.pcp_nodes import Pcp19
from dardis.dispatch.cp.pools import Hcp19
from dardis.dispatch.cp.positions.fixed_boxes import FixedBoxes
from dardis.dispatch.cp.positions.pcp20 import Pcp20
from dardis.dispatch.cp.search_effort import Effort
from dardis.model.job import FOREVER
from dardis.solver.result import SolverStatus

PATIENT = Effort(first_s=30.0, longest_s=30.0)


def problem_of(platform, held=(), jobs=(), blocked=()) -> DecisionProblem:
    return DecisionProblem(platform, NOW, tuple(held), tuple(jobs), tuple(blocked))


def fragmented(capacity: int, at: int, *requests: int) -> DecisionProblem:
    """One node, one core of it in use for 5 s, and jobs of a second each."""
    held = running(9, 5, 0, (1, 0), (at, -1))
    return problem_of(machine((1, capacity, 0)), [held], [waiting(i, 1, r, 0) for i, r in enumerate(requests)])


def by_amounts(problem: DecisionProblem) -> float:
    return reference.best(problem, list(range(len(problem.waiting))), by_amounts=True)


def test_fragmentation_blocks_a_job_by_one_core():
    problem = fragmented(3, 1, 2)
    assert by_amounts(problem) == 1.0
    answer = Pcp20().decide(problem, 1)
    assert answer.starts == {}
    assert answer.result is None


@pytest.mark.parametrize("model", [Pcp20(PATIENT), *map(Pcp19, range(4)), *map(Hcp19, range(4))], ids=str)
def test_node_closed_for_ever_holds_no_job(model):
    closed = BlockedCapacity(1, NOW, FOREVER, (4, 0))
    jobs = [waiting(1, 100, 3, 0, submit=NOW - 10_000), waiting(2, 10, 2, 0), waiting(3, 10, 2, 0)]
    jobs = [replace(one, job=replace(one.job, latest=one.job.submit + 50)) for one in jobs]
    answer = model.decide(problem_of(machine((2, 4, 0)), jobs=jobs, blocked=[closed]), 1)
    assert NOW in answer.starts.values()
    places = (answer.where or {}).values()
    assert all(nodes.tolist() == [0] for _, parts in places for nodes, _ in parts)


def test_the_smallest_optimum_that_pieces_make_worse():
    problem = fragmented(5, 3, 2, 2)
    answer = Pcp20(PATIENT).decide(problem, 1)
    assert (by_amounts(problem), answer.objective) == (2.0, 3.0)
    assert answer.objective == reference.best(problem, [0, 1])
    assert answer.result.status is SolverStatus.OPTIMAL


def test_job_is_split_where_too_few_adjacent_positions_are_free():
    known = running(1, 9, 0, (2, 0), (1, -1))
    taken = FixedBoxes.of_problem(problem_of(machine((1, 4, 0)), [known, running(2, 5, 0, (2, 0), None)]))
    assert sorted(taken.rows.tolist()) == [[0, 0, 0, 1, 0, 5], [0, 0, 1, 3, 0, 9], [0, 0, 3, 4, 0, 5]]


def test_positions_of_running_jobs_are_kept_for_the_next_decision():
    problem = problem_of(machine((2, 4, 1), (1, 6, 2)), jobs=[waiting(1, 5, 2, 1, units=3), waiting(2, 5, 3, 0)])
    answer = Pcp20().decide(problem, 1)
    assert answer.starts == {0: NOW, 1: NOW}
    ((nodes, units),) = answer.where[0][1]
    assert (nodes.tolist(), units.tolist()) == ([1, 2], [1, 2])
    # Cores of the nodes begin at 0, 4 and 8, GPUs at 0, 1 and 2.
    assert answer.positions[0].tolist() == [[6, 10, 12], [1, 2, 3]]
    assert answer.positions[1].tolist() == [[1], [-1]]
    held = running(1, 5, 0, (3, 0), tuple(answer.positions[1][:, 0].tolist()))
    assert FixedBoxes.of_problem(problem_of(problem.platform, [held])).rows.tolist() == [[0, 0, 1, 4, 0, 5]]
