"""The solver's own search on the thesis's model (its opponent there, 6.4), and the relaxation search (6.7.2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dardis.model.arrays import Floats, Ints
from dardis.solver.cpsat import CpSolution, solve
from dardis.solver.result import Budget, EndReason
from offline.planner.budget import Watch
from offline.planner.cp import model
from offline.planner.day_problem import DayProblem, Plan, StoppedBy
from offline.planner.money import account_of, account_of_running, price_per_j

WORKERS = 8
"""Searches of the solver that take turns: one alone would have no large neighbourhood search."""

STOPPED = {
    EndReason.PROVEN: StoppedBy.OPTIMAL,
    EndReason.BUDGET: StoppedBy.DONE,
    EndReason.GUARD: StoppedBy.TIME,
    EndReason.STOPPED: StoppedBy.USER,
}


ALIKE_C = 5.0
"""Temperatures of a segment lie within this many °C: the step of the thesis's table."""


@dataclass(frozen=True)
class SearchResult:
    """What a search of the model found: `start` (jobs,), None for nothing; nodes where the model knew them.

    `units` has the units of each job on each node (jobs, nodes). Where it is None the starts keep capacity in sums
    only: they are wishes, to be placed.
    """

    start: Ints | None
    units: Ints | None
    profit: float | None
    """By the exact account."""
    stopped_by: StoppedBy
    """OPTIMAL: of the model, with its rounded power and cooling, or that it has no solution."""


def default_search(problem: DayProblem, watch: Watch, *, deterministic_s: float, seed: int = 1) -> SearchResult:
    """The solver's own search, told nothing. It may well find nothing."""
    day = _day(problem)
    return _searched(day, watch, Budget(deterministic_s, watch.left_s, WORKERS, seed))


def relaxation_search(
    problem: DayProblem, plan: Plan, watch: Watch, *, deterministic_s: float, seed: int = 1
) -> SearchResult:
    """Better than `plan`, or as good, with its nodes for all jobs of more than one unit."""
    day = _day(problem, plan.start)
    model.keep_nodes(day, plan)
    day.model.add(day.profit() >= model.add_hints(day, plan))
    return _searched(day, watch, Budget(deterministic_s, watch.left_s, WORKERS, seed))


def _day(problem: DayProblem, begun: Ints | None = None) -> model.DayModel:
    """The thesis's model; in sums where it would be too large."""
    day = model.DayModel(problem, segments_of(problem))
    model.add_starts(day, begun)
    if model.unit_intervals(problem) <= model.MOST_UNIT_INTERVALS:
        model.add_node_capacity(day)
    else:
        model.add_capacity_rows(day)
    model.add_profit(day)
    day.maximize_profit()
    return day


def _searched(day: model.DayModel, watch: Watch, budget: Budget) -> SearchResult:
    fixed = model.fixed_money(day.problem)

    def tell(objective: float, bound: float) -> None:
        watch.progress("model", fixed + objective / model.MONEY, fixed + bound / model.MONEY)

    answer = solve(day.model, budget, progress=tell, stop=watch.stop)
    stopped_by = STOPPED[answer.result.ended]
    if not answer.result.found:
        return SearchResult(None, None, None, stopped_by)
    start = answer.values(day.start)
    return SearchResult(start, _units(day, answer), account_of(day.problem, start).profit, stopped_by)


def _units(day: model.DayModel, answer: CpSolution) -> Ints | None:
    """Units of each job on each node."""
    if not day.units:
        return None
    units = np.zeros((len(day.start), day.problem.platform.node_count), dtype=np.int64)
    for (job, node), literals in day.units.items():
        units[job, node] = answer.values(literals).sum()
    return units


def segments_of(problem: DayProblem) -> model.Segments:
    """Merge the conditions' segments while their temperatures lie within `ALIKE_C` and their prices are the same."""
    edges, temp = problem.conditions.edges, problem.conditions.temp_c
    price, base = price_per_j(problem), account_of_running(problem).it_w
    first = [0]
    for place in range(1, len(temp)):
        span = temp[first[-1] : place + 1]
        if float(np.ptp(span)) > ALIKE_C or price[place] != price[first[-1]]:
            first.append(place)
    lengths = np.diff(edges).astype(np.float64)

    def mean(values: Floats) -> Floats:
        return np.add.reduceat(values * lengths, first) / np.add.reduceat(lengths, first)

    return model.Segments(edges[[*first, len(temp)]], mean(temp), price[first], mean(base))
