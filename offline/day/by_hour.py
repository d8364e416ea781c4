"""What a planned day is hour by hour: nodes on, power, and the cores to aim at, which online may be held to."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dardis.model.arrays import Ints
from dardis.model.downtime import Downtime
from dardis.model.platform import Platform
from dardis.model.profile import StepFunction
from dardis.model.resources import CORES
from dardis.model.target import DesiredProfile, Split, most_that_opens
from dardis.power.account import Account
from dardis.power.nodes import busy_watts, watts_for_cores
from dardis.report.over_time import envelope
from offline.day.day import DayPlan
from offline.folder.tables import ProfileTable
from offline.onoff.spans import nodes_up
from offline.planner.limits import allowed_it_w
from offline.planner.problem import Problem
from offline.planner.use import cores_used


def nodes_on_of(day: DayPlan) -> StepFunction:
    """Nodes that are up over time, in the plan."""
    return nodes_up(day.downtime, day.problem.platform.node_count)


def profile_of(day: DayPlan) -> ProfileTable:
    """profile.csv of a plan."""
    return profile_rows(day.problem, day.plan.start, day.downtime, day.account, day.aims.cores)


def profile_rows(
    problem: Problem, job_start: Ints, downtime: Downtime, told: Account, aims: StepFunction
) -> ProfileTable:
    """profile.csv: one row a segment of the day. A row's figures go together.

    All but the cap are means. The target is no more than the nodes that are on hold, and than a limit on power leaves
    beside what they draw without jobs. The cap leaves room for what is aimed at on all nodes that are on at any time of
    the segment, and for what is planned.
    """
    conditions, platform = problem.conditions, problem.platform
    edges = conditions.edges
    _, most_on, mean_on = envelope(nodes_up(downtime, platform.node_count), edges)
    _, most_powered, mean_powered = envelope(powered_of(platform, downtime), edges)
    most_used = envelope(cores_used(problem, job_start), edges)[1]
    wished, allowed_w = aims.at(edges[:-1]), allowed_it_w(problem)
    reach = np.maximum(np.minimum(wished, most_powered), most_used).astype(np.int64)
    cap = np.maximum(np.minimum(watts_for_cores(platform, reach, most_on), allowed_w), told.it_w)
    core_w = float(busy_watts(platform).sum()) / platform.cores
    left_w = np.maximum(allowed_w - (told.it_w - told.jobs_w), 0.0)
    within = left_w / core_w if core_w > 0 else np.full(len(left_w), np.inf)
    target = np.floor(np.minimum(np.minimum(wished, within), mean_powered)).astype(np.int64)
    with np.errstate(invalid="ignore", divide="ignore"):
        pue = np.where(told.it_w > 0, 1 + told.cooling_w / told.it_w, np.nan)
    return ProfileTable(
        edges, target, cap, told.it_w, told.cooling_w, pue, conditions.price_per_kwh, conditions.gco2_per_kwh,
        conditions.temp_c, mean_on,
    )  # fmt: skip


def powered_of(platform: Platform, downtime: Downtime) -> StepFunction:
    """Cores of the nodes that are up."""
    cores: Ints = platform.capacity[downtime.node, platform.kinds.index(CORES)]
    off = StepFunction.from_spans(downtime.down, downtime.up, cores)
    return StepFunction(off.times, platform.cores - off.values)


def wished_of(day: DayPlan) -> tuple[Ints, Ints]:
    """The cores that online may use in each segment if it is held to the plan: edges, and cores.

    What is aimed at, as far as the nodes that are on at any time of the segment hold it: so the plan itself has room.
    Where power is limited, the nodes that this opens (`desired_of`) hold no more cores than that allows.
    """
    platform, edges = day.problem.platform, day.problem.conditions.edges
    most_on, most_powered = (envelope(f, edges)[1] for f in (nodes_on_of(day), powered_of(platform, day.downtime)))
    allowed_w = allowed_it_w(day.problem)
    none, one = (watts_for_cores(platform, np.full_like(most_on, cores), most_on) for cores in (0, 1))
    room = np.divide(allowed_w - none, one - none, out=np.where(allowed_w < none, 0.0, np.inf), where=one > none)
    within = np.floor(np.clip(room, 0, platform.cores)).astype(np.int64)
    opens = most_that_opens(platform, platform.kinds.index(CORES), within)
    return edges, np.minimum(np.minimum(day.aims.cores.at(edges[:-1]), most_powered), opens).astype(np.int64)


def desired_of(platform: Platform, days: Sequence[tuple[Ints, Ints]]) -> DesiredProfile:
    """The cores that may be used on some days (`wished_of`), by (time) order, as a desired profile.

    Before, between and after them are all cores. Each node has all of its cores or none, since shares of every node
    would keep any job waiting that takes all of one; and each group has nodes open whenever there is something to aim
    at, since some jobs may run in no other.
    """
    steps = []
    for edges, cores in days:
        steps += [*zip(edges[:-1].tolist(), cores.tolist(), strict=True), (int(edges[-1]), platform.cores)]
    wished = StepFunction.from_steps(platform.cores, steps)
    return DesiredProfile(platform, {platform.kinds.index(CORES): wished}, split=Split.OPEN_NODES)
