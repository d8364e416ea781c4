"""Days of a cluster beside the same jobs under dispatchers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from dardis.comparison.recorded_starts import recorded_schedule
from dardis.config.comparison_spec import contender_of
from dardis.config.run_spec import RunSpec
from dardis.metrics.power import PowerTerms, power_terms
from dardis.model.arrays import Ints
from dardis.model.errors import InputError
from dardis.model.files import InputFiles
from dardis.model.moments import utc_text
from dardis.model.platform import Platform
from dardis.model.schedule import Downtime, Schedule
from dardis.registry import find_dispatcher
from dardis.runs.run import simulate_in_process
from dardis.runs.run_objects import Objects
from dardis.workload.trace import Trace
from dardis.workload.trace_jobs import to_jobs
from offline.folder.plan_folder import TARGET_FILE, read_plan
from offline.shadow.day_figures import SpanFigures, span_figures
from offline.site.calendar import DAY_S
from offline.site.current_jobs import complete_times

WARM_UP_DAYS: Final = 7
REAL: Final = "real"
USUAL: Final = ("easy", "dardis-late")


@dataclass(frozen=True)
class ClusterRecord:
    """A cluster's jobs at `now`, with Unix times, and their nodes by job number."""

    path: Path
    trace: Trace
    places: Mapping[int, Sequence[int]]
    now: int


@dataclass(frozen=True)
class PlanPromise:
    """A plan's expected gain, and the jobs' gain with over without it, in `currency`."""

    gain: float | None
    low: float | None
    high: float | None
    result: float | None
    dispatcher: str
    currency: str


@dataclass(frozen=True)
class ShadowDay:
    """Figures by scheduler, the real one first."""

    start: int
    figures: Mapping[str, SpanFigures]
    promise: PlanPromise | None
    notes: tuple[str, ...]

    @property
    def as_dict(self) -> dict[str, Any]:
        """JSON values."""
        figures = {name: one.as_dict for name, one in self.figures.items()}
        promise = None if self.promise is None else vars(self.promise)
        return {"date_utc": utc_text(self.start)[:10], "figures": figures, "plan": promise, "notes": list(self.notes)}


@dataclass(frozen=True)
class _ComparedDay:
    path: Path
    trace: Trace
    platform: Platform
    span: tuple[int, int]
    terms: PowerTerms | None
    numbers: Ints
    """Jobs that really started."""

    def figures(self, schedule: Schedule, downtime: Downtime | None = None) -> SpanFigures:
        return span_figures(schedule, self.platform, self.span, self.terms, downtime, self.numbers)


def shadow_day(
    jobs: ClusterRecord, platform: Platform, start: int, dispatchers: Sequence[str] = USUAL, plan: Path | None = None
) -> ShadowDay:  # fmt: skip
    """Compare the day from `start`, Unix s, of jobs that really started. Raises InputError if none did.

    Dispatchers begin `WARM_UP_DAYS` before, on the empty machine. Jobs that have not ended run to their walltime.
    """
    trace = _jobs_around(jobs, start)
    span = max(start, int(jobs.trace.submit.min())), min(start + DAY_S, jobs.now)
    terms = power_terms(platform, 0, int(trace.submit.min()), max(span[1], int(trace.submit.max())))
    notes = list(terms.warnings) if terms is not None else []
    if span != (start, start + DAY_S):
        notes.append(f"figures are from {utc_text(span[0])} to {utc_text(span[1])}, for which jobs are recorded")
    began = jobs.trace.number[jobs.trace.wait >= 0]
    day = _ComparedDay(jobs.path, trace, platform, span, terms, began)
    real, more = _real_figures(day, jobs)
    notes += more
    if not real.jobs:
        raise InputError(jobs.path, f"no job of {utc_text(start)[:10]} started", "a day with jobs")
    figures = {REAL: real}
    for name in dispatchers:
        figures[name], more = _simulated_figures(day, name)
        notes += more
    promise = None
    if plan is not None:
        promise, figures[f"{dispatchers[0]} with the plan"] = _promise(day, dispatchers[0], plan, figures)
    return ShadowDay(start, figures, promise, tuple(dict.fromkeys(notes)))


def _jobs_around(jobs: ClusterRecord, start: int) -> Trace:
    trace = complete_times(jobs.trace, jobs.now)
    ends = trace.submit + np.maximum(trace.wait, 0) + trace.runtime
    kept = (ends > start - WARM_UP_DAYS * DAY_S) & (trace.submit < min(jobs.now, start + 2 * DAY_S))
    if not kept.any():
        raise InputError(jobs.path, f"no job was submitted around {utc_text(start)[:10]}", "a day with jobs")
    return trace.take(kept)


def _real_figures(day: _ComparedDay, jobs: ClusterRecord) -> tuple[SpanFigures, list[str]]:
    known = day.trace.take(np.isin(day.trace.number, day.numbers))
    workload = to_jobs(known, day.platform.with_partitions(known.named_partitions))
    waits = dict(zip(known.number.tolist(), known.wait.tolist(), strict=True))
    start = np.array([job.submit + waits[job.number] for job in workload.jobs], dtype=np.int64)
    run = np.array([max(job.runtime, 1) for job in workload.jobs], dtype=np.int64)
    schedule, without = recorded_schedule(workload.jobs, start, run, day.platform, jobs.places)
    notes = [f"{len(without):,} jobs of the real days fit no node of the platform"] if without else []
    return day.figures(schedule), notes


def _simulated_figures(day: _ComparedDay, name: str, profile: Path | None = None) -> tuple[SpanFigures, list[str]]:
    chosen = contender_of(name)
    request = RunSpec(
        trace=day.path, platform=day.path, dispatcher=chosen.dispatcher, settings=chosen.settings, out=Path(),
        profile=profile,
    )  # fmt: skip
    dispatcher = find_dispatcher(chosen.dispatcher, chosen.settings)
    objects = Objects(day.trace, day.platform, dispatcher, {"trace": None, "platform": None})
    results = simulate_in_process(request, InputFiles(), objects, lambda _: None, None)
    notes = []
    if results.rejected:
        notes.append(f"{name} rejects {len(results.rejected):,} jobs: {results.rejected[0][1]}")
    return day.figures(results.schedule, results.downtime), notes


def _promise(
    day: _ComparedDay, name: str, plan: Path, figures: Mapping[str, SpanFigures]
) -> tuple[PlanPromise, SpanFigures]:
    """Expected gain beside that of `name` with over without the plan, and figures with the plan."""
    summary = read_plan(plan).summary
    date = utc_text(day.span[0])[:10]
    if summary["date_utc"] != date:
        raise InputError(plan, f"is a plan of {summary['date_utc']}", f"a plan of {date}")
    ours, _ = _simulated_figures(day, name, plan / TARGET_FILE)
    costs = [one.energy_eur for one in (figures[name], ours)]
    result = None if costs[0] is None or costs[1] is None else costs[0] - costs[1]
    gain, low, high = (_number(summary.get(key)) for key in ("gain_eur", "gain_p10_eur", "gain_p90_eur"))
    return PlanPromise(gain, low, high, result, name, day.platform.currency), ours


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None
