"""Live jobs and submissions, and their journal format."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from dardis.live.job_request import JobAsked
from dardis.live.journal import SubmissionRow
from dardis.live.keeper.log_records import NEVER_BEGUN
from dardis.model.addresses import JobId


class State(StrEnum):
    """State of a job."""

    HELD = "held"
    WAITING = "waiting"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"
    """Start or end unknown. Reruns only on request."""

    @property
    def is_over(self) -> bool:
        """Whether the job has ended."""
        return self not in (State.HELD, State.WAITING, State.RUNNING)


@dataclass(frozen=True, slots=True)
class Asker:
    """User of a job."""

    uid: int
    gid: int
    name: str
    groups: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Submission:
    """Jobs submitted together: a job or an array."""

    first: int
    asker: Asker
    asked: JobAsked
    script: str
    """Text to run; empty: run the command in `asked`."""
    environment: Mapping[str, str]
    cwd: str
    submitted_ms: int
    key: str | None = None

    @property
    def size(self) -> int:
        """Bytes of command, environment and script."""
        texts = [*self.asked.argv, *self.environment, *self.environment.values(), self.script]
        return sum(map(len, map(str.encode, texts)))

    @property
    def indices(self) -> Sequence[int] | None:
        """Indices of the array."""
        return None if self.asked.array is None else self.asked.array.indices

    @property
    def count(self) -> int:
        """Number of jobs."""
        return 1 if self.indices is None else len(self.indices)

    def row(self, *, over: bool) -> SubmissionRow:
        """Convert to a row of the journal."""
        who = self.asker
        value = {
            "asker": [who.uid, who.gid, who.name, list(who.groups)], "asked": self.asked.as_dict(),
            "script": self.script, "environment": dict(self.environment), "cwd": self.cwd,
            "submitted_ms": self.submitted_ms,
        }  # fmt: skip
        return SubmissionRow(self.first, self.count, who.uid, self.key, over, json.dumps(value, ensure_ascii=False))

    @classmethod
    def from_row(cls, row: SubmissionRow) -> Submission:
        """Convert from a row of the journal."""
        value = json.loads(row.value)
        uid, gid, name, groups = value["asker"]
        return cls(
            row.first, Asker(uid, gid, name, tuple(groups)), JobAsked.from_dict(value["asked"]), value["script"],
            value["environment"], value["cwd"], value["submitted_ms"], row.key,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Share:
    """Resources of a job on a node: core and GPU numbers."""

    node: str
    cores: tuple[int, ...]
    gpus: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Led:
    """Incarnation of a supervisor at the start or latest report of a job."""

    mark: str
    leased: bool


@dataclass(slots=True)
class LiveJob:
    """A job and its state. Times in Unix ms."""

    number: JobId
    of: Submission
    state: State = State.WAITING
    why: str = ""
    attempt: int = 0
    """Number of start orders."""
    host: str = ""
    """Host of the last run; empty: none since waiting."""
    hosts: dict[str, Led] = field(default_factory=dict)
    """Hosts that may still run the last run. A rerun waits for these."""
    shares: tuple[Share, ...] = ()
    started_ms: int | None = None
    ended_ms: int | None = None
    code: int | None = None
    signal: int | None = None
    cancelled: bool = field(default=False)
    """Cancelled by a user."""
    rests: bool = field(default=False)
    """Waits for the end of the last run."""

    @property
    def run(self) -> str:
        """Name of the last run."""
        return f"{self.number}.{self.attempt}"

    @property
    def mark(self) -> str:
        """Incarnation of the supervisor of the run; empty: no run."""
        return self.hosts[self.host].mark if self.host in self.hosts else ""

    @property
    def leased(self) -> bool:
        """Whether the run ends with the lease."""
        return self.host in self.hosts and self.hosts[self.host].leased

    @property
    def index(self) -> int | None:
        """Array index."""
        indices = self.of.indices
        return None if indices is None else indices[self.number - self.of.first]

    def ended_how(self, why: str, *, lacked_memory: bool) -> tuple[State, str]:
        """State and reason, given an end reason.

        `lacked_memory`: the kernel killed a process at the memory limit.
        """
        if why == "walltime":
            return State.TIMEOUT, f"was killed at its walltime of {self.of.asked.walltime_s} s"
        if why in ("cancelled", NEVER_BEGUN) or (self.cancelled and self.code != 0):
            return State.CANCELLED, "cancelled"
        if why != "exit":
            return State.FAILED, why
        if self.code == 0:
            return State.COMPLETED, ""
        limit = self.of.asked.memory_mib
        return State.FAILED, f"something of it was killed at its limit of {limit} MiB memory" if lacked_memory else ""

    def text(self) -> str:
        """State as text for the journal."""
        shares = [[share.node, share.cores, share.gpus] for share in self.shares]
        hosts = {host: [led.mark, led.leased] for host, led in self.hosts.items()}
        return json.dumps([
            self.state, self.why, self.attempt, self.host, hosts, shares, self.started_ms, self.ended_ms, self.code,
            self.signal, self.cancelled,
        ])  # fmt: skip

    @staticmethod
    def end_in(text: str) -> int | None:
        """End in a journal text, ms; None: not ended or unknown."""
        state, *_, ended_ms, _code, _signal, _cancelled = json.loads(text)
        return ended_ms if State(state).is_over and state != State.UNKNOWN else None

    def recall(self, text: str) -> None:
        """Restore the state from a journal text."""
        (
            state, self.why, self.attempt, self.host, hosts, shares, self.started_ms, self.ended_ms, self.code,
            self.signal, self.cancelled,
        ) = json.loads(text)  # fmt: skip
        self.state = State(state)
        self.hosts = {host: Led(mark, leased) for host, (mark, leased) in hosts.items()}
        self.rests = self.state is State.WAITING and bool(self.hosts)
        self.shares = tuple(Share(node, tuple(cores), tuple(gpus)) for node, cores, gpus in shares)

    def as_dict(self) -> dict[str, Any]:
        """Convert to JSON values."""
        submission = self.of
        return {
            **submission.asked.as_dict(), "id": self.number,
            "array": None if submission.indices is None else submission.first, "index": self.index,
            "name": submission.asked.name, "user": submission.asker.name, "state": self.state, "why": self.why,
            "attempt": self.attempt, "submitted_ms": submission.submitted_ms, "started_ms": self.started_ms,
            "ended_ms": self.ended_ms, "code": self.code, "signal": self.signal, "host": self.host,
            "nodes": [share.node for share in self.shares], "node_count": submission.asked.nodes,
            "cwd": submission.cwd,
        }  # fmt: skip


def job_of(submission: Submission, number: int, become: str | None) -> LiveJob:
    """Job with its journal state; None: new."""
    hold = submission.asked.hold
    job = LiveJob(JobId(number), submission, State.HELD if hold else State.WAITING, "held by its asker" if hold else "")
    if become is not None:
        job.recall(become)
    return job


def jobs_of(submission: Submission, become: Mapping[int, str]) -> list[LiveJob]:
    """All jobs with journal states."""
    numbers = range(submission.first, submission.first + submission.count)
    return [job_of(submission, number, become.get(number)) for number in numbers]


def new_jobs(submission: Submission) -> list[LiveJob]:
    """All jobs as new."""
    return jobs_of(submission, {})
