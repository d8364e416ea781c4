"""Read-only shadow of a Slurm cluster: records its jobs and states expected starts.

A round calls `squeue` and `scontrol show node` once each. Nothing is written to Slurm.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dardis.config.slurm.slurm_fields import SlurmSite
from dardis.config.slurm.slurm_reader import parse_slurm
from dardis.model.errors import InputError
from dardis.slurm.expected_starts import SlurmStarts, learned_number
from dardis.slurm.job_record import SlurmJobRecord, ended_cells
from dardis.slurm.shadow_folder import ExpectedStart, LoggedExpectation, ShadowFolder
from dardis.slurm.slurm_client import QUEUE, SlurmError, SlurmPrograms
from dardis.slurm.slurm_job import RecordedJobs, SlurmJob, squeue_jobs
from dardis.workload.slurm_texts import JobPhase

NODES: Final = ("scontrol", "show", "node", "-o")
LEARNED_S: Final = 120 * 86_400
"""Age of the oldest jobs to learn from at the start."""
NODES_S: Final = 600
"""Time between writes of the nodes, which change with every load average."""
LOG_S: Final = 3600
"""Time between logged expectations of a job."""
_MOST_AHEAD_S: Final = 60


@dataclass(frozen=True)
class ShadowRound:
    """A round: jobs and nodes, malformed jobs, and duration of Slurm's answers."""

    jobs: tuple[SlurmJob, ...]
    site: SlurmSite
    malformed: tuple[str, ...]
    seconds: float
    nodes_text: str

    @property
    def running(self) -> int:
        """Number of running jobs."""
        return sum(job.is_running for job in self.jobs)

    @property
    def waiting(self) -> int:
        """Number of waiting jobs, with waiting tasks of arrays."""
        return sum(job.tasks for job in self.jobs if job.phase is JobPhase.WAITS)


class Shadow:
    """The shadow's state."""

    def __init__(self, folder: ShadowFolder, programs: SlurmPrograms, past: RecordedJobs) -> None:
        self._folder, self._programs, self._starts = folder, programs, SlurmStarts()
        self._past: Sequence[SlurmJob] | None = past.jobs
        self._record = SlurmJobRecord(job for job in past.jobs if job.phase is JobPhase.ENDED)
        self._unwritten: list[Mapping[str, str]] = []
        self._logged: dict[int, int] = {}
        self._nodes_due = self._failed_rounds = 0
        self._figures: dict[str, float] = {}

    def round(self, now: int) -> ShadowRound:
        """Read Slurm at `now`, Unix s, and write the folder.

        Raises SlurmError if a call failed or its output is incomplete, or OSError if the folder cannot be written. The
        next round then writes what is missing.
        """
        try:
            found = self._read(now)
        except (SlurmError, InputError) as error:
            self._failed_rounds += 1
            self._folder.write_metrics(self._figures | {"failed_rounds": self._failed_rounds})
            raise SlurmError(str(error)) from None
        if self._past is not None:
            self._starts.learn(self._past, found.site, now)
            self._past = None
        changes = self._record.observe(found.jobs, now, is_complete=not found.malformed)
        jobs = self._record.jobs
        self._starts.on_changes(changes, found.site)
        expected = self._starts.expect(jobs, now)
        self._unwritten += [ended_cells(job, end) for job, end in changes.ended]
        self._folder.add_ended(self._unwritten)
        self._unwritten.clear()
        if now >= self._nodes_due:
            self._folder.write_nodes(found.nodes_text)
            self._nodes_due = now + NODES_S
        self._folder.write_current(jobs, now)
        self._folder.write_expected(jobs, expected)
        self._log(jobs, expected, now)
        self._figures = self._figures_of(found, expected, now)
        self._folder.write_metrics(self._figures)
        return found

    def _read(self, now: int) -> ShadowRound:
        queue, nodes = self._programs.call(*QUEUE), self._programs.call(*NODES)
        jobs, malformed = squeue_jobs(QUEUE[0], queue.text)
        begun = [job.start for job in jobs if job.start is not None and job.is_running]
        if begun and (ahead := max(begun) - now) > _MOST_AHEAD_S:
            raise SlurmError(f"this host's clock is {ahead} s behind Slurm's")
        site = parse_slurm(Path("scontrol show node"), nodes.text)
        return ShadowRound(tuple(jobs), site, tuple(malformed), queue.seconds + nodes.seconds, nodes.text)

    def _log(self, jobs: Sequence[SlurmJob], expected: Mapping[int, ExpectedStart], now: int) -> None:
        """Log expectations of new jobs, and once an hour. Arrays have one, of the next task."""
        waiting = {learned_number(job): job for job in reversed(jobs) if job.number in expected}
        due = {number: job for number, job in waiting.items() if now - self._logged.get(number, now - LOG_S) >= LOG_S}
        self._folder.log_expected(
            (LoggedExpectation(number, now, expected[job.number], job.slurm_start) for number, job in due.items()), now
        )
        known = {learned_number(job) for job in jobs}
        self._logged = {number: at for number, at in self._logged.items() if number in known} | dict.fromkeys(due, now)

    def _figures_of(self, found: ShadowRound, expected: Mapping[int, ExpectedStart], now: int) -> dict[str, float]:
        waits = sorted(start.expected - now for start in expected.values())
        busy = sum(node.state.is_busy for node in found.site.nodes)
        return {
            "time_seconds": now,
            "running_jobs": found.running,
            "waiting_jobs": found.waiting,
            "nodes": len(found.site.nodes),
            "busy_nodes": busy,
            "median_expected_wait_seconds": waits[len(waits) // 2] if waits else 0.0,
            "answer_seconds": found.seconds,
            "failed_rounds": self._failed_rounds,
        }
