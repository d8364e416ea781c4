"""A day of a real cluster beside the same jobs under dispatchers."""

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
from dardis.model.errors import InputError
from dardis.model.files import InputFiles
from dardis.model.moments import utc_text
from dardis.model.platform import Platform
from dardis.registry import find_dispatcher
from dardis.runs.run import simulate_in_process
from dardis.runs.run_objects import Objects
from dardis.workload.trace import Trace
from dardis.workload.trace_jobs import to_jobs
from offline.folder.plan_folder import TARGET_FILE, read_plan
from offline.shadow.day_figures import SpanFigures, span_figures
from offline.site.current_jobs import complete_times

DAY_S: Final = 86_400
WARM_UP_DAYS: Final = 7
REAL: Final = "real"
USUAL: Final = ("easy", "dardis-late")


@dataclass(frozen=True)
class RecordedJobs:
    """A cluster's jobs at `now`, with Unix times, and their nodes by job number."""

    path: Path
    trace: Trace
    places: Mapping[int, Sequence[int]]
    now: int


@dataclass(frozen=True)
class PlanPromise:
    """A plan's expected gain for the day, and the gain of the same jobs with it over without, in `currency`."""

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


def shadow_day(
    jobs: RecordedJobs, platform: Platform, start: int, dispatchers: Sequence[str] = USUAL, plan: Path | None = None
) -> ShadowDay:  # fmt: skip
    """Compare the day from `start`, Unix s. Raises InputError if no job was submitted then.

    Dispatchers begin `WARM_UP_DAYS` before, on the empty machine. Jobs that have not ended run to their walltime.
    """
    span, trace = (start, min(start + DAY_S, jobs.now)), _jobs_around(jobs, start)
    terms = power_terms(platform, 0, int(trace.submit.min()), max(span[1], int(trace.submit.max())))
    notes = list(terms.warnings) if terms is not None else []
    if span[1] < start + DAY_S:
        notes.append(f"the day is not over: figures until {utc_text(span[1])}")
    real, more = _real_figures(jobs, trace, platform, span, terms)
    notes += more
    if not real.jobs:
        raise InputError(jobs.path, f"no job of {utc_text(start)[:10]} started", "a day with jobs")
    figures = {REAL: real}
    for name in dispatchers:
        figures[name], more = _simulated_figures(jobs.path, trace, platform, span, terms, name)
        notes += more
    promise = None
    if plan is not None:
        promise, with_plan = _promise(jobs.path, trace, platform, span, terms, dispatchers[0], plan, figures)
        figures |= with_plan
    return ShadowDay(start, figures, promise, tuple(dict.fromkeys(notes)))


def _jobs_around(jobs: RecordedJobs, start: int) -> Trace:
    trace = jobs.trace
    kept = (trace.submit >= start - WARM_UP_DAYS * DAY_S) & (trace.submit < jobs.now)
    if not kept.any():
        raise InputError(jobs.path, f"no job was submitted around {utc_text(start)[:10]}", "a day with jobs")
    return complete_times(trace.take(kept), jobs.now)


def _real_figures(
    jobs: RecordedJobs, trace: Trace, platform: Platform, span: tuple[int, int], terms: PowerTerms | None
) -> tuple[SpanFigures, list[str]]:
    started = jobs.trace.wait >= 0
    known = trace.take(np.isin(trace.number, jobs.trace.number[started]))
    workload = to_jobs(known, platform.with_partitions(known.named_partitions))
    waits = dict(zip(known.number.tolist(), known.wait.tolist(), strict=True))
    start = np.array([job.submit + waits[job.number] for job in workload.jobs], dtype=np.int64)
    run = np.array([max(job.runtime, 1) for job in workload.jobs], dtype=np.int64)
    schedule, without = recorded_schedule(workload.jobs, start, run, platform, jobs.places)
    notes = [f"{len(without):,} jobs of the real days fit no node of the platform"] if without else []
    return span_figures(schedule, platform, span, terms, None), notes


def _simulated_figures(
    path: Path, trace: Trace, platform: Platform, span: tuple[int, int], terms: PowerTerms | None, name: str,
    profile: Path | None = None,
) -> tuple[SpanFigures, list[str]]:  # fmt: skip
    """Figures under a dispatcher `NAME` or `NAME:KEY=VALUE:…`."""
    chosen = contender_of(name)
    request = RunSpec(
        trace=path, platform=Path(platform.name), dispatcher=chosen.dispatcher, settings=chosen.settings, out=Path(),
        profile=profile,
    )  # fmt: skip
    objects = Objects(
        trace, platform, find_dispatcher(chosen.dispatcher, chosen.settings), {"trace": None, "platform": None}
    )
    notes: list[str] = []
    results = simulate_in_process(request, InputFiles(), objects, lambda _: None, None)
    if results.rejected:
        notes.append(f"{name} rejects {len(results.rejected):,} jobs: {results.rejected[0][1]}")
    return span_figures(results.schedule, platform, span, terms, results.downtime), notes


def _promise(
    path: Path, trace: Trace, platform: Platform, span: tuple[int, int], terms: PowerTerms | None, name: str,
    plan: Path, figures: Mapping[str, SpanFigures],
) -> tuple[PlanPromise, dict[str, SpanFigures]]:  # fmt: skip
    """The plan's expected gain beside that of `name` with the plan over `name` without."""
    summary = read_plan(plan).summary
    if summary["date_utc"] != utc_text(span[0])[:10]:
        raise InputError(plan, f"is a plan of {summary['date_utc']}", f"a plan of {utc_text(span[0])[:10]}")
    ours, _ = _simulated_figures(path, trace, platform, span, terms, name, plan / TARGET_FILE)
    costs = [one.energy_eur for one in (figures[name], ours)]
    result = None if costs[0] is None or costs[1] is None else costs[0] - costs[1]
    gain, low, high = (_number(summary.get(key)) for key in ("gain_eur", "gain_p10_eur", "gain_p90_eur"))
    promise = PlanPromise(gain, low, high, result, name, platform.currency)
    return promise, {f"{name} with the plan": ours}


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None
