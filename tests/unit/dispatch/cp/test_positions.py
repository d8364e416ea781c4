from __future__ import annotations

from math import inf

import numpy as np
from kit import positions_reference as reference
from kit.position_problems import NOW, machine, running, waiting

from dardis.dispatch.cp.positions.lines import Lines
from dardis.dispatch.cp.positions.pcp20 import Pcp20
from dardis.dispatch.cp.positions.plan import first_plan
from dardis.dispatch.cp.positions.taken import Taken
from dardis.dispatch.cp.problem import Blocked, Problem
from dardis.dispatch.cp.search import Effort

PATIENT = Effort(first_s=30.0, longest_s=30.0)


def problem_of(platform, held=(), jobs=(), blocked=()) -> Problem:
    return Problem(platform, NOW, tuple(held), tuple(jobs), tuple(blocked))


def fragmented(capacity: int, at: int, *requests: int) -> Problem:
    """One node, one core of it in use for 5 s, and jobs of a second each."""
    held = running(9, 5, 0, (1, 0), (at, -1))
    return problem_of(machine((1, capacity, 0)), [held], [waiting(i, 1, r, 0) for i, r in enumerate(requests)])


def by_amounts(problem: Problem) -> float:
    return reference.best(problem, list(range(len(problem.waiting))), by_amounts=True)


def test_who_is_kept_out_by_a_core_in_the_middle():
    """The smallest machine where free room in pieces keeps a job waiting that amounts would let start."""
    problem = fragmented(3, 1, 2)
    assert by_amounts(problem) == 1.0
    answer = Pcp20().answer(problem, 1)
    assert answer.starts == {}
    assert answer.result is None


def test_running_jobs_without_positions_get_the_lowest_free_ones_in_the_order_of_their_numbers():
    known = running(3, 9, 0, (2, 0), (1, -1))
    one, other = running(2, 5, 0, (1, 1), None), running(1, 7, 0, (3, 1), None)
    taken = Taken.of_problem(problem_of(machine((1, 8, 2)), [one, known, other]))
    assert sorted(taken.rows.tolist()) == [
        [0, 0, 0, 1, 0, 5],
        [0, 0, 1, 3, 0, 9],
        [0, 0, 3, 6, 0, 7],
        [0, 1, 0, 1, 0, 7],
        [0, 1, 1, 2, 0, 5],
    ]


def test_in_pieces_where_too_few_are_free_in_a_row():
    known = running(1, 9, 0, (2, 0), (1, -1))
    taken = Taken.of_problem(problem_of(machine((1, 4, 0)), [known, running(2, 5, 0, (2, 0), None)]))
    assert sorted(taken.rows.tolist()) == [[0, 0, 0, 1, 0, 5], [0, 0, 1, 3, 0, 9], [0, 0, 3, 4, 0, 5]]


def test_what_is_blocked_takes_the_highest_and_first_those_that_are_free_throughout():
    held = running(1, 6, 0, (2, 0), (2, -1))
    blocked = [Blocked(0, NOW + 5, NOW + 9, (3, 0))]
    taken = Taken.of_problem(problem_of(machine((1, 4, 0)), [held], blocked=blocked))
    assert sorted(taken.rows.tolist()) == [[0, 0, 0, 2, 5, 9], [0, 0, 2, 4, 0, 6], [0, 0, 3, 4, 6, 9]]


def test_an_answer_goes_on_where_the_last_one_left_off():
    problem = problem_of(machine((2, 4, 1), (1, 6, 2)), jobs=[waiting(1, 5, 2, 1, units=3), waiting(2, 5, 3, 0)])
    answer = Pcp20().answer(problem, 1)
    assert answer.starts == {0: NOW, 1: NOW}
    ((nodes, units),) = answer.where[0][1]
    assert (nodes.tolist(), units.tolist()) == ([1, 2], [1, 2])
    # Cores of the nodes begin at 0, 4 and 8, GPUs at 0, 1 and 2.
    assert answer.positions[0].tolist() == [[6, 10, 12], [1, 2, 3]]
    assert answer.positions[1].tolist() == [[1], [-1]]
    held = running(1, 5, 0, (3, 0), tuple(answer.positions[1][:, 0].tolist()))
    assert Taken.of_problem(problem_of(problem.platform, [held])).rows.tolist() == [[0, 0, 1, 4, 0, 5]]


def test_variables_are_counted_as_003_does_and_only_who_fits_now_is_in_the_model():
    jobs = [waiting(1, 5, 2, 0, units=2), waiting(2, 7, 3, 1), waiting(3, 9, 5, 0), waiting(4, 3, 4, 1)]
    problem = problem_of(machine((1, 4, 1), (1, 3, 0)), jobs=jobs)
    assert sorted(first_plan(problem, Taken.of_problem(problem))) == [0, 1, 3]
    # A start each, and for two kinds two, one and one positions.
    assert Pcp20(PATIENT).answer(problem, 1).variables == 3 + 2 * 4


def test_of_a_model_that_is_too_large_the_kernels_plan_stands():
    problem = fragmented(5, 3, 2, 2)
    answer = Pcp20(most_boxes=2).answer(problem, 1)
    assert answer.too_large
    assert answer.result is None
    assert answer.starts == {0: NOW, 1: NOW + 1}
    assert (answer.objective, answer.bound) == (3.0, 2.0)
    assert not Pcp20(PATIENT, most_boxes=3).answer(problem, 1).too_large


def test_without_shortcuts_nobody_starts_where_nothing_is_found():
    jobs = [waiting(i, 50 + i, 2, 1, units=3) for i in range(30)]
    hasty = Pcp20(Effort(first_s=1e-9, longest_s=1e-9, conflicts=0, presolve=False), shortcuts=False)
    answer = hasty.answer(problem_of(machine((9, 4, 2)), jobs=jobs), 1)
    assert answer.result is not None
    assert (answer.starts, answer.objective) == ({}, inf)
    # Not all can start at once, whatever the solver knows.
    assert 30.0 < answer.bound <= Pcp20().answer(problem_of(machine((9, 4, 2)), jobs=jobs), 1).objective


def test_amounts_are_counted_in_what_divides_them_all():
    jobs = [waiting(1, 5, 2, 6 * 1024), waiting(2, 5, 2, 4 * 1024)]
    problem = problem_of(machine((1, 4, 16 * 1024), (2, 8, 16 * 1024)), jobs=jobs)
    lines = Lines(problem, Taken.of_problem(problem), [each.job for each in jobs])
    assert lines.request(jobs[0].job).tolist() == [1, 3]
    assert lines.rows(jobs[0].job) == [(0, 0), (1, 2)]
    assert [lines.map(0, row) for row in lines.rows(jobs[0].job)] == [(2, 0), (4, -2)]
    assert lines.total.tolist() == [10, 24]
    node, offset = lines.place(0, np.array([1, 2, 7, 9]))
    assert (node.tolist(), offset.tolist()) == ([0, 1, 2, 2], [2, 0, 2, 6])
    assert lines.position(0, node, offset).tolist() == [1, 2, 7, 9]
