"""PCP'20's decisions by looking at all: every start of every job, and every position of every unit.

A dense table of positions and seconds a kind and node; nothing of the product but what a problem is, and which boxes
stand in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from dardis.dispatch.cp.decision_problem import DecisionProblem, WaitingJob
from dardis.dispatch.cp.positions.fixed_boxes import FixedBoxes

Dense = dict[tuple[int, int], np.ndarray]
"""By node and kind: what is taken, shape (positions, seconds)."""


def dense(problem: DecisionProblem) -> Dense:
    seconds = problem.horizon - problem.now + 1
    capacity = problem.platform.capacity
    table = {where: np.zeros((int(have), seconds), dtype=bool) for where, have in np.ndenumerate(capacity)}
    for node, kind, low, high, start, end in FixedBoxes.of_problem(problem).rows.tolist():
        assert not table[node, kind][low:high, start:end].any()
        table[node, kind][low:high, start:end] = True
    return table


def unit_places(
    problem: DecisionProblem, waiting: WaitingJob, start: int, table: Dense
) -> Iterator[tuple[int, tuple[int, ...]]]:
    """All nodes and first positions where one unit fits."""
    job, end = waiting.job, start + waiting.duration
    for node, group in enumerate(problem.platform.group_of_node.tolist()):
        if job.groups >> group & 1:
            choices = []
            for kind, need in enumerate(job.request):
                free = table[node, kind]
                lows = range(len(free) - need + 1) if need else ()
                fits = [low for low in lows if not free[low : low + need, start:end].any()]
                choices.append(fits if need else [-1])
            yield from ((node, offsets) for offsets in product(*choices))


def fill(waiting: WaitingJob, start: int, node: int, offsets: tuple[int, ...], table: Dense, value: bool) -> None:
    for kind, (low, need) in enumerate(zip(offsets, waiting.job.request, strict=True)):
        if need:
            table[node, kind][low : low + need, start : start + waiting.duration] = value


def can_place(
    problem: DecisionProblem, jobs: list[tuple[WaitingJob, int]], table: Dense, units: int = 0, last=()
) -> bool:
    """Whether all jobs have positions then; `units` of the first have, the last at `last`. Places ascend."""
    if not jobs:
        return True
    waiting, start = jobs[0]
    if units == waiting.job.units:
        return can_place(problem, jobs[1:], table)
    for place in list(unit_places(problem, waiting, start, table)):
        if units and (place <= last or (problem.distinct and place[0] == last[0])):
            continue
        fill(waiting, start, *place, table, True)
        found = can_place(problem, jobs, table, units + 1, place)
        fill(waiting, start, *place, table, False)
        if found:
            return True
    return False


def can_hold(problem: DecisionProblem, jobs: list[tuple[WaitingJob, int]], used: np.ndarray) -> bool:
    """The same over amounts, that is as if positions could be anywhere; `used` has shape (nodes, kinds, seconds)."""
    if not jobs:
        return True
    (waiting, start), *others = jobs
    job, span = waiting.job, slice(start, start + waiting.duration)
    nodes = range(problem.platform.node_count)
    for counts in product(range(2 if problem.distinct else job.units + 1), repeat=len(nodes)):
        able = all(job.groups >> int(problem.platform.group_of_node[node]) & 1 for node in nodes if counts[node])
        if sum(counts) != job.units or not able:
            continue
        more = np.multiply.outer(counts, job.request)
        after = used.copy()
        after[:, :, span] += more[:, :, None]
        fits = (after[:, :, span] <= problem.platform.capacity[:, :, None]) | (more[:, :, None] == 0)
        if fits.all() and can_hold(problem, others, after):
            return True
    return False


def amounts(problem: DecisionProblem) -> np.ndarray:
    table = dense(problem)
    nodes, kinds = problem.platform.capacity.shape
    return np.array([[table[node, kind].sum(axis=0) for kind in range(kinds)] for node in range(nodes)])


def fits_now(problem: DecisionProblem, place: int) -> bool:
    return can_place(problem, [(problem.waiting[place], 0)], dense(problem))


def best(problem: DecisionProblem, places: list[int], *, by_amounts: bool = False) -> float:
    """The least sum of slowdowns of some jobs, all starts tried from the best on."""
    jobs = [problem.waiting[place] for place in places]
    seconds = np.arange(problem.horizon - problem.now)
    if not jobs:
        return 0.0
    grid = np.stack(np.meshgrid(*[seconds] * len(jobs), indexing="ij"), axis=-1).reshape(-1, len(jobs))
    durations = np.array([waiting.duration for waiting in jobs])
    waits = problem.now - np.array([waiting.job.submit for waiting in jobs])
    values = ((grid + waits + durations) / durations).sum(axis=1)
    grid_fits = (grid + durations <= problem.horizon - problem.now).all(axis=1)
    table, used = dense(problem), amounts(problem)
    for row in np.argsort(values, kind="stable").tolist():
        if grid_fits[row]:
            starting = list(zip(jobs, grid[row].tolist(), strict=True))
            if can_hold(problem, starting, used) if by_amounts else can_place(problem, starting, table):
                return float(values[row])
    raise AssertionError("one after the other, all can run")


def list_plan(problem: DecisionProblem) -> dict[int, tuple[int, list[tuple[int, tuple[int, ...]]]]]:
    """Schedule-or-postpone, second by second: who fits starts, the highest priority first, on the highest positions."""

    def priority(place: int) -> tuple[float, int, int]:
        waiting = problem.waiting[place]
        waited = problem.now - waiting.job.submit
        return -(waited + waiting.duration) / waiting.duration, waiting.job.submit, waiting.job.number

    order = [place for place in sorted(range(len(problem.waiting)), key=priority) if fits_now(problem, place)]
    table, plan = dense(problem), {}
    for second in range(problem.horizon - problem.now):
        for place in order:
            waiting = problem.waiting[place]
            if place in plan:
                continue
            before = {where: cells.copy() for where, cells in table.items()}
            units: list[tuple[int, tuple[int, ...]]] = []
            for _ in range(waiting.job.units):
                able = [
                    unit
                    for unit in unit_places(problem, waiting, second, table)
                    if not problem.distinct or all(unit[0] != node for node, _ in units)
                ]
                if not able:
                    table = before
                    break
                units.append(max(able))
                fill(waiting, second, *units[-1], table, True)
            else:
                plan[place] = (second, sorted(units))
    return plan
