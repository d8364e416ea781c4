"""Plans one UTC day from what was known by then, or before: jobs, profile, nodes on, and the money expected of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from dardis.engine.clock import process_cpu_s
from dardis.model.downtime import Downtime
from dardis.model.errors import InputError
from dardis.model.platform import Platform
from dardis.model.profile import ZERO, StepFunction
from dardis.model.series import Series
from dardis.model.target import Switching
from dardis.power.account import Account
from dardis.power.joule import cost_of_joule
from dardis.workload.jobs import to_jobs
from offline.day.aims import Aims, aims_of_day
from offline.day.gap import live_on
from offline.day.hindsight import Hindsight
from offline.day.known import known_at
from offline.day.options import DayOptions
from offline.day.standing import Standing
from offline.folder.tables import JobKind
from offline.forecast.forecast import Forecast, forecast
from offline.onoff.counts import Limits
from offline.onoff.planned import Reserve, plan_switching
from offline.onoff.spans import Spans
from offline.planner.budget import SearchProgress, Watch, never, tell_nobody
from offline.planner.day_account import account_of
from offline.planner.midnight import plan_jobs, state_at
from offline.planner.plan import Plans, plan
from offline.planner.problem import Expected, Plan, Problem, StoppedBy
from offline.planner.switched_bound import bound_with_switching, most_of_machine
from offline.planner.use import cores_used, node_spans
from offline.site.calendar import DAY_S
from offline.site.fitting import jobs_that_fit
from offline.site.history import predictor_of
from offline.site.stale import freshness

SEARCH_SHARE = 0.6
"""Of the time, what the searches for a plan may take: past days are planned after them, and the bound has the rest."""


@dataclass(frozen=True)
class DayPlan:
    """All that was found out about a day. `kinds` says of each job of the problem where it is known from, by number."""

    day: int
    problem: Problem
    kinds: dict[int, JobKind]
    forecast: Forecast
    plans: Plans
    aims: Aims
    downtime: Downtime
    """When nodes are down if all goes as planned."""
    all_on: Account
    account: Account
    """With the nodes down as planned."""
    bound: float | None
    """No plan of these jobs has more profit, whatever nodes are switched; None where that isn't proven."""
    notes: tuple[str, ...]
    history: tuple[str, ...]
    """Notes on whether the history ended before its time, which say nothing of the plan itself."""
    cpu_s: float

    @property
    def plan(self) -> Plan:
        """The plan that is handed on."""
        return self.plans.best


def plan_day(
    hindsight: Hindsight, day: int, options: DayOptions, progress: SearchProgress = tell_nobody,
    stop: Callable[[], bool] = never, standing: Standing | None = None,
) -> DayPlan:  # fmt: skip
    """Plan UTC day `day` of a site and its past (`hindsight`), of which only what was known by then is looked at.

    The time from then to the day's beginning is lived as it is to be expected. `standing` says how the nodes are at
    its beginning; without it all are on.

    Raises InputError for a day without history, weather or prices, and for limits on power that nothing can keep.
    """
    begun, watch = process_cpu_s(), Watch(options.time_limit, progress, stop)
    site, past = hindsight.site, hindsight.past
    standing = standing or Standing.all_on(site.platform.node_count)
    start = site.calendar.day(day)[0]
    now = start - hindsight.lead_s
    conditions = site.conditions(day)
    expected = forecast(
        site.waited(past), site.calendar, day, options.hours, options.method, options.seed, hindsight.lead_s
    )
    asked = [job.asked for job in site.jobs]
    state = state_at(past, asked, site.platform, now, predictor_of(past))
    held = len(np.unique(state.running.placed.nodes))
    forecast_jobs = to_jobs(expected.trace, site.platform).jobs if len(expected.trace) else []
    made = [Expected.as_it_runs(job) for job in jobs_that_fit(forecast_jobs, site.platform)]
    made_up = {job.asked.number for job in made}
    ahead = None
    if now < start:
        machine = standing.without_idle_closed(site.platform, now - 1, start)
        ahead = live_on(state, asked, [job for job in made if job.asked.submit < start], machine, start)
        state, made = ahead.state, [job for job in made if job.asked.submit >= start]
    known, gaps = known_at(site, past, day, now, ahead)
    jobs = sorted([*state.waiting, *made], key=lambda job: (job.asked.submit, job.asked.number))
    kinds = dict.fromkeys(state.running.number.tolist(), JobKind.RUNNING)
    kinds |= {job.asked.number: JobKind.QUEUED for job in jobs}
    kinds |= {number: JobKind.FORECAST for number in kinds if number in made_up}
    horizon = conditions.end + DAY_S
    running, standing, found_on = standing.seated(state.running, site.platform)
    problem = Problem(
        standing.closed_until(site.platform, start, horizon), conditions, site.cooling, site.tariff,
        plan_jobs(jobs, site.platform, start), running, horizon,
    )  # fmt: skip
    searching = max(watch.left_s, 0.0) * SEARCH_SHARE
    plans = plan(problem, time_limit=searching, seed=options.seed, progress=progress, stop=stop)
    all_on = account_of(problem, plans.best.start)
    aims = aims_of_day(hindsight, known, day, options, cores_used(problem, plans.best.start))
    downtime = planned_downtime(problem, plans.best, all_on, aims.switching, standing)
    account = account_of(problem, plans.best.start, downtime)
    if not account.feasible:
        found = f"the best plan is {account.over_limit_kwh:.1f} kWh above a limit on power that must be kept"
        raise InputError("platform: tariff", found, "limits that the running jobs and idle nodes leave room for")
    dump = freshness(site.trace.submit, now, site.record_begins(now))
    ended = (f"the history may have ended before its time: {dump.stale}",) if dump.stale else ()
    most = plans.best.bound
    if aims.switching is not None and most is not None:
        most = None if watch.over() else bound_with_switching(problem, guard_s=watch.left_s)
    if most is not None:
        most = min(most, most_of_machine(problem))
    if watch.over():
        plans = replace(plans, best=replace(plans.best, stopped_by=StoppedBy.TIME))
    return DayPlan(
        day, problem, kinds, expected, plans, aims, downtime, all_on, account, most,
        (*gaps, *standing.notes(found_on, held), *expected.notes, *aims.notes, *_of_limits(problem)),
        (*ended, *filter(None, [dump.note])),
        process_cpu_s() - begun,
    )  # fmt: skip


def _of_limits(problem: Problem) -> tuple[str, ...]:
    """A note where plans and bounds are not of one kind."""
    tariff = problem.tariff
    if not tariff.limits and tariff.contracted_kw is None:
        return ()
    return ("power is limited: multi-search and the best rule may be above the limit, and the bound leaves it out",)


def planned_downtime(
    problem: Problem, plan: Plan, all_on: Account, switching: Switching | None, standing: Standing | None = None
) -> Downtime:
    """When nodes are down if jobs come as planned: as few on as the plan and what must stay on allow.

    Who takes no jobs, or is in maintenance, stays as he is; who is off at the beginning and not to be switched is
    booted at once.
    """
    platform, conditions = problem.platform, problem.conditions
    standing = standing or Standing.all_on(platform.node_count)
    start, soonest = conditions.start, standing.may_be_booted(platform, conditions.start)
    switched = Downtime.none()
    if switching is not None:
        switched = _switched(problem, plan, all_on, switching, soonest)
    return standing.joined(switched, start, soonest)


def _left_alone(platform: Platform, off: dict[int, int]) -> Spans:
    """When nobody switches which nodes, as they are closed: in maintenance, out of work, booting; not just `off`."""
    spans = [
        (node, max(start, off.get(node, start)), end)
        for node in range(platform.node_count if platform.maintenance else 0)
        for start, end in platform.closed_spans(node)
        if end > off.get(node, start)
    ]
    node, start, end = np.array(spans, dtype=np.int64).reshape(-1, 3).T
    return Spans(node, start, end)


def _switched(problem: Problem, plan: Plan, all_on: Account, switching: Switching, off: dict[int, int]) -> Downtime:
    """When nodes are down, of which `off` are so at the beginning, until then at least."""
    platform, conditions = problem.platform, problem.conditions
    busy, taken = node_spans(problem, plan), node_spans(problem, plan, _left_alone(platform, off))
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
    limits = Limits(most_switches=int(2 * switching.most_cycles_per_day))
    return plan_switching(taken, platform, reserves, joule_cost, limits, off)
