"""The thesis's greedy searches (6.6, 6.7.1): the heuristic, and multi-search, which tries it in every order."""

from __future__ import annotations

from dataclasses import replace

from dardis.model.arrays import Ints
from offline.planner.budget import Watch
from offline.planner.money import rank_of
from offline.planner.orders import all_orders, order_of
from offline.planner.packing import Packing
from offline.planner.problem import Plan, Problem


def in_order(problem: Problem, order: Ints) -> Packing:
    """Algorithm 5: place the jobs one by one, each at the earliest start that those before it leave free."""
    packing = Packing(problem)
    for job in order.tolist():
        packing.put(job)
    return packing


def plan_of(problem: Problem, packing: Packing, search: str) -> Plan:
    """The jobs of a packing, all of them placed, as a plan with its exact profit."""
    return Plan(packing.start, packing.placed(), rank_of(problem, packing.start)[1], search)


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
            packing = in_order(problem, jobs)
            found = rank_of(problem, packing.start)[0]
            if found > rank:
                best, order, rank = plan_of(problem, packing, f"multi-search, {name}"), jobs, found
            watch.progress(f"multi-search, {name}", best.profit, None)
    return replace(best, stopped_by=watch.stopped_by), order
