"""Proven upper bound on a day's profit with any switching."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dardis.model.arrays import Floats, Ints
from dardis.model.platform import NodeGroup, NodePower, Platform
from dardis.model.resources import CORES
from dardis.power.node_power import MachinePower, busy_watts
from offline.planner.cp.bound import bound
from offline.planner.day_planner import PROOF_S
from offline.planner.day_problem import DayProblem
from offline.planner.money import account_of_running, most_added_w, price_per_j

_GRAIN = 2000


def bound_with_switching(problem: DayProblem, *, guard_s: float = 60.0) -> float:
    """Bound on profit with any downtime, within `guard_s` s.

    A node with k of c cores busy draws at least `off + (idle - off) k / c` beside its jobs: the bound is for nodes that
    idle at off power, and cores that draw the rest. With negative energy prices, possible extra power is added.
    """
    cheap = _least_power_problem(problem)
    return bound(cheap, deterministic_s=PROOF_S, guard_s=guard_s) + _waste_value(problem, cheap)


def most_of_machine(problem: DayProblem) -> float:
    """Machine's profit with unlimited jobs: a bound too.

    The most profitable number of cores is busy by segment, at minimal power; with negative prices at maximal power.
    """
    platform, jobs, running = problem.platform, problem.jobs, problem.running
    conditions, price = problem.conditions, price_per_j(problem)
    earns = [platform.income_per_core_h, *platform.income_by_queue.values()]
    earns = [*earns, float(jobs.income.max(initial=0.0)), float(running.income.max(initial=0.0))]
    core_w = np.concatenate([MachinePower.of_platform(platform).core_w, jobs.core_w, running.core_w])
    busy = np.unique(np.linspace(0, platform.cores, min(platform.cores, _GRAIN) + 1).astype(np.int64))
    least_w = _least_watts(platform, busy, float(core_w.min()))
    most_w = _most_watts(platform, float(core_w.max()))

    def facility_w(it_w: float) -> Floats:
        known = min(it_w, getattr(problem.cooling, "most_it_w", np.inf))
        return np.asarray(it_w + problem.cooling.watts(conditions.temp_c, np.full(len(price), known)))

    drawn = np.array([facility_w(watts) for watts in least_w.tolist()])
    drawn = np.minimum.accumulate(drawn[::-1])[::-1]
    # Between two numbers of cores: the larger income and the lower cost.
    income = max(earns) * np.append(busy[1:], busy[-1]) / 3600
    at_best = (income[:, None] - np.maximum(price, 0) * drawn).max(axis=0)
    at_best = np.where(price < 0, income[-1] - price * facility_w(most_w), at_best)
    return float((at_best * np.diff(conditions.edges)).sum())


def _least_watts(platform: Platform, busy: Ints, core_w: float) -> Floats:
    least = [_least_power(group) for group in platform.groups]
    base = sum(group.count * (group.power or NodePower()).idle_w for group, _ in least)
    order = sorted((share, group.count * group.resources.get(CORES, 0)) for group, share in least)
    reach = np.cumsum([0, *(cores for _, cores in order)])
    watts = np.cumsum([0.0, *((share + core_w) * cores for share, cores in order)])
    return np.asarray(base + np.interp(busy, reach, watts))


def _most_watts(platform: Platform, core_w: float) -> float:
    machine = MachinePower.of_platform(platform)
    cores = platform.capacity[:, platform.kinds.index(CORES)]
    full = machine.idle_w + np.maximum(busy_watts(platform), core_w * cores)
    return float(np.maximum.reduce([full, machine.off_w, machine.boot_w, machine.shutdown_w]).sum())


def _least_power_problem(problem: DayProblem) -> DayProblem:
    groups = [_least_power(group) for group in problem.platform.groups]
    platform = replace(problem.platform, groups=tuple(group for group, _ in groups))
    share_w = np.array([share for _, share in groups])
    jobs, running = problem.jobs, problem.running
    of_set = {bits: share_w[platform.sets.groups(bits)].min(initial=np.inf) for bits in {*jobs.groups.tolist()}}
    least = np.array([of_set[bits] for bits in jobs.groups.tolist()], dtype=np.float64)
    shares = share_w[platform.group_of_node[running.placed.nodes]]
    of_running = np.minimum.reduceat(shares, running.placed.offsets[:-1]) if len(running.number) else running.core_w
    return replace(
        problem,
        platform=platform,
        jobs=replace(jobs, core_w=jobs.core_w + np.where(np.isfinite(least), least, 0.0)),
        running=replace(running, core_w=running.core_w + of_running),
    )


def _least_power(group: NodeGroup) -> tuple[NodeGroup, float]:
    power = group.power or NodePower()
    least = min(power.off_w, power.idle_w, power.boot_w if power.boot_s else np.inf,
                power.shutdown_w if power.shutdown_s else np.inf)  # fmt: skip
    share = (power.idle_w - least) / max(group.resources.get(CORES, 0), 1)
    return replace(group, power=replace(power, idle_w=float(least))), float(share)


def _waste_value(problem: DayProblem, cheap: DayProblem) -> float:
    price = price_per_j(problem)
    if price.min() >= 0:
        return 0.0
    before, after = (MachinePower.of_platform(one.platform) for one in (problem, cheap))
    nodes_w = float(np.maximum.reduce([before.idle_w, before.off_w, before.boot_w, before.shutdown_w]).sum())
    seconds = np.diff(problem.conditions.edges)
    # Extra cooling is at most that of all nodes and jobs together, within the plant's known range.
    full_w = nodes_w + most_added_w(problem) + float(account_of_running(problem).jobs_w.max())
    full_w = min(full_w, getattr(problem.cooling, "most_it_w", np.inf))
    cooling_w = problem.cooling.watts(problem.conditions.temp_c, full_w)
    wasted_w = nodes_w - float(after.idle_w.sum()) + cooling_w
    return float((np.maximum(-price, 0) * seconds * wasted_w).sum())
