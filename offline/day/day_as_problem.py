"""States a day as a planning problem."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dardis.workload.trace_jobs import to_jobs
from offline.day.hindsight import Hindsight
from offline.day.hours_before import Known, known_at, live_on
from offline.day.initial_nodes import Standing
from offline.day.plan_spec import DaySpec
from offline.folder.tables import JobKind
from offline.forecast.forecast import Forecast, forecast
from offline.planner.day_problem import Expected, Problem
from offline.planner.packing import plan_jobs, state_at
from offline.site.calendar import DAY_S
from offline.site.current_jobs import freshness
from offline.site.history import jobs_that_fit, predictor_of


@dataclass(frozen=True)
class Posed:
    """A day's problem. `kinds`: source of each job."""

    problem: Problem
    kinds: dict[int, JobKind]
    forecast: Forecast
    known: Known
    standing: Standing
    notes: tuple[str, ...]
    history: tuple[str, ...]


def pose(hindsight: Hindsight, day: int, options: DaySpec, standing: Standing | None = None) -> Posed:
    """State the problem of UTC day `day`; without `standing` all nodes are on.

    Raises InputError for a day without history, weather or prices.
    """
    site, past = hindsight.site, hindsight.past
    standing = standing or Standing.all_on(site.platform.node_count)
    start = site.calendar.day(day)[0]
    now = start - hindsight.lead_s
    conditions = site.conditions(day)
    expected = forecast(
        site.waited(past), site.calendar, day, options.hours, options.forecast_method, options.seed, hindsight.lead_s
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
    dump = freshness(site.trace.submit, now, site.record_begins(now))
    ended = (f"the history may have ended before its time: {dump.stale}",) if dump.stale else ()
    notes = (*gaps, *standing.notes(found_on, held), *expected.notes)
    return Posed(problem, kinds, expected, known, standing, notes, (*ended, *filter(None, [dump.note])))
