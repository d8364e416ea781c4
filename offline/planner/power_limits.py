"""Strict power limits, and a machine on which any schedule complies."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dardis.model.arrays import Bools, Floats
from dardis.model.platform import Maintenance
from dardis.power.node_power import MachinePower, busy_watts, full_watts
from offline.planner.day_problem import DayProblem


def allowed_it_w(problem: DayProblem) -> Floats:
    """Largest IT power (W) within limits, by segment; infinite if no limit binds."""
    conditions = problem.conditions
    most_kw = np.full(len(conditions.edges) - 1, np.inf)
    if problem.tariff.contracted_kw is not None:
        most_kw = np.minimum(most_kw, problem.tariff.contracted_kw)
    for limit in problem.tariff.limits:
        inside = (conditions.edges[:-1] < limit.end) & (conditions.edges[1:] > limit.start)
        most_kw[inside] = np.minimum(most_kw[inside], limit.most_kw)
    whole = min(full_watts(problem.platform), getattr(problem.cooling, "most_it_w", np.inf))

    def fits(it_w: Floats) -> Bools:
        return np.asarray(it_w + problem.cooling.watts(conditions.temp_c, it_w) <= 1000 * most_kw)

    low, high = np.zeros(len(most_kw)), np.full(len(most_kw), whole)
    unlimited = fits(high)
    for _ in range(50):
        middle = (low + high) / 2
        kept = fits(middle)
        low, high = np.where(kept, middle, low), np.where(kept, high, middle)
    return np.where(unlimited, np.inf, low)


def strict_limit_spans(problem: DayProblem) -> list[tuple[int, int]]:
    """Spans (from, to) of strict limits within the day."""
    tariff, day = problem.tariff, (problem.conditions.start, problem.conditions.end)
    spans = [(limit.start, limit.end) for limit in tariff.limits if limit.penalty_per_kwh is None]
    if tariff.contracted_kw is not None and tariff.contract_penalty_per_kwh is None:
        spans.append(day)
    return [(max(start, day[0]), min(end, day[1])) for start, end in spans if start < day[1] and end > day[0]]


def close_nodes_to_limits(problem: DayProblem) -> DayProblem:
    """Close nodes during strict limits so that all others may be full: those without running jobs, the last first."""
    platform, running, edges = problem.platform, problem.running, problem.conditions.edges
    allowed_w = allowed_it_w(problem)
    idle_w, busy_w = float(MachinePower.of_platform(platform).idle_w.sum()), busy_watts(platform)
    closed = []
    for start, end in strict_limit_spans(problem):
        least_w = allowed_w[(edges[:-1] < end) & (edges[1:] > start)].min()
        runs = np.flatnonzero((running.start < end) & (running.finish > start))
        held = np.zeros(platform.node_count, dtype=np.bool_)
        for job in runs.tolist():
            held[running.placed.of(job)[0]] = True
        order = np.argsort(~held, kind="stable")
        beyond = np.cumsum(busy_w[order]) > least_w - idle_w
        nodes = np.sort(order[beyond & ~held[order]])
        if len(nodes):
            closed.append(Maintenance(tuple(nodes.tolist()), start, end))
    return replace(problem, platform=replace(platform, maintenance=(*platform.maintenance, *closed)))
