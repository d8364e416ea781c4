"""What a planned day is hour by hour: nodes on, power, and the cores to aim at, which online may be held to."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dardis.model.arrays import Bools, Floats, Ints
from dardis.model.platform import Platform
from dardis.model.profile import StepFunction
from dardis.model.resources import CORES
from dardis.model.target import DesiredProfile, Split, most_that_opens
from dardis.power.nodes import full_watts, watts_for_cores
from dardis.report.over_time import envelope
from offline.day.day import DayPlan
from offline.folder.tables import ProfileTable
from offline.onoff.spans import nodes_up
from offline.planner.use import cores_used


def nodes_on_of(day: DayPlan) -> StepFunction:
    """Nodes that are up over time, in the plan."""
    return nodes_up(day.downtime, day.problem.platform.node_count)


def profile_of(day: DayPlan, nodes_on: StepFunction) -> ProfileTable:
    """profile.csv: one row a segment of the day.

    Where power is limited, the nodes that the target opens (`desired_of`) hold no more cores than the limit allows.
    """
    told, conditions, platform = day.account, day.problem.conditions, day.problem.platform
    edges = conditions.edges
    most_on = envelope(nodes_on, edges)[1]
    used = envelope(cores_used(day.problem, day.plan.start), edges)[1]
    powered = envelope(powered_of(day, nodes_on), edges)[1]
    target = day.aims.cores.at(edges[:-1])
    # The cap leaves room for the target on the nodes that are on, and for the plan; a limit on power goes first.
    reach = np.maximum(np.minimum(target, powered), used).astype(np.int64)
    wished_w, allowed_w = watts_for_cores(platform, reach, most_on), _allowed_it_w(day)
    cap = np.minimum(wished_w, allowed_w)
    target = np.minimum(
        target, most_that_opens(platform, platform.kinds.index(CORES), _within(day, allowed_w, most_on))
    )
    on = np.array([nodes_on.integral(a, b) for a, b in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)])
    on = on / np.diff(edges)
    with np.errstate(invalid="ignore", divide="ignore"):
        pue = np.where(told.it_w > 0, 1 + told.cooling_w / told.it_w, np.nan)
    return ProfileTable(
        edges, target, cap, told.it_w, told.cooling_w, pue, conditions.price_per_kwh, conditions.gco2_per_kwh,
        conditions.temp_c, on,
    )  # fmt: skip


def powered_of(day: DayPlan, nodes_on: StepFunction) -> StepFunction:
    """Cores of the nodes that are up."""
    platform, down = day.problem.platform, day.downtime
    cores: Ints = platform.capacity[down.node, platform.kinds.index(CORES)]
    off = StepFunction.from_spans(down.down, down.up, cores)
    return StepFunction(nodes_on.times, platform.cores - off.at(nodes_on.times))


def desired_of(platform: Platform, days: Sequence[ProfileTable]) -> DesiredProfile:
    """The cores to aim at on some days, by (time) order, as a desired profile: before, between and after them all.

    Each node has all of its cores or none, since shares of every node would keep any job waiting that takes all of one;
    and each group has nodes open whenever there is something to aim at, since some jobs may run in no other.
    """
    steps = []
    for day in days:
        steps += [*zip(day.edges[:-1].tolist(), day.cores_target.tolist(), strict=True)]
        steps.append((int(day.edges[-1]), platform.cores))
    wished = StepFunction.from_steps(platform.cores, steps)
    return DesiredProfile(platform, {platform.kinds.index(CORES): wished}, split=Split.OPEN_NODES)


def _within(day: DayPlan, allowed_w: Floats, most_on: Ints) -> Ints:
    """The cores that may be busy within so much IT power beside so many nodes that are on, for each segment."""
    platform = day.problem.platform
    none, one = (watts_for_cores(platform, np.full_like(most_on, cores), most_on) for cores in (0, 1))
    room = np.divide(allowed_w - none, one - none, out=np.where(allowed_w < none, 0.0, np.inf), where=one > none)
    return np.asarray(np.floor(np.clip(room, 0, platform.cores)).astype(np.int64))


def _allowed_it_w(day: DayPlan) -> Floats:
    """The IT power (W) that keeps IT and cooling within the contract and the grid's wishes, for each segment.

    Infinite where even the whole machine does.
    """
    problem, conditions = day.problem, day.problem.conditions
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
