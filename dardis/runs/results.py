"""Run's results: figures and files."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dardis import __version__
from dardis.config.run_spec import JobsSpec, RunSpec
from dardis.config.settings import plain_settings
from dardis.metrics.audit import audit
from dardis.metrics.cores import core_sets
from dardis.metrics.job_metrics import (
    EXPECTATIONS_FILE,
    Expectations,
    expectation_metrics,
    makespan,
    write_expectations,
    write_metrics_by,
)
from dardis.metrics.job_rules import Violation
from dardis.metrics.jobs_csv import write_jobs
from dardis.metrics.requested_jobs import ChangedJob, RequestedJobs
from dardis.metrics.system import (
    DOWNTIME_FILE,
    schedule_metrics,
    switching_metrics,
    trimmed,
    write_downtime,
    write_profile,
)
from dardis.model.addresses import JobId
from dardis.model.choices import Expecting, Resources
from dardis.model.events import JobChanged
from dardis.model.files import write_json
from dardis.model.job import ActualJob
from dardis.model.node_layout import make_layout
from dardis.model.platform import Platform, platform_to_dict
from dardis.model.schedule import Downtime, Schedule
from dardis.runs.inputs import Inputs
from dardis.runs.outputs import RUN_FILE, decision_figures, write_decisions
from dardis.runs.play import SimulatedRun
from dardis.runs.solved_instances import SOLVER_FILE, solver_figures, write_solved
from dardis.sim.recorder import Recorder

if TYPE_CHECKING:
    from dardis.metrics.power import PowerReport


@dataclass(frozen=True)
class Results:
    """Run's results."""

    request: RunSpec
    inputs: Inputs
    played: SimulatedRun
    schedule: Schedule
    metrics: dict[str, Any]
    warnings: Sequence[str]
    """Warnings about inputs, site and power."""
    downtime: Downtime | None
    """Down times of nodes; None without switching."""
    power: PowerReport | None
    expected: Expectations | None
    """Expected runtimes; None if the dispatcher uses none."""

    @property
    def platform(self) -> Platform:
        """Platform after all events."""
        return self.played.site.platform_after_events

    @property
    def rejected(self) -> list[tuple[JobId, str]]:
        """Number and reason of each rejected job."""
        jobs = self.played.jobs
        return [(jobs[place].number, reason) for place, reason in sorted(self.played.recorder.reasons.items())]

    @property
    def changed_jobs(self) -> list[dict[str, Any]]:
        """Final requests after events, and runtimes cut by nodes."""
        named = {event.job for event in self.inputs.events if isinstance(event, JobChanged)}
        cut = self.played.recorder.cut
        return [
            {"job": job.number, "walltime_s": job.walltime, "queue": job.queue, "ran_s": cut.get(place)}
            for place, job in enumerate(self.played.jobs)
            if job.number in named or place in cut
        ]

    @property
    def later_warnings(self) -> Sequence[str]:
        """Warnings unknown before the run."""
        return self.warnings[len(self.inputs.warnings) :]

    def violations(self) -> list[Violation]:
        """Violations of rules and requests; empty if legal."""
        changed = [ChangedJob(one["job"], one["walltime_s"], one["queue"], one["ran_s"]) for one in self.changed_jobs]
        asked = RequestedJobs.of(self.inputs.jobs, make_layout(self.platform).machine.kinds).apply_changes(changed)
        expected = [job.number for job in self.played.jobs]
        return audit(
            self.schedule, self.platform, expected=expected, downtime=self.downtime, asked=asked, killed=self._killed
        )

    @property
    def _killed(self) -> list[JobId]:
        return [self.played.jobs[place].number for place in self.played.recorder.killed]

    @property
    def _registered(self) -> list[ActualJob]:
        return [self.played.jobs[place] for place in self.played.recorder.registered]

    @property
    def rules(self) -> dict[str, int]:
        """Number of jobs by prediction rule."""
        return self.expected.rules() if self.expected and self._predicts else {}

    @property
    def _predicts(self) -> bool:
        return any(self.played.recorder.rules)

    def write(self, folder: Path) -> None:
        """Write the run's files, except the report. Raises OSError."""
        schedule, platform, recorder = self.schedule, self.platform, self.played.recorder
        if self.expected and self._predicts:
            write_expectations(folder / EXPECTATIONS_FILE, schedule, self.expected)
        if self.downtime:
            write_downtime(folder / DOWNTIME_FILE, self.downtime)
        cores = core_sets(schedule, platform) if self.request.resources is Resources.CORES else None
        write_jobs(schedule, folder / "jobs.csv", self.request.trace.name, cores)
        write_profile(folder / "profile.csv", schedule, platform, self.inputs.target.desired)
        write_metrics_by(folder / "metrics_by.csv", schedule, platform, trimmed(schedule, self.inputs.trim)[0])
        if self.power and self.power.account and self.power.conditions:
            from dardis.metrics.power import write_power

            write_power(folder / "power.csv", self.power.account, self.power.conditions)
        write_json(folder / "metrics.json", self.metrics)
        write_decisions(folder / "decisions.csv", recorder.decision_ns)
        if recorder.solved:
            write_solved(folder / SOLVER_FILE, recorder.solved)
        write_json(folder / RUN_FILE, self.record())

    def record(self) -> dict[str, Any]:
        """Content of run.json."""
        request, inputs, given = self.request, self.inputs, self.inputs.sources
        asked = inputs.record
        return {
            "dardis_version": __version__,
            "command": sys.argv,
            "dispatcher": request.dispatcher,
            "settings": plain_settings(inputs.dispatcher.setup),
            "seed": request.seed,
            "trace": given.absolute_text(given.trace_file),
            "trace_sha256": asked["trace"],
            "from_s": inputs.selection.start,
            "to_s": inputs.selection.end,
            **request.model_dump(mode="json", include={*JobsSpec.model_fields}),
            "rounded_up": inputs.rounding._asdict(),
            "platform_file": given.absolute_text(given.platform_file),
            "platform": platform_to_dict(self.platform),
            "platform_files_sha256": dict(zip(inputs.platform.facility.files, asked["platform_files"], strict=True)),
            "profile_file": given.absolute_text(request.profile),
            "profile_sha256": asked["profile"],
            "events_file": given.absolute_text(request.events),
            "events_sha256": asked["events"],
            "changed": self.changed_jobs,
            "killed": self._killed,
            "registered": [{"job": one.number, "id": one.job.name} for one in self._registered],
            "deadlines": inputs.deadlines,
            "deadlines_stated": inputs.deadlines_stated,
            "deadlines_sha256": None if asked["deadlines"] == request.deadlines else asked["deadlines"],
            "task_managers": request.task_managers,
            "arity": request.arity or "flat",
            "sample": request.sample or None,
            "trim": inputs.trim,
            "ranks": self.played.figures["ranks"],
            "unix_start": inputs.unix_start,
            "warnings": list(self.warnings),
            "skipped": inputs.skipped,
            "rejected": [{"job": number, "reason": reason} for number, reason in self.rejected],
            "started_utc": given.started_utc,
            "request": asked,
        }


def results_of(request: RunSpec, inputs: Inputs, played: SimulatedRun) -> Results:
    """Results of a played run."""
    recorder, schedule, platform = played.recorder, played.schedule, played.site.platform_after_events
    counted, window = trimmed(schedule, inputs.trim)
    downtime = recorder.downtime() if inputs.target.switching or recorder.has_switched else None
    power, drawn = None, {}
    if inputs.power:
        from dardis.metrics.power import power_metrics, power_report

        power = power_report(inputs.power, schedule, window, downtime)
        drawn = power_metrics(power)
    expected = _expectations(inputs, recorder, schedule)
    more: dict[str, Any] = decision_figures(recorder.decision_ns, recorder.upkeep_ns) | played.figures
    if downtime:
        delays = None if inputs.dispatcher.setup.drawn else np.array(recorder.boot_delay, dtype=np.int64)
        more |= switching_metrics(schedule, platform, downtime, delays)
    if expected is not None:
        more |= expectation_metrics(schedule, expected.duration, counted)
    more |= solver_figures(recorder.solved)
    if any(recorder.rules):
        more["prediction_cpu_s"] = recorder.predictor_ns / 1e9
    span = makespan(schedule, np.arange(len(schedule.number)))  # of all jobs, like the decisions
    metrics: dict[str, Any] = schedule_metrics(schedule, platform, inputs.target.desired, inputs.trim)
    metrics["rounded_up_cores"] = inputs.rounding.cores
    metrics |= drawn | more
    metrics |= {"overhead_share": more["decision_cpu_s"] / span if span else None, "schedule_digest": schedule.digest()}
    warnings = (*inputs.warnings, *played.site.notes, *(power.warnings if power else ()))
    return Results(request, inputs, played, schedule, metrics, warnings, downtime, power, expected)


def _expectations(inputs: Inputs, recorder: Recorder, schedule: Schedule) -> Expectations | None:
    match inputs.dispatcher.setup.expecting:
        case None:
            return None
        case Expecting.WALLTIME:
            return Expectations(schedule.walltime, [Expecting.WALLTIME] * len(schedule.walltime))
    return Expectations(np.array(recorder.expected, dtype=np.int64), recorder.rules)
