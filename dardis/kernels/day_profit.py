"""Profit that a job adds to a day, and job starts under resource prices."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dardis.kernels.jit import bare, inlined, kernel
from dardis.model.arrays import Floats, Ints


class Grid(NamedTuple):
    """Spans `[edges[i], edges[i+1])`, mean W so far, and cost by mean W.

    `cost[i, k]` is the cost at `k * step_w[0]`, with linear inter- and extrapolation.
    """

    edges: Ints
    watts: Floats
    cost: NDArray[Any]
    step_w: Floats


class DayProfit(NamedTuple):
    """Two grids with additive costs; added W and income per second by slot.

    `hours` spans the day. `late[0]`: cost of a late start.
    """

    hours: Grid
    limits: Grid
    added_w: Floats
    income: Floats
    soonest: Ints
    late: Floats


@bare
def cost_of(grid: Grid, span: int, watts: float) -> float:
    """Cost of a span at a mean W."""
    at = watts / grid.step_w[0]
    place = min(max(int(at), 0), grid.cost.shape[1] - 2)
    low = grid.cost[span, place]
    return low + (at - place) * (grid.cost[span, place + 1] - low)


@bare
def added_watts(grid: Grid, span: int, start: int, end: int, watts: float) -> float:
    """Mean W that `watts` over `[start, end)` add to a span."""
    first, last = grid.edges[span], grid.edges[span + 1]
    return watts * max(min(end, last) - max(start, first), 0) / (last - first)


@bare
def extra_span_cost(grid: Grid, span: int, start: int, end: int, watts: float) -> float:
    """Extra cost of a span for `watts` over `[start, end)`."""
    more = added_watts(grid, span, start, end, watts)
    return cost_of(grid, span, grid.watts[span] + more) - cost_of(grid, span, grid.watts[span])


@bare
def add(grid: Grid, start: int, end: int, watts: float) -> float:
    """Add `watts` (may be negative) over `[start, end)`; return the extra cost."""
    added = 0.0
    span = max(int(np.searchsorted(grid.edges, start, side="right")) - 1, 0)
    while span < len(grid.edges) - 1 and grid.edges[span] < end:
        added += extra_span_cost(grid, span, start, end, watts)
        grid.watts[span] += added_watts(grid, span, start, end, watts)
        span += 1
    return added


@bare
def fill_before(grid: Grid, watts: float, before: Floats) -> None:
    """Write the extra cost of `watts` over the first i spans."""
    before[0] = 0.0
    for span in range(len(grid.edges) - 1):
        before[span + 1] = before[span] + extra_span_cost(grid, span, grid.edges[span], grid.edges[span + 1], watts)


@bare
def extra(grid: Grid, before: Floats, start: int, end: int, watts: float) -> float:
    """Extra cost of `watts` over `[start, end)`; `before` is from `fill_before`."""
    spans = len(grid.edges) - 1
    if spans == 0 or start >= grid.edges[spans] or end <= grid.edges[0]:
        return 0.0
    first = max(int(np.searchsorted(grid.edges, start, side="right")) - 1, 0)
    last = min(int(np.searchsorted(grid.edges, end, side="left")) - 1, spans - 1)
    cost = extra_span_cost(grid, first, start, end, watts)
    if last > first:
        cost += before[last] - before[first + 1] + extra_span_cost(grid, last, start, end, watts)
    return cost


@bare
def income_of(profit: DayProfit, slot: int, start: int, end: int) -> float:
    """Income of a job within the day."""
    edges = profit.hours.edges
    return profit.income[slot] * max(min(end, edges[-1]) - max(start, edges[0]), 0)


@inlined
def paid_until(paid: Floats, at: float, resource: int) -> float:
    """Price integral of a resource until step `at`."""
    last = len(paid) - 1
    if at >= last:
        return float(paid[last, resource])
    step = int(at)
    return float(paid[step, resource] + (at - step) * (paid[step + 1, resource] - paid[step, resource]))


@bare
def cost_at(need: Floats, paid: Floats, start: float, end: float) -> float:
    """Cost of a job over the steps `[start, end)`."""
    cost = 0.0
    for resource in range(len(need)):
        if need[resource] > 0.0:
            cost += need[resource] * (paid_until(paid, end, resource) - paid_until(paid, start, resource))
    return cost


@kernel
def relaxed_starts(
    earliest: Floats, span: Floats, need: Floats, weight: Floats, paid: Floats, step: float, start: Floats
) -> float:
    """Write each job's start with the least weighted wait plus cost; return the total.

    Times are in s from the first step. Shapes: `need` (jobs, resources); `paid` (steps + 1, resources), the integral of
    prices from 0 on.
    """
    # Between step borders of start or end, cost is linear: only borders are tried.
    total = 0.0
    last = step * (len(paid) - 1)
    for job in range(len(earliest)):
        least = np.inf
        at = earliest[job]
        while True:
            wait = weight[job] * (at - earliest[job])
            if wait >= least:
                break
            cost = wait + cost_at(need[job], paid, at / step, (at + span[job]) / step)
            if cost < least:
                least = cost
                start[job] = at
            if at >= last:
                break
            # The next step border for start or end, whichever is first.
            begins = step * (np.floor(at / step) + 1.0)
            ends = step * (np.floor((at + span[job]) / step) + 1.0) - span[job]
            while ends <= at:
                ends += step
            at = min(begins, ends)
        total += least
    return total


@kernel
def add_use(start: Floats, span: Floats, need: Floats, step: float, used: Floats) -> None:
    """Add the jobs' use to `used`, (steps, resources), in unit times s."""
    for job in range(len(start)):
        begin, end = start[job] / step, (start[job] + span[job]) / step
        for place in range(int(begin), min(int(end) + 1, len(used))):
            share = min(end, place + 1.0) - max(begin, float(place))
            if share > 0.0:
                for resource in range(need.shape[1]):
                    used[place, resource] += need[job, resource] * share * step
