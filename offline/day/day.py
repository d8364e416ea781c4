"""Plans a UTC day, and derives its profile."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dardis.engine.clock import process_cpu_s
from dardis.model.arrays import Ints
from dardis.model.errors import InputError
from dardis.model.platform import Platform
from dardis.model.resources import CORES
from dardis.model.schedule import Downtime
from dardis.model.series import Series
from dardis.model.step_function import ZERO, StepFunction
from dardis.model.target import DesiredProfile, Split, Switching, most_that_opens
from dardis.power.account import Account
from dardis.power.conditions import Tariff, cost_of_joule
from dardis.power.node_power import busy_watts, watts_for_cores
from dardis.report.over_time import envelope
from offline.day.day_as_problem import build_problem
from offline.day.day_targets import DayTargets, targets_of_day
from offline.day.hindsight import Hindsight
from offline.day.initial_nodes import InitialNodes
from offline.day.plan_spec import DaySpec
from offline.day.power_headroom import EvaluatedPlans, use_headroom
from offline.day.promise import Promise, promise_of
from offline.folder.tables import JobKind, ProfileTable
from offline.forecast.forecast import Forecast
from offline.onoff.planned_switching import Reserve, SwitchingLimits, plan_switching
from offline.onoff.spans import Spans, nodes_up
from offline.planner.budget import SearchProgress, Watch, ignore_progress, never_stop
from offline.planner.day_planner import Plans, plan
from offline.planner.day_problem import DayProblem, Plan, StoppedBy
from offline.planner.machine_use import cores_used, node_spans
from offline.planner.money import account_of
from offline.planner.power_limits import allowed_it_w
from offline.planner.switched_bound import bound_with_switching, most_of_machine
from offline.site.calendar import DAY_S

SEARCH_SHARE = 0.6


@dataclass(frozen=True)
class DayPlan:
    """All results for a day. `kinds`: source of each job."""

    day: int
    problem: DayProblem
    kinds: dict[int, JobKind]
    forecast: Forecast
    plans: Plans
    targets: DayTargets
    downtime: Downtime
    all_on: Account
    account: Account
    """With the planned downtime."""
    bound: float | None
    """Upper bound on profit with switching; None if unproven."""
    notes: tuple[str, ...]
    history: tuple[str, ...]
    """Notes on a history that may have ended early."""
    promise: Promise | None
    """Expected gain of switching, if known."""
    cpu_s: float

    @property
    def plan(self) -> Plan:
        """Chosen plan."""
        return self.plans.best

    @property
    def jobs_forecast(self) -> int:
        """Planned jobs forecast for the day."""
        since = self.problem.jobs.submit - self.problem.conditions.start
        return int(((since >= 0) & (since < DAY_S)).sum())


def plan_day(
    hindsight: Hindsight, day: int, options: DaySpec, progress: SearchProgress = ignore_progress,
    stop: Callable[[], bool] = never_stop, standing: InitialNodes | None = None,
) -> DayPlan:  # fmt: skip
    """Plan UTC day `day` from the knowledge at planning time.

    The time before is simulated. `standing`: initial state of nodes; default: all on. Raises InputError for a day
    without history, weather or prices, and for infeasible power limits.
    """
    begun, watch = process_cpu_s(), Watch(options.time_limit, progress, stop)
    posed = build_problem(hindsight, day, options, standing)
    problem, known = posed.problem, posed.known

    def searched(tariff: Tariff) -> Plans:
        asked, left_s = replace(problem, tariff=tariff), max(watch.left_s, 0.0) * SEARCH_SHARE
        return plan(asked, time_limit=left_s, seed=options.seed, progress=progress, stop=stop)

    plans = searched(problem.tariff)
    aims = targets_of_day(hindsight, known, day, options, cores_used(problem, plans.best.start))

    def settled(plans: Plans) -> EvaluatedPlans:
        all_on = account_of(problem, plans.best.start)
        downtime = planned_downtime(problem, plans.best, all_on, aims.switching, posed.initial_nodes)
        return EvaluatedPlans(plans, all_on, downtime, account_of(problem, plans.best.start, downtime))

    made = use_headroom(problem, settled(plans), lambda tariff: settled(searched(tariff)))
    if not made.account.feasible:
        found = f"the best plan is {made.account.over_limit_kwh:.3g} kWh above a hard limit on power"
        raise InputError("platform: tariff", found, "limits above the power of running jobs and idle nodes")
    most = made.plans.best.bound
    if aims.switching is not None and most is not None:
        most = None if watch.over() else bound_with_switching(problem, guard_s=watch.left_s)
    if most is not None:
        most = min(most, most_of_machine(problem))
    promise = None
    if aims.switching is not None:
        promise = promise_of(hindsight, known, options, problem.conditions, posed.forecast.day_weights)
    best = made.plans.best
    if watch.over():
        best = replace(best, stopped_by=StoppedBy.TIME)
    return DayPlan(
        day, problem, posed.kinds, posed.forecast, replace(made.plans, best=best), aims, made.downtime, made.all_on,
        made.account, most, (*posed.notes, *aims.notes, *_limit_notes(problem, made)), posed.history, promise,
        process_cpu_s() - begun,
    )  # fmt: skip


def _limit_notes(problem: DayProblem, made: EvaluatedPlans) -> tuple[str, ...]:
    tariff = problem.tariff
    if not tariff.limits and tariff.contracted_kw is None:
        return ()
    mixed = "power is limited: multi-search and the best rule may exceed the limit, and the bound ignores it"
    if made.all_on.feasible:
        return (mixed,)
    return (mixed, "the limits on power hold only if the plan's nodes are off")


def planned_downtime(
    problem: DayProblem, plan: Plan, all_on: Account, switching: Switching | None, standing: InitialNodes | None = None
) -> Downtime:
    """Downtime of nodes if jobs come as planned.

    Closed nodes stay. Without planned switching, other nodes off at first boot at once.
    """
    platform, conditions = problem.platform, problem.conditions
    standing = standing or InitialNodes.all_on(platform.node_count)
    start, soonest = conditions.start, standing.bootable_nodes(platform, conditions.start)
    switched = Downtime.none()
    if switching is not None:
        switched = _planned_switching(problem, plan, all_on, switching, soonest)
    return standing.join_downtime(switched, start, soonest)


def _closed_spans(platform: Platform, off: dict[int, int]) -> Spans:
    spans = [
        (node, max(start, off.get(node, start)), end)
        for node in range(platform.node_count if platform.maintenance else 0)
        for start, end in platform.closed_spans(node)
        if end > off.get(node, start)
    ]
    node, start, end = np.array(spans, dtype=np.int64).reshape(-1, 3).T
    return Spans(node, start, end)


def _planned_switching(
    problem: DayProblem, plan: Plan, all_on: Account, switching: Switching, off: dict[int, int]
) -> Downtime:
    platform, conditions = problem.platform, problem.conditions
    busy, taken = node_spans(problem, plan), node_spans(problem, plan, _closed_spans(platform, off))
    joule_cost = cost_of_joule(conditions, problem.cooling, problem.tariff, Series(conditions.edges, all_on.it_w))
    reserves = {}
    for group in sorted({*switching.spares, *switching.floors}):
        mine = platform.group_of_node[busy.node] == group
        in_use = StepFunction.from_spans(busy.start[mine], busy.end[mine])
        spares, floor = switching.spares.get(group, ZERO), switching.floors.get(group, ZERO)
        needed = StepFunction.combined(
            lambda used, kept, least: np.maximum(np.maximum(kept, least - used), 0), in_use, spares, floor
        )
        reserves[group] = Reserve(needed)
    limits = SwitchingLimits(most_switches=int(2 * switching.most_cycles_per_day))
    return plan_switching(taken, platform, reserves, joule_cost, limits, off)


def nodes_on_of(day: DayPlan) -> StepFunction:
    """Planned nodes up over time."""
    return nodes_up(day.downtime, day.problem.platform.node_count)


def profile_of(day: DayPlan) -> ProfileTable:
    """profile.csv of a plan."""
    return profile_rows(day.problem, day.plan.start, day.downtime, day.account, day.targets.cores)


def profile_rows(
    problem: DayProblem, job_start: Ints, downtime: Downtime, told: Account, aims: StepFunction
) -> ProfileTable:
    """Make profile.csv, a row for each segment.

    All figures but the cap are means. Nodes on and power limits limit the target. The cap covers the planned power, and
    the target on all nodes on at any time of the segment.
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
    """Cores of nodes up over time."""
    cores: Ints = platform.capacity[downtime.node, platform.kinds.index(CORES)]
    off = StepFunction.from_spans(downtime.down, downtime.up, cores)
    return StepFunction(off.times, platform.cores - off.values)


def usable_cores(day: DayPlan) -> tuple[Ints, Ints]:
    """Usable cores by segment under a capped plan: edges, cores.

    The target, limited by power limits and to nodes on at any time of the segment.
    """
    platform, edges = day.problem.platform, day.problem.conditions.edges
    most_on, most_powered = (envelope(f, edges)[1] for f in (nodes_on_of(day), powered_of(platform, day.downtime)))
    allowed_w = allowed_it_w(day.problem)
    none, one = (watts_for_cores(platform, np.full_like(most_on, cores), most_on) for cores in (0, 1))
    room = np.divide(allowed_w - none, one - none, out=np.where(allowed_w < none, 0.0, np.inf), where=one > none)
    within = np.floor(np.clip(room, 0, platform.cores)).astype(np.int64)
    opens = most_that_opens(platform, platform.kinds.index(CORES), within)
    return edges, np.minimum(np.minimum(day.targets.cores.at(edges[:-1]), most_powered), opens).astype(np.int64)


def desired_profile_of(platform: Platform, days: Sequence[tuple[Ints, Ints]]) -> DesiredProfile:
    """Desired profile for the cores of days (`usable_cores`), in time order.

    All cores are usable outside these days. Nodes open completely, for exclusive jobs. Every group has open nodes if
    the target is not 0.
    """
    steps = []
    for edges, cores in days:
        steps += [*zip(edges[:-1].tolist(), cores.tolist(), strict=True), (int(edges[-1]), platform.cores)]
    wished = StepFunction.from_steps(platform.cores, steps)
    return DesiredProfile(platform, {platform.kinds.index(CORES): wished}, split=Split.OPEN_NODES)
