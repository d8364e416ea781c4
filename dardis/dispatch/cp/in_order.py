"""An order for all who wait, by chance and exchange, on sums over all nodes: whence the Eurora scheduler begins.

The plan of `replan` (`kernels/ahead.py`) with the weights of an objective: in some order each job starts as early as
there is enough free for it beside those before it; then two are exchanged, or one is moved, and what costs less stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dardis.kernels.ahead import cost_before, exchange, make_ahead, put_all
from dardis.kernels.chance import PURPOSE_PLAN, draw_key
from dardis.model.job import FOREVER
from dardis.model.numbers import LARGEST_INT64
from dardis.model.profile import sum_of_columns

if TYPE_CHECKING:
    from dardis.dispatch.cp.node_model import Task
    from dardis.kernels.ahead import Ahead
    from dardis.model.arrays import Floats, Ints

WIDTH_POWERS = (0.0, 0.5, 1.0)
"""Orders that are tried first: by duration times so many powers of the share of the machine, over the weight.

At the peak of 700 jobs on 65 nodes (266 wait) these cost 998, 979 and 1,020, the order of arrival 1,717; after 1,000
exchanges 951, 938 and 960, and no order less than 819.
"""


def best_order(
    task: Task, weight: Floats, first: Ints, tries: int, most: int, seed: int, cycle: int, known: Sequence[int] = ()
) -> tuple[int, ...]:
    """The jobs of a task by their starts in the best plan that is found; `known` is an order of all that is tried too.

    `tries` exchanges are drawn by seed and cycle among the `most` who are first.
    `weight` is what a second of each one's wait costs; no job starts before its `first`, in s from now.
    """
    count = len(task.jobs)
    ahead = _ahead(task, weight, first)
    orders = [*_by_width(task, weight), *([np.array(known, dtype=np.int64)] if len(known) else [])]
    costs = []
    for order in orders:
        ahead.order[:] = order
        costs.append(put_all(ahead, 0, count, 0))
    best = int(np.argmin(costs))
    ahead.order[:] = orders[best]
    put_all(ahead, 0, count, 0)
    front = min(count, most)
    if front > 1:
        exchange(ahead, front, tries, _key(seed, cycle), cost_before(ahead, front, 0), 0)
        put_all(ahead, front, count, 0)
    starts = ahead.start[ahead.order]
    return tuple(ahead.order[np.argsort(starts, kind="stable")].tolist())


def _key(seed: int, cycle: int) -> int:
    """The key of the draws, as a number that kernels take from outside."""
    return int(draw_key(seed, cycle, 0, 0, int(PURPOSE_PLAN))) & LARGEST_INT64


def _ahead(task: Task, weight: Floats, first: Ints) -> Ahead:
    count = len(task.jobs)
    time, free = sum_of_columns(task.free)
    ahead = make_ahead(time, np.maximum(free, 0), count, 0)
    ahead.need[:] = _needs(task)
    ahead.span[:] = task.durations
    ahead.weight[:] = weight
    # Who could start some time alone may find enough in sums from then on.
    ahead.soonest[:] = np.minimum(first, FOREVER)
    ahead.least[:] = weight * first
    steps = len(time)
    ahead.steps[0] = steps
    ahead.time[0, :steps], ahead.value[0, :steps] = time, np.maximum(free, 0)
    return ahead


def _needs(task: Task) -> Ints:
    kinds = len(task.problem.platform.kinds)
    needs = [waiting.amounts for waiting in task.jobs]
    return np.array(needs, dtype=np.int64).reshape(-1, kinds)


def _by_width(task: Task, weight: Floats) -> list[Ints]:
    capacity = np.maximum(task.problem.platform.capacity.sum(axis=0), 1)
    share = (_needs(task) / capacity).max(axis=1, initial=0.0)
    return [np.argsort(task.durations * share**power / weight, kind="stable") for power in WIDTH_POWERS]
