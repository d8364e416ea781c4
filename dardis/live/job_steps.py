"""Job steps: commands of a running job on its nodes, and their output.

A step is a run, known to supervisors only. If it outlives its job, it is an orphaned run.
"""

from __future__ import annotations

import os
import stat
from base64 import b64encode
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from dardis.live.gateway_orders import EndRun, ForgetRun, Order
from dardis.live.job_files import SmallFile
from dardis.live.live_jobs import JobUser, LiveJob
from dardis.live.orphaned_runs import OrphanedRuns, is_step, job_run
from dardis.model.errors import InputError

UNATTENDED_S: Final = 60.0
"""Longest life without a client, s."""
MOST_STEPS: Final = 100_000


@dataclass(frozen=True, slots=True)
class StepCommand:
    """Step's command."""

    argv: Sequence[str]
    environment: Mapping[str, str]
    cwd: str
    stdin: str | None = None
    """None: no input."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Variables that replace those of the job."""
    cores: Sequence[int] = ()
    """Cores of the job on the node; empty: all."""


@dataclass(slots=True, eq=False)
class JobStep:
    """Job step."""

    run: str
    host: str
    incarnation: str
    is_started: bool = False
    record: Mapping[str, Any] | None = None
    """Exit record; None: not over."""
    is_lost: bool = False
    """The host was given up."""
    clients: int = 0
    is_unwanted: bool = False
    unattended_since_s: float | None = None
    is_end_ordered: bool = False


class JobSteps:
    """Steps of all running jobs."""

    def __init__(self, strays: OrphanedRuns, order: Callable[[Order], None]) -> None:
        self._strays, self._order = strays, order
        self._of: dict[str, dict[str, JobStep]] = {}
        self._done: dict[str, set[str]] = {}
        """Finished steps, which must not start again."""
        self.changed: set[str] = set()

    def get(self, run: str) -> JobStep | None:
        """Step by name."""
        return self._of.get(job_run(run), {}).get(run)

    def live_steps(self) -> Iterator[JobStep]:
        """Yield live steps."""
        return (
            part for parts in self._of.values() for part in parts.values() if part.is_started and part.record is None
        )

    def of_run(self, run: str) -> list[JobStep]:
        """Steps of a run of a job."""
        return list(self._of.get(run, {}).values())

    def add(self, job: LiveJob, run: str, host: str, mark: str) -> JobStep:
        """Add a step. Raises InputError for a finished step, or too many."""
        done = self._done.get(job.run, set())
        if run in done:
            raise InputError("number", f"step {run} has ended", "a new number")
        if len(self._of.get(job.run, ())) + len(done) >= MOST_STEPS:
            raise InputError("exec", f"job {job.number} has started {MOST_STEPS} job steps", "no further step")
        part = self._of.setdefault(job.run, {})[run] = JobStep(run, host, mark)
        return part

    def mark_started(self, part: JobStep) -> bool:
        """Mark a step as started; return whether to start."""
        if self.get(part.run) is part:
            part.is_started = True
        return part.is_started

    def on_step_record(self, record: Mapping[str, Any], job: LiveJob, host: str, mark: str) -> None:
        """Handle a report about a step."""
        run = record["run"]
        part = self._of.setdefault(job.run, {}).setdefault(run, JobStep(run, host, mark))
        part.host, part.incarnation, part.is_started = host, mark, True
        if record["state"] != "running":
            self._end(part, record)
        elif job.cancelled or part.is_unwanted:
            self._order(EndRun(run, host))

    def on_host_report(self, host: str, told: Container[str], marks: Container[str], why: str) -> None:
        """Handle a host's complete report. `why`: reason for missing steps."""
        for part in [part for parts in self._of.values() for part in parts.values() if part.host == host]:
            if part.run in told or part.record is not None:
                continue
            if part.incarnation in marks:  # not started; a new request may start the step
                self._drop(part)
            else:
                self._end(part, unknown_record(part.run, why))

    def discard(self, part: JobStep) -> None:
        """End or forget an unwanted step."""
        part.is_unwanted = True
        if part.record is not None:
            self._forget(part)
        elif part.is_started:
            self._order(EndRun(part.run, part.host))
        else:
            self._forget(part)

    def cancel(self, job: LiveJob) -> None:
        """End all steps of a job."""
        for part in self._of.get(job.run, {}).values():
            if part.is_started and part.record is None:
                self._order(EndRun(part.run, part.host))

    def orphan_steps(self, job: LiveJob) -> bool:
        """Turn steps of an ended run into orphaned runs. Return whether any live."""
        goes_on = False
        for part in self._of.pop(job.run, {}).values():
            self.changed.add(part.run)
            if part.is_started:
                goes_on |= part.record is None
                self._order(self._strays.on_run_record(part.run, part.host, job, over=part.record is not None))
        self._done.pop(job.run, None)
        return goes_on

    def give_up(self, job: LiveJob, host: str, why: str) -> None:
        """End the steps of a job on a host as unknown."""
        for part in [*self._of.get(job.run, {}).values()]:
            if part.host == host:
                part.is_lost = True
                self._end(part, part.record or unknown_record(part.run, why))

    def end_unattended(self, now_s: float, may_follow: Callable[[JobStep], bool]) -> None:
        """End steps without clients. `now_s` is monotonic."""
        for part in self.live_steps():
            if part.clients or not may_follow(part):
                part.unattended_since_s, part.is_end_ordered = None, False
            elif part.unattended_since_s is None:
                part.unattended_since_s = now_s
            elif now_s - part.unattended_since_s >= UNATTENDED_S and not part.is_end_ordered:
                part.is_end_ordered = True
                self._order(EndRun(part.run, part.host))

    def _end(self, part: JobStep, record: Mapping[str, Any]) -> None:
        part.record = record
        self.changed.add(part.run)
        if part.is_unwanted:
            self._forget(part)

    def _forget(self, part: JobStep) -> None:
        self._drop(part)
        self._done.setdefault(job_run(part.run), set()).add(part.run)
        self._order(ForgetRun(part.run, part.host))

    def _drop(self, part: JobStep) -> None:
        self.changed.add(part.run)
        self._of[job_run(part.run)].pop(part.run, None)


def unknown_record(run: str, why: str) -> Mapping[str, Any]:
    """Exit record for an unknown end."""
    return {"run": run, "state": "unknown", "code": None, "signal": None, "why": why}


STREAMS: Final = ("out", "err")
FOLDER: Final = "parts"
MOST_PIECE: Final = 1 << 16


def step_files(run: str, asker: JobUser) -> list[SmallFile]:
    """Output files of a step, empty, for the user only."""
    return [SmallFile(step_output_path(run, stream), "", 0o600, (asker.uid, asker.gid)) for stream in STREAMS]


def step_output_path(run: str, stream: str) -> str:
    """Path of a stream in the host's folder."""
    return f"{FOLDER}/{run}.{stream}"


def read_pieces(folder: Path, run: str, offsets: Mapping[str, int]) -> dict[str, str]:
    """New output in base64, by stream."""
    pieces = {stream: _piece(folder / step_output_path(run, stream), offsets[stream]) for stream in STREAMS}
    return {stream: b64encode(piece).decode() for stream, piece in pieces.items() if piece}


def _piece(path: Path, offset: int) -> bytes:
    with suppress(OSError):
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            if stat.S_ISREG(os.fstat(file).st_mode):
                return os.pread(file, MOST_PIECE, offset)
        finally:
            os.close(file)
    return b""


def remove_step_output(folder: Path, runs: Iterable[str]) -> None:
    """Remove the output of steps."""
    for run in filter(is_step, runs):
        for stream in STREAMS:
            with suppress(OSError):
                (folder / step_output_path(run, stream)).unlink()


def prune_step_output(folder: Path, runs: Container[str]) -> None:
    """Remove the output of all other steps."""
    for path in (folder / FOLDER).glob("*"):
        if path.stem not in runs:
            with suppress(OSError):
                path.unlink()
