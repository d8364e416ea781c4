"""Jobs that share a machine by prices instead of limits: whoever uses some of it at a time pays for that.

Each job then starts, by itself, where its wait and what it pays are least together (see `clairvoyant.bound`). Time is
cut into equal steps from `begin` on, of which each has its price; after the last one nothing costs anything.
"""

from __future__ import annotations

import numpy as np

from dardis.kernels.jit import bare, inlined, kernel
from dardis.model.arrays import Floats


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
