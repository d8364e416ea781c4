"""The profit that a job adds to a day, and shares of a machine by prices in place of limits."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dardis.kernels.jit import bare, inlined, kernel
from dardis.model.arrays import Floats, Ints


class Grid(NamedTuple):
    """Spans `[edges[i], edges[i+1])`, the mean W that jobs add to each so far, and what each costs by its mean W.

    `cost[i, k]` is the cost of span i at `k * step_w[0]`; it is linear between them, and goes on beyond the last.
    """

    edges: Ints
    watts: Floats
    cost: NDArray[Any]
    step_w: Floats


class DayProfit(NamedTuple):
    """Two grids whose costs add up, and of each job (by slot) the W that it adds and what a second of it earns.

    The day is what `hours` spans. A job that starts after its latest start costs `late[0]`.
    """

    hours: Grid
    limits: Grid
    added_w: Floats
    income: Floats
    soonest: Ints
    """The earliest start of each job."""
    late: Floats


@bare
def cost_of(grid: Grid, span: int, watts: float) -> float:
    """What a span costs at this mean W."""
    at = watts / grid.step_w[0]
    place = min(max(int(at), 0), grid.cost.shape[1] - 2)
    low = grid.cost[span, place]
    return low + (at - place) * (grid.cost[span, place + 1] - low)


@bare
def added_watts(grid: Grid, span: int, start: int, end: int, watts: float) -> float:
    """The mean W that `watts` over `[start, end)` adds to a span; 0 where they don't meet."""
    first, last = grid.edges[span], grid.edges[span + 1]
    return watts * max(min(end, last) - max(start, first), 0) / (last - first)


@bare
def part(grid: Grid, span: int, start: int, end: int, watts: float) -> float:
    """What `watts` more over the part of `[start, end)` that lies in a span would add to its cost."""
    more = added_watts(grid, span, start, end, watts)
    return cost_of(grid, span, grid.watts[span] + more) - cost_of(grid, span, grid.watts[span])


@bare
def add(grid: Grid, start: int, end: int, watts: float) -> float:
    """Add `watts` over `[start, end)`, which may be negative; return what that adds to the cost."""
    added = 0.0
    span = max(int(np.searchsorted(grid.edges, start, side="right")) - 1, 0)
    while span < len(grid.edges) - 1 and grid.edges[span] < end:
        added += part(grid, span, start, end, watts)
        grid.watts[span] += added_watts(grid, span, start, end, watts)
        span += 1
    return added


@bare
def fill_before(grid: Grid, watts: float, before: Floats) -> None:
    """Write what `watts` more over all of the first i spans would cost, for every i."""
    before[0] = 0.0
    for span in range(len(grid.edges) - 1):
        before[span + 1] = before[span] + part(grid, span, grid.edges[span], grid.edges[span + 1], watts)


@bare
def extra(grid: Grid, before: Floats, start: int, end: int, watts: float) -> float:
    """What `watts` more over `[start, end)` would cost; `before` as `fill_before` wrote it for these watts."""
    spans = len(grid.edges) - 1
    if spans == 0 or start >= grid.edges[spans] or end <= grid.edges[0]:
        return 0.0
    first = max(int(np.searchsorted(grid.edges, start, side="right")) - 1, 0)
    last = min(int(np.searchsorted(grid.edges, end, side="left")) - 1, spans - 1)
    cost = part(grid, first, start, end, watts)
    if last > first:
        cost += before[last] - before[first + 1] + part(grid, last, start, end, watts)
    return cost


@bare
def earned(profit: DayProfit, slot: int, start: int, end: int) -> float:
    """What a job that runs in `[start, end)` earns in the day."""
    edges = profit.hours.edges
    return profit.income[slot] * max(min(end, edges[-1]) - max(start, edges[0]), 0)


@inlined
def paid_until(paid: Floats, at: float, resource: int) -> float:
    """What a unit of a resource costs from the beginning until `at`, in steps."""
    last = len(paid) - 1
    if at >= last:
        return float(paid[last, resource])
    step = int(at)
    return float(paid[step, resource] + (at - step) * (paid[step + 1, resource] - paid[step, resource]))


@bare
def cost_at(need: Floats, paid: Floats, start: float, end: float) -> float:
    """What a job pays that needs so much of each resource in `[start, end)`, in steps."""
    cost = 0.0
    for resource in range(len(need)):
        if need[resource] > 0.0:
            cost += need[resource] * (paid_until(paid, end, resource) - paid_until(paid, start, resource))
    return cost


@kernel
def relaxed_starts(
    earliest: Floats, span: Floats, need: Floats, weight: Floats, paid: Floats, step: float, start: Floats
) -> float:
    """Write where each job's weighted wait and what it pays are least, and return the sum of these over all jobs.

    `earliest`, `start` and `span` are in s from the first step on; `need` (jobs, resources), `paid` (steps + 1,
    resources): the integral of the prices over time. Prices are 0 or more. Between two instants at which the job would
    begin or end with a step its cost is a straight line, so that only these are looked at.
    """
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
            # The next step's begin for its begin or for its end, whichever comes first.
            begins = step * (np.floor(at / step) + 1.0)
            ends = step * (np.floor((at + span[job]) / step) + 1.0) - span[job]
            while ends <= at:
                ends += step
            at = min(begins, ends)
        total += least
    return total


@kernel
def add_use(start: Floats, span: Floats, need: Floats, step: float, used: Floats) -> None:
    """Add what jobs use of each resource in each step, in its unit times s; `used` has shape (steps, resources)."""
    for job in range(len(start)):
        begin, end = start[job] / step, (start[job] + span[job]) / step
        for place in range(int(begin), min(int(end) + 1, len(used))):
            share = min(end, place + 1.0) - max(begin, float(place))
            if share > 0.0:
                for resource in range(need.shape[1]):
                    used[place, resource] += need[job, resource] * share * step
