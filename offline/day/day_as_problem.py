"""States a day as a planning problem."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dardis.workload.trace_jobs import to_jobs
from offline.day.hindsight import Hindsight
from offline.day.hours_before import MachineHistory, history_at, simulate_ahead
from offline.day.initial_nodes import InitialNodes
from offline.day.plan_spec import DaySpec
from offline.folder.tables import JobKind
from offline.forecast.forecast import Forecast, forecast
from offline.planner.day_problem import DayProblem, ExpectedJob
from offline.planner.packing import plan_jobs, state_at
from offline.site.calendar import DAY_S
from offline.site.current_jobs import freshness
from offline.site.history import jobs_that_fit, predictor_of


@dataclass(frozen=True)
class ProblemInputs:
    """Day's problem. `kinds`: source of each job."""

    problem: DayProblem
    kinds: dict[int, JobKind]
    forecast: Forecast
    known: MachineHistory
    initial_nodes: InitialNodes
    notes: tuple[str, ...]
    history: tuple[str, ...]


def build_problem(
    hindsight: Hindsight, day: int, options: DaySpec, standing: InitialNodes | None = None
) -> ProblemInputs:
    """State the problem of UTC day `day`; without `standing` all nodes are on.

    Raises InputError for a day without history, weather or prices.
    """
    site, past = hindsight.site, hindsight.past
    standing = standing or InitialNodes.all_on(site.platform.node_count)
    start = site.calendar.day(day)[0]
    now = start - hindsight.lead_s
    conditions = site.conditions(day)
    expected = forecast(
        site.with_waits(past),
        site.calendar,
        day,
        options.hours,
        options.forecast_method,
        options.seed,
        hindsight.lead_s,
    )
    asked = [job.job for job in site.jobs]
    state = state_at(past, asked, site.platform, now, predictor_of(past))
    held = len(np.unique(state.running.placed.nodes))
    forecast_jobs = to_jobs(expected.trace, site.platform).jobs if len(expected.trace) else []
    made = [ExpectedJob.with_known_runtime(job) for job in jobs_that_fit(forecast_jobs, site.platform)]
    made_up = {job.job.number for job in made}
    ahead = None
    if now < start:
        machine = standing.without_idle_closed(site.platform, now - 1, start)
        ahead = simulate_ahead(state, asked, [job for job in made if job.job.submit < start], machine, start)
        state, made = ahead.state, [job for job in made if job.job.submit >= start]
    known, gaps = history_at(site, past, day, now, ahead)
    jobs = sorted([*state.waiting, *made], key=lambda job: (job.job.submit, job.job.number))
    kinds = dict.fromkeys(state.running.number.tolist(), JobKind.RUNNING)
    kinds |= {job.job.number: JobKind.QUEUED for job in jobs}
    kinds |= {number: JobKind.FORECAST for number in kinds if number in made_up}
    horizon = conditions.end + DAY_S
    running, standing, found_on = standing.assign_jobs(state.running, site.platform)
    problem = DayProblem(
        standing.closed_until(site.platform, start, horizon), conditions, site.cooling, site.tariff,
        plan_jobs(jobs, site.platform, start), running, horizon,
    )  # fmt: skip
    dump = freshness(site.trace.submit, now, site.record_begins(now))
    ended = (f"the history may end too early: {dump.stale}",) if dump.stale else ()
    notes = (*gaps, *standing.notes(found_on, held), *expected.notes)
    return ProblemInputs(problem, kinds, expected, known, standing, notes, (*ended, *filter(None, [dump.note])))
