"""Plans one UTC day from what was known when it began: jobs, profile, nodes on, and the money expected of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from dardis.engine.clock import process_cpu_s
from dardis.model.branch import Branch
from dardis.model.downtime import Downtime
from dardis.model.errors import InputError
from dardis.model.platform import Platform
from dardis.model.profile import StepFunction
from dardis.model.resources import CORES
from dardis.model.schedule import Schedule
from dardis.model.series import Ints, Series
from dardis.model.target import Switching
from dardis.power.account import Account
from dardis.power.worth import worth_of_joule
from dardis.workload.jobs import to_jobs
from offline.calendar import DAY_S, HOUR_S
from offline.folder.tables import JobKind
from offline.forecast.donors import DEFAULT
from offline.forecast.forecast import Forecast, forecast
from offline.history import plan_jobs, predictor_of, state_at, that_fit
from offline.lessons import Lessons
from offline.onoff.counts import Limits
from offline.onoff.switching import Reserve, plan_switching
from offline.planner.budget import Progress, Watch, never, tell_nobody
from offline.planner.cp.money import account_of
from offline.planner.plan import Plans, plan
from offline.planner.problem import Plan, Problem, StoppedBy
from offline.planner.switched_bound import bound_with_switching
from offline.planner.use import cores_used, node_spans
from offline.site import Site
from offline.wishes import Known, SwitchingRule, spares_of_day, thesis_switching, thesis_target

NONE = StepFunction.from_steps(0, [])
NONE_SWITCHED = "idle nodes draw no more than those that are off: none is switched"


@dataclass(frozen=True)
class DayOptions:
    """How to plan; `offset` is algorithm 8's in percent, `hours` how far the forecast reaches."""

    switching: SwitchingRule = SwitchingRule.SPARE
    offset: int = 70
    hours: int = 24
    method: str = DEFAULT
    time_limit: float = 60.0
    seed: int = 1


@dataclass(frozen=True)
class Wishes:
    """What is handed to the online half, and the rules (by heading) and notes that say why."""

    cores: StepFunction
    switching: Switching | None
    rules: tuple[tuple[str, tuple[str, ...]], ...] = ()
    notes: tuple[str, ...] = ()
    trees: tuple[tuple[str, Branch], ...] = ()
    """The same rules as trees to be drawn."""


@dataclass(frozen=True)
class DayPlan:
    """All that was found out about a day. `kinds` says of each of the problem's jobs where it is known from."""

    day: int
    problem: Problem
    kinds: tuple[JobKind, ...]
    forecast: Forecast
    plans: Plans
    wishes: Wishes
    downtime: Downtime
    """When nodes are down if all goes as planned."""
    all_on: Account
    account: Account
    """With the nodes down as planned."""
    bound: float | None
    """No plan of these jobs has more profit, whatever nodes are switched; None where that isn't proven."""
    notes: tuple[str, ...]
    cpu_s: float

    @property
    def plan(self) -> Plan:
        """The plan that is handed on."""
        return self.plans.best


def plan_day(
    lessons: Lessons, day: int, options: DayOptions, progress: Progress = tell_nobody,
    stop: Callable[[], bool] = never,
) -> DayPlan:  # fmt: skip
    """Plan UTC day `day` of a site and its past (`lessons`), of which only what was known by then is looked at.

    Raises InputError for a day without history, weather or prices, and for limits on power that nothing can keep.
    """
    begun = process_cpu_s()
    site, past = lessons.site, lessons.past
    start = site.calendar.day(day)[0]
    conditions = site.conditions(day)
    known, gaps = known_at(site, past, day)
    expected = forecast(site.waited(past), site.calendar, day, options.hours, options.method, options.seed)
    state = state_at(past, site.jobs, site.platform, start, predictor_of(past))
    made = that_fit(to_jobs(expected.trace, site.platform).jobs, site.platform) if len(expected.trace) else []
    jobs = sorted([*state.waiting, *made], key=lambda job: (job.submit, job.number))
    new = {job.number for job in made}
    problem = Problem(
        site.platform, conditions, site.cooling, site.tariff, plan_jobs(jobs, site.platform, start), state.running,
        horizon=conditions.end + DAY_S,
    )  # fmt: skip
    plans = plan(problem, time_limit=options.time_limit, seed=options.seed, progress=progress, stop=stop)
    all_on = account_of(problem, plans.best.start)
    wishes = _wishes(lessons, known, day, options, cores_used(problem, plans.best.start))
    downtime = planned_downtime(problem, plans.best, all_on, wishes.switching)
    account = account_of(problem, plans.best.start, downtime)
    if not account.feasible:
        found = f"the best plan is {account.over_limit_kwh:.1f} kWh above a limit on power that must be kept"
        raise InputError("platform: tariff", found, "limits that the running jobs and idle nodes leave room for")
    most = plans.best.bound
    if wishes.switching is not None and most is not None:
        watch = Watch(options.time_limit)
        most = bound_with_switching(problem, guard_s=options.time_limit)
        if watch.over():
            plans = replace(plans, best=replace(plans.best, stopped_by=StoppedBy.TIME))
    return DayPlan(
        day, problem, tuple(JobKind.FORECAST if job.number in new else JobKind.QUEUED for job in jobs), expected, plans,
        wishes, downtime, all_on, account, most,
        (*gaps, *expected.notes, *wishes.notes, *_of_limits(problem)),
        process_cpu_s() - begun,
    )  # fmt: skip


def known_at(site: Site, past: Schedule, day: int) -> tuple[Known, tuple[str, ...]]:
    """The past of a site when a day began, and notes on what is not known of all of it."""
    known = Known(site.platform, site.calendar, past, site.calendar.day(day)[0], {})
    more, notes = site.known_ahead(min(known.first_day, day), day)
    return replace(known, more=more), notes


def _wishes(lessons: Lessons, known: Known, day: int, options: DayOptions, planned: StepFunction) -> Wishes:
    platform = known.platform
    if options.switching is SwitchingRule.ALGORITHM8:
        cores = thesis_target(known, day, options.offset, planned)
        thesis = thesis_switching(cores, platform)
        return Wishes(cores, thesis, notes=() if thesis else (NONE_SWITCHED,))
    tree, learned = lessons.target(known, day, options.seed)
    rules, notes, trees = [], [], []
    if tree is None:
        notes.append("too few days of history with weather and prices to learn what to aim at: the plan's own use is")
    else:
        learned_by, naive = (f"{100 * error:.1f} %" for error in (tree.cv_error, tree.naive_error))
        error = f"error {learned_by} of the cores on days not seen, {naive} by their mean"
        rules.append((f"Use to aim at ({error})", tree.rules))
        trees.append(("The tree: use to aim at", tree.drawn))
        if tree.cv_error > tree.naive_error:
            learned = NONE
            notes.append("the tree of the use to aim at is worse than the mean on days not seen: the plan's own use is")
    spare, switching = NONE, None
    if options.switching is SwitchingRule.SPARE:
        found = spares_of_day(known, day)
        switching = found.switching if found.switching.spares else None
        notes += found.rule.notes if switching else [NONE_SWITCHED]
        error = "" if found.rule.cv_error is None else f" (error {found.rule.cv_error:.1f} nodes on days not seen)"
        rules.append((f"Spare nodes{error}", tuple(found.rule.rules())))
        trees += [(f"The tree: spare nodes of {name}", drawn) for name, drawn in found.rule.drawn()]
        spare = _spare_cores(found.switching, platform)
    start, end = known.calendar.day(day)
    hours = np.arange(start, end + 1, HOUR_S, dtype=np.int64)
    cores = hourly_target(planned, learned, spare, hours, platform.cores)
    return Wishes(cores, switching, tuple(rules), tuple(notes), tuple(trees))


def _of_limits(problem: Problem) -> tuple[str, ...]:
    """A note where plans and bounds are not of one kind."""
    tariff = problem.tariff
    if not tariff.limits and tariff.contracted_kw is None:
        return ()
    return ("power is limited: multi-search and the best rule may be above the limit, and the bound leaves it out",)


def _spare_cores(switching: Switching, platform: Platform) -> StepFunction:
    """Cores of all spare nodes over time."""
    cores = platform.group_capacity[:, platform.kinds.index(CORES)]
    times = np.unique(np.concatenate([spares.times for spares in (*switching.spares.values(), NONE)]))
    values = np.zeros(len(times), dtype=np.int64)
    for group, spares in switching.spares.items():
        values += cores[group] * spares.at(times)
    return StepFunction(times, values)


def hourly_target(
    planned: StepFunction, learned: StepFunction, spare: StepFunction, hours: Ints, most: int
) -> StepFunction:
    """Cores to aim at in each hour: the most that is planned or learned to be right, and the spare nodes'.

    `hours` (hours + 1,) bound the hours; `most` cores are wished before and after, and never more.
    """
    steps = []
    for begin, end in pairwise(hours.tolist()):
        inner = planned.times[(planned.times > begin) & (planned.times < end)]
        peak = int(planned.at(np.append(inner, begin)).max())
        aim = max(peak, int(learned.at(begin))) + int(spare.at(begin))
        steps.append((begin, min(aim, most)))
    return StepFunction.from_steps(most, [*steps, (int(hours[-1]), most)])


def planned_downtime(problem: Problem, plan: Plan, all_on: Account, switching: Switching | None) -> Downtime:
    """When nodes are down if jobs come as planned: as few on as the plan and what must stay on allow."""
    if switching is None:
        return Downtime.none()
    platform, conditions = problem.platform, problem.conditions
    busy = node_spans(problem, plan)
    worth = worth_of_joule(conditions, problem.cooling, problem.tariff, Series(conditions.edges, all_on.it_w))
    reserves = {}
    for group in sorted({*switching.spares, *switching.floors}):
        mine = platform.group_of_node[busy.node] == group
        in_use = StepFunction.from_spans(busy.start[mine], busy.end[mine], np.ones(int(mine.sum()), dtype=np.int64))
        spares, floor = switching.spares.get(group, NONE), switching.floors.get(group, NONE)
        times = np.unique(np.concatenate([in_use.times, spares.times, floor.times]))
        needed = np.maximum(spares.at(times), floor.at(times) - in_use.at(times))
        reserves[group] = Reserve(StepFunction(times, np.maximum(needed, 0)))
    return plan_switching(busy, platform, reserves, worth, Limits(most_switches=int(2 * switching.most_cycles_per_day)))
