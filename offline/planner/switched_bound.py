"""What no plan of a day exceeds when nodes may be switched as well, proven."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dardis.model.platform import NodeGroup, NodePower
from dardis.model.resources import CORES
from dardis.power.nodes import MachinePower
from offline.planner.cp.bound import bound
from offline.planner.day_account import account_of_running, most_added_w, price_per_j
from offline.planner.plan import PROOF_S
from offline.planner.problem import Problem


def bound_with_switching(problem: Problem, *, guard_s: float = 60.0) -> float:
    """A bound on the profit of any plan with any nodes down at any time, found in `guard_s` s at most.

    A node with k of its c cores busy draws at least `off + (idle - off) k / c` beside its jobs, up or down. So no plan
    is better than the best one of a machine whose nodes idle for what they draw when off, and whose cores draw their
    share of the rest; where energy has a negative price, what more could be drawn is counted on top.
    """
    cheap = _switched(problem)
    return bound(cheap, deterministic_s=PROOF_S, guard_s=guard_s) + _worth_of_waste(problem, cheap)


def _switched(problem: Problem) -> Problem:
    """The same day on the machine whose cores draw all that is not drawn by a node that is off."""
    groups = [_least_power(group) for group in problem.platform.groups]
    platform = replace(problem.platform, groups=tuple(group for group, _ in groups))
    share_w = np.array([share for _, share in groups])
    jobs, running = problem.jobs, problem.running
    may = jobs.groups[:, None] >> np.arange(len(groups)) & 1 == 1
    least = np.where(may, share_w, np.inf).min(axis=1, initial=np.inf)
    shares = share_w[platform.group_of_node[running.placed.nodes]]
    of_running = np.minimum.reduceat(shares, running.placed.offsets[:-1]) if len(running.number) else running.core_w
    return replace(
        problem,
        platform=platform,
        jobs=replace(jobs, core_w=jobs.core_w + np.where(np.isfinite(least), least, 0.0)),
        running=replace(running, core_w=running.core_w + of_running),
    )


def _least_power(group: NodeGroup) -> tuple[NodeGroup, float]:
    """The group with the least that a node ever draws as its idle power; and what a busy core then draws more, W."""
    power = group.power or NodePower()
    least = min(power.off_w, power.idle_w, power.boot_w if power.boot_s else np.inf,
                power.shutdown_w if power.shutdown_s else np.inf)  # fmt: skip
    share = (power.idle_w - least) / max(group.resources.get(CORES, 0), 1)
    return replace(group, power=replace(power, idle_w=float(least))), float(share)


def _worth_of_waste(problem: Problem, cheap: Problem) -> float:
    """What drawing more than that could earn while energy has a negative price: at most all nodes, booting or idle."""
    price = price_per_j(problem)
    if price.min() >= 0:
        return 0.0
    before, after = (MachinePower.of_platform(one.platform) for one in (problem, cheap))
    nodes_w = float(np.maximum.reduce([before.idle_w, before.off_w, before.boot_w, before.shutdown_w]).sum())
    seconds = np.diff(problem.conditions.edges)
    # It adds no more cooling than all nodes and all jobs at once take, as far as the plant is known.
    full_w = nodes_w + most_added_w(problem) + float(account_of_running(problem).jobs_w.max())
    full_w = min(full_w, getattr(problem.cooling, "most_it_w", np.inf))
    cooling_w = problem.cooling.watts(problem.conditions.temp_c, full_w)
    wasted_w = nodes_w - float(after.idle_w.sum()) + cooling_w
    return float((np.maximum(-price, 0) * seconds * wasted_w).sum())
