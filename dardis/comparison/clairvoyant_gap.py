"""Clairvoyant bound for a comparison."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from dardis.clairvoyant.clairvoyant_schedule import ImprovingSchedule, Progress, SharedDemand, least_wait, tries_for
from dardis.comparison.clairvoyant_queues import QUEUES, best_queue
from dardis.comparison.planned_runs import PlannedRun
from dardis.config.comparison_spec import ComparisonRequest, Contender, TraceSpec
from dardis.config.json_records import ClairvoyantRecord
from dardis.config.platform_file import load_platform
from dardis.config.toml_file import read_json
from dardis.metrics.audit import audit
from dardis.metrics.comparison_rows import ClairvoyantResult, RunResult
from dardis.metrics.jobs_csv import read_jobs, write_jobs
from dardis.metrics.system import counted_jobs
from dardis.model.arrays import Floats, Ints
from dardis.model.errors import InputError, ProtocolError
from dardis.model.files import InputFiles, write_json
from dardis.model.job import ActualJob
from dardis.model.placements import Placements, offsets_of
from dardis.model.platform import Platform
from dardis.model.schedule import Schedule
from dardis.registry import find_dispatcher, is_known
from dardis.runs.inputs import load_inputs
from dardis.runs.play import play
from dardis.runs.run_objects import record_of
from dardis.sim.recorder import Recorder
from dardis.workload.trace_reader import read_trace, require_equal_units

FOLDER: Final = "clairvoyant"
_FILE: Final = "clairvoyant.json"
_CANDIDATES: Final = tuple(
    Contender(f"replan {weights}", "replan", ("expected=real", f"weights={weights}")) for weights in ("aged", "short")
)


def check(comparison: ComparisonRequest, files: InputFiles) -> None:
    """Raise InputError if a trace cannot be solved clairvoyantly."""
    for workload in comparison.workloads:
        if workload.think_times:
            raise InputError("--clairvoyant", f"{workload.name} has think times", "jobs with known submissions")
        if workload.profile is not None:
            raise InputError("--clairvoyant", f"{workload.name} has a desired profile", "traces without profile")
        platform = files.once(load_platform, workload.platform)
        if any(queue.is_closed_at_times for queue in platform.queues):
            raise InputError("--clairvoyant", f"{workload.name} has queues with hours", "queues that are always open")
        if platform.reservations or workload.events is not None:
            raise InputError("--clairvoyant", f"{workload.name} has reservations or events", "traces without them")
        try:
            trace = files.once(
                read_trace, workload.trace, strict=workload.strict, flop_per_s=platform.flop_per_s
            )  # fmt: skip
            require_equal_units(workload.trace, trace, not_ended=False)
        except InputError as error:
            raise InputError("--clairvoyant", str(error)) from None
    if len(units := {*map(_unit_cores, _known_contenders(comparison))}) > 1:
        told = ", ".join(map(str, sorted(units)))
        raise InputError(
            "--clairvoyant", f"dispatchers with unit_cores {told}", "the same value, since it changes the jobs"
        )


def _known_contenders(comparison: ComparisonRequest) -> list[Contender]:
    return [contender for contender in comparison.contenders if is_known(contender.dispatcher)]


def _unit_cores(contender: Contender) -> int:
    return find_dispatcher(contender.dispatcher, contender.settings).setup.unit_cores


@dataclass(frozen=True)
class _ClairvoyantCase:
    workload: TraceSpec
    platform: Platform
    jobs: list[ActualJob]
    fits: list[bool]
    seed: int
    trim: tuple[int, int] | None

    @property
    def fitting(self) -> list[ActualJob]:
        """Jobs that fit."""
        return [job for job, fits in zip(self.jobs, self.fits, strict=True) if fits]


def clairvoyant_result(
    comparison: ComparisonRequest, workload: TraceSpec, results: Sequence[RunResult], out: Path, files: InputFiles,
    progress: Progress | None,
) -> ClairvoyantResult:  # fmt: skip
    """Bound and best schedule of a trace after its runs; reuse results in `out`.

    Writes `out/clairvoyant/TRACE/jobs.csv`.
    """
    seed = comparison.options.seeds[0]
    units = max(map(_unit_cores, _known_contenders(comparison)), default=0)
    settings = (f"unit_cores={units}",) if units else ()
    asked = [
        PlannedRun(workload, Contender(one.label, one.dispatcher, (*one.settings, *settings)), seed, out).request()
        for one in _CANDIDATES
    ]
    digests = sorted(str((result.metrics or {}).get("schedule_digest")) for result in results)
    key = {"requests": [record_of(one, files) for one in asked], "queues": [*QUEUES], "schedules": digests}
    folder = out / FOLDER / workload.name
    if (kept := _stored_result(folder, key)) is not None:
        return kept
    folder.mkdir(parents=True, exist_ok=True)
    inputs = load_inputs(asked[0], files)
    candidates = [read_jobs(result.folder / "jobs.csv") for result in results if result.metrics is not None]
    for one in asked:
        dispatcher = find_dispatcher(one.dispatcher, one.settings)
        candidates.append(play(inputs.platform, inputs.jobs, dispatcher, inputs.target, seed).schedule)
    case = _ClairvoyantCase(workload, inputs.platform, inputs.jobs, candidates[-1].ran.tolist(), seed, inputs.trim)
    if jobs := case.fitting:
        candidates.append(_build_schedule(case, *best_queue(case.platform, jobs, seed, progress)))
    alike = [one for one in candidates if one.ran.tolist() == case.fits]
    # If only some jobs count, the search may have improved others at their expense.
    best = min((_improve_schedule(case, alike, progress), *alike), key=lambda one: _total_wait(case, one))
    known = _evaluate_bound(case, best, progress)
    write_jobs(best, folder / "jobs.csv", workload.trace.name)
    write_json(folder / _FILE, {"key": key, "known": asdict(known)})
    return known


def _stored_result(folder: Path, key: dict[str, Any]) -> ClairvoyantResult | None:
    path = folder / _FILE
    if not path.exists() or not (folder / "jobs.csv").exists():
        return None
    try:
        record = read_json(path, ClairvoyantRecord)
    except InputError:
        return None  # compute again
    return ClairvoyantResult(**record.known.model_dump()) if record.key == key else None


def _improve_schedule(case: _ClairvoyantCase, candidates: Sequence[Schedule], progress: Progress | None) -> Schedule:
    jobs = case.fitting
    if not jobs:
        return candidates[-1]
    begin = min(candidates, key=lambda one: int(one.start[one.ran].sum()))
    counts = begin.placed.counts
    # A job that does not fit has no nodes, so the others' nodes are contiguous.
    placed = Placements(offsets_of(counts[begin.ran]), begin.placed.nodes, begin.placed.units)
    improving = ImprovingSchedule(jobs, case.platform, begin.start[begin.ran], placed)
    improving.improve(tries_for(len(jobs), case.platform.node_count), case.seed, progress)
    return _build_schedule(case, improving.start, improving.placed)


def _build_schedule(case: _ClairvoyantCase, start: Ints, placed: Placements) -> Schedule:
    recorder, next_one = Recorder(len(case.jobs)), 0
    for place, (job, fits) in enumerate(zip(case.jobs, case.fits, strict=True)):
        if not fits:
            recorder.record_rejection(place, "the job does not fit the machine")
            continue
        span = slice(placed.offsets[next_one], placed.offsets[next_one + 1])
        moment = int(start[next_one])
        recorder.record_placement(
            place, moment, placed.nodes[span].astype(np.int64), placed.units[span].astype(np.int64)
        )
        recorder.record_end(place, moment + job.duration)
        next_one += 1
    schedule = recorder.schedule(case.jobs, case.platform.kinds)
    # With known durations, walltimes need no capacity.
    if found := audit(schedule, case.platform, reserved=False, expected=[job.number for job in case.jobs]):
        raise ProtocolError(f"the best schedule found is not legal: {found[0]}")
    return schedule


def _counted(case: _ClairvoyantCase, schedule: Schedule) -> Floats:
    counts = np.zeros(len(schedule.number))
    counts[counted_jobs(schedule.submit, case.trim)[0]] = 1.0
    return counts[schedule.ran]


def _total_wait(case: _ClairvoyantCase, schedule: Schedule) -> float:
    return float((_counted(case, schedule) * (schedule.start - schedule.submit)[schedule.ran]).sum())


def _evaluate_bound(case: _ClairvoyantCase, best: Schedule, progress: Progress | None) -> ClairvoyantResult:
    ran = best.ran
    weight = _counted(case, best)
    number = int(weight.sum())
    if not number:
        return ClairvoyantResult(case.workload.name, 0, None, None)
    demand = SharedDemand.of_jobs(case.fitting, case.platform)
    earliest = best.earliest[ran]
    before = float((weight * (earliest - best.submit[ran])).sum())
    reached = _total_wait(case, best) - before
    until = int((best.finish[ran]).max()) - demand.begin
    bound = least_wait(demand, weight, reached, until, progress=progress)
    if bound > reached + 1e-6 * max(1.0, reached):
        found = f"the total wait of a schedule is {reached} s, below the bound of {bound} s"
        raise ProtocolError(f"{case.workload.name}: {found}")
    return ClairvoyantResult(
        case.workload.name, number, (min(bound, reached) + before) / number, (reached + before) / number
    )
