"""The thesis's searches that need no solver (6.6, 6.7.1, 6.7.3): the heuristic, multi-search and delay search."""

from __future__ import annotations

from dataclasses import replace

from dardis.model.series import Ints
from offline.planner.board import Board
from offline.planner.budget import Budget, Watch
from offline.planner.money import rank_of
from offline.planner.orders import all_orders, order_of
from offline.planner.problem import Plan, Problem

DELAY_S = 3600
"""How much later delay search tries a job each time; the thesis does not say."""


def in_order(problem: Problem, order: Ints) -> Board:
    """Algorithm 5: place the jobs one by one, each at the earliest start that those before it leave free."""
    board = Board(problem)
    for job in order.tolist():
        board.put(job)
    return board


def plan_of(problem: Problem, board: Board, search: str) -> Plan:
    """The jobs of a board, all of them placed, as a plan with its exact profit."""
    return Plan(board.start, *board.nodes(), rank_of(problem, board.start)[1], search)


def heuristic(problem: Problem) -> Plan:
    """The thesis's first solution: algorithm 5 in order of earliest starts."""
    return plan_of(problem, in_order(problem, order_of(problem, "earliest start")), "heuristic")


def multi_search(problem: Problem, watch: Watch) -> tuple[Plan, Ints]:
    """Algorithm 6: the best that the heuristic makes of all orders, and its order. At least one order is tried."""
    best, order, rank = heuristic(problem), order_of(problem, "earliest start"), -float("inf")
    with watch.interruptible():
        for name, jobs in all_orders(problem).items():
            if watch.over():
                break
            board = in_order(problem, jobs)
            found = rank_of(problem, board.start)[0]
            if found > rank:
                best, order, rank = plan_of(problem, board, f"multi-search, {name}"), jobs, found
            watch.progress(f"multi-search, {name}", best.profit, None)
    return replace(best, stopped_by=watch.stopped_by), order


def delay_search(problem: Problem, budget: Budget, watch: Watch) -> Plan:
    """Algorithm 7: delay the jobs of the best order, the last one first, each again and again up to the horizon.

    A job that has got there is fixed where the best plan has it. An iteration is one run of the heuristic.
    """
    best, order = multi_search(problem, watch)
    rank = rank_of(problem, best.start)[0]
    fixed: list[int] = []
    left = budget.iterations
    with watch.interruptible():
        for job in order[::-1].tolist():
            for first in range(int(best.start[job]) + DELAY_S, problem.horizon + 1, DELAY_S):
                if left == 0 or watch.over():
                    return replace(best, stopped_by=watch.stopped_by)
                board = _delayed(problem, order, best, fixed, job, first)
                found = rank_of(problem, board.start)[0]
                if found > rank:
                    rank, best = found, plan_of(problem, board, "delay search")
                left -= 1
                watch.progress(f"delay search, {left} runs left", best.profit, None)
            fixed.append(job)
    return replace(best, stopped_by=watch.stopped_by)


def _delayed(problem: Problem, order: Ints, best: Plan, fixed: list[int], late: int, first: int) -> Board:
    """The heuristic with some jobs fixed where they are in a plan, and one that does not start before `first`."""
    board = Board(problem)
    board.keep_all(best, fixed)
    settled = set(fixed)
    for job in order.tolist():
        if job not in settled:
            board.put(job, first if job == late else None)
    return board
