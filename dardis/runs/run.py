"""One run from its request to its folder: in this process, or over the ranks of an MPI launcher."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dardis import __version__
from dardis.config.settings import plain_settings
from dardis.engine.clock import utc_now
from dardis.metrics.downtime import DOWNTIME_FILE, switching_metrics, write_downtime
from dardis.metrics.expectations import (
    EXPECTATIONS_FILE,
    Expectations,
    expectation_metrics,
    write_expectations,
)
from dardis.metrics.power import power_report
from dardis.metrics.system import trimmed
from dardis.model.addresses import FIRST_HOST, HostId, JobId
from dardis.model.choices import Expecting
from dardis.model.events import JobChanged
from dardis.model.files import sha256_of, write_json
from dardis.model.folders import RUN_FOLDER
from dardis.model.laid_out import lay_out
from dardis.model.platform_dict import platform_to_dict
from dardis.model.schedule import Schedule
from dardis.registry import find_dispatcher
from dardis.runs.blamed import blamed
from dardis.runs.hosts import even_bounds, host_from_plan, host_plan
from dardis.runs.inputs import Inputs, load_inputs
from dardis.runs.instances import check_folder, keeper
from dardis.runs.outputs import RUN_FILE, Report, decision_figures, write_decisions, write_tables
from dardis.runs.play import Hosting, Played, heeded, play, play_over
from dardis.runs.request import RunRequest
from dardis.runs.solved import SOLVER_FILE, solver_figures, write_solved
from dardis.sim.recorder import Keep, Recorder
from dardis.sim.simulation import Progress

if TYPE_CHECKING:
    from dardis.transport.mpi import Communicator

REJECTIONS_SHOWN = 10


@dataclass(frozen=True)
class Outcome:
    """What a finished run left: its folder and its metrics."""

    out: Path
    metrics: dict[str, Any]
    rules: dict[str, int] = field(default_factory=dict)
    """Which rule said of how many jobs how long they were expected to run."""


def run(request: RunRequest, progress: Progress | None = None, report: Report | None = None) -> Outcome:
    """Simulate in this process, then draw the report, if any.

    Raises InputError before anything is written, OSError when writing fails.
    """
    with RUN_FOLDER.held(request.out, force=request.force):
        inputs = _prepare(request)
        played = play(
            inputs.platform, inputs.jobs, inputs.dispatcher, inputs.target, request.seed,
            task_managers=request.task_managers, reach=request.reach, progress=progress,
            keep=_keeper(request), events=inputs.events,
        )  # fmt: skip
        return _write(request, inputs, played, report)


def run_over_ranks(
    comm: Communicator, request: RunRequest, progress: Progress | None = None, report: Report | None = None
) -> Outcome | int:
    """Simulate over all ranks: rank 0 reads, drives and writes; every rank holds nodes.

    A central dispatcher runs on rank 0 alone; the other ranks have nothing to do.

    Returns the outcome on rank 0, elsewhere the exit status. What rank 0 raises before the run ends all ranks quietly.
    """
    from dardis.transport.mpi import MpiHosts, led_by_first, serve

    def prepare(stack: ExitStack) -> tuple[Any, Callable[[], Outcome]]:
        stack.enter_context(RUN_FOLDER.held(request.out, force=request.force))
        inputs = _prepare(request)
        machine = lay_out(inputs.platform).machine
        bounds = even_bounds(machine.node_count, comm.size)
        dispatcher = inputs.dispatcher
        if not dispatcher.setup.asks_nodes:
            played = play(
                inputs.platform, inputs.jobs, dispatcher, inputs.target, request.seed, progress=progress,
                keep=_keeper(request), events=inputs.events,
            )  # fmt: skip
            outcome = _write(request, inputs, played, report)
            return 0, lambda: outcome
        plan = host_plan(machine, heeded(dispatcher, inputs.target), bounds, request.seed)
        plan["dispatcher"] = [request.dispatcher, list(request.settings)]

        def lead() -> Outcome:
            with blamed(dispatcher):
                mine = host_from_plan(plan, FIRST_HOST, dispatcher.pool)
            played = play_over(
                Hosting(MpiHosts(comm, mine), bounds), inputs.platform, inputs.jobs, dispatcher, inputs.target,
                request.seed, task_managers=request.task_managers, reach=request.reach, progress=progress,
                events=inputs.events,
            )  # fmt: skip
            return _write(request, inputs, played, report)

        return plan, lead

    def be_host(plan: dict[str, Any]) -> int:
        dispatcher = find_dispatcher(*plan["dispatcher"])
        with blamed(dispatcher):
            dispatcher.warm(wished=plan["desired"] is not None)
            gc.freeze()
            serve(comm, host_from_plan(plan, HostId(comm.rank), dispatcher.pool))
        return 0

    return led_by_first(comm, prepare, be_host)


def _prepare(request: RunRequest) -> Inputs:
    if request.save_instances is not None:
        check_folder(request.save_instances, request.dispatcher, request.out, force=request.force)
    inputs = load_inputs(request)
    for warning in inputs.warnings:
        _tell(f"warning: {warning}")
    with blamed(inputs.dispatcher):
        inputs.dispatcher.warm(wished=inputs.target.desired is not None)
    gc.freeze()  # what has been read lives as long as the run: not to look through it saves 5 % of the CPU
    return inputs


def _keeper(request: RunRequest) -> Keep | None:
    """What keeps the decisions of models, if they are asked for."""
    if request.save_instances is None:
        return None
    return keeper(request.save_instances)


def _tell(line: str) -> None:
    print(f"dardis: {line}", file=sys.stderr, flush=True)  # noqa: T201 (warnings go to standard error)


def _write(request: RunRequest, inputs: Inputs, played: Played, report: Report | None) -> Outcome:
    """Write what came of the run to its folder, and draw the report."""
    jobs, recorder, figures = played.jobs, played.recorder, played.figures
    schedule, platform = played.schedule, played.site.as_it_became
    for note in played.site.notes:
        _tell(note)
        inputs.warnings.append(note)
    more = decision_figures(recorder.decision_ns, recorder.upkeep_ns) | figures
    rejected = [(jobs[place].number, reason) for place, reason in sorted(recorder.reasons.items())]
    for number, reason in rejected[:REJECTIONS_SHOWN]:
        _tell(f"job {number} rejected: {reason}")
    if len(rejected) > REJECTIONS_SHOWN:
        _tell(f"and {len(rejected) - REJECTIONS_SHOWN} more jobs rejected, each with its reason in {RUN_FILE}")
    downtime = recorder.downtime() if inputs.target.switching else None
    window = trimmed(schedule, request.trim)[1]
    power = power_report(inputs.power, schedule, window, downtime) if inputs.power else None
    for warning in power.warnings if power else ():
        _tell(f"warning: {warning}")
        inputs.warnings.append(warning)
    delays = None if inputs.dispatcher.setup.drawn else np.array(recorder.boot_delay, dtype=np.int64)
    more |= switching_metrics(schedule, platform, downtime, delays) if downtime else {}
    expected = _expectations(inputs, recorder, schedule)
    if expected is not None:
        more |= expectation_metrics(schedule, expected.duration, trimmed(schedule, request.trim)[0])
    more |= solver_figures(recorder.solved)
    predicts = any(recorder.rules)
    if predicts:
        more["prediction_cpu_s"] = recorder.predictor_ns / 1e9
    with RUN_FOLDER.written_together(request.out) as part:
        if expected and predicts:
            write_expectations(part / EXPECTATIONS_FILE, schedule, expected)
        if downtime:
            write_downtime(part / DOWNTIME_FILE, downtime)
        metrics = write_tables(
            part, schedule, platform, inputs.target.desired, request.trim, request.trace.name, more, power
        )
        write_decisions(part / "decisions.csv", recorder.decision_ns)
        if recorder.solved:
            write_solved(part / SOLVER_FILE, recorder.solved)
        write_json(part / RUN_FILE, _run_record(request, inputs, played, rejected))
    if report is not None:
        report(request.out)
    return Outcome(request.out, metrics, expected.rules() if expected and predicts else {})


def _expectations(inputs: Inputs, recorder: Recorder, schedule: Schedule) -> Expectations | None:
    """How long jobs were expected to run; None where nobody goes by it."""
    match inputs.dispatcher.setup.expecting:
        case None:
            return None
        case Expecting.WALLTIME:
            return Expectations(schedule.walltime, [Expecting.WALLTIME] * len(schedule.walltime))
    return Expectations(np.array(recorder.expected, dtype=np.int64), recorder.rules)


def _run_record(
    request: RunRequest, inputs: Inputs, played: Played, rejected: list[tuple[JobId, str]]
) -> dict[str, Any]:
    """Everything needed to run it again."""
    return {
        "dardis_version": __version__,
        "command": sys.argv,
        "dispatcher": request.dispatcher,
        "settings": plain_settings(inputs.dispatcher.setup),
        "seed": request.seed,
        "trace": str(request.trace.resolve()),
        "trace_sha256": inputs.record["trace"],
        "jobs": request.jobs,
        "from_s": request.start,
        "to_s": request.end,
        "think_times": request.think_times,
        "platform_file": str(request.platform.resolve()),
        "platform": platform_to_dict(played.site.as_it_became),
        "platform_files_sha256": dict(
            zip(inputs.platform.facility.files, inputs.record["platform_files"], strict=True)
        ),
        "profile_file": str(request.profile.resolve()) if request.profile else None,
        "profile_sha256": inputs.record["profile"],
        "events_file": str(request.events.resolve()) if request.events else None,
        "events_sha256": inputs.record["events"],
        "changed": _changed(inputs, played),
        "deadlines": inputs.deadlines,
        "deadlines_stated": inputs.deadlines_stated,
        "deadlines_sha256": sha256_of(Path(inputs.deadlines)),
        "strict": request.strict,
        "task_managers": request.task_managers,
        "arity": request.arity or "flat",
        "sample": request.sample or None,
        "trim": request.trim,
        "ranks": played.figures["ranks"],
        "unix_start": inputs.unix_start,
        "warnings": inputs.warnings,
        "skipped": inputs.skipped,
        "rejected": [{"job": number, "reason": reason} for number, reason in rejected],
        "started_utc": utc_now(),
        "request": inputs.record,
    }


def _changed(inputs: Inputs, played: Played) -> list[dict[str, Any]]:
    """What events have made of single jobs: what they asked for in the end, and how long their nodes let them run."""
    named = {event.job for event in inputs.events if isinstance(event, JobChanged)}
    return [
        {"job": job.number, "walltime_s": job.walltime, "queue": job.queue, "ran_s": played.recorder.cut.get(place)}
        for place, job in enumerate(played.jobs)
        if job.number in named or place in played.recorder.cut
    ]
