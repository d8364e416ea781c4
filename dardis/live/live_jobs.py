"""Live jobs and submissions, and their journal format."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from dardis.live.exit_codes import TIMED_OUT
from dardis.live.job_request import JobRequest
from dardis.live.journal import SubmissionRow
from dardis.live.keeper.log_records import NEVER_BEGUN
from dardis.model.addresses import JobId


class LiveJobState(StrEnum):
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
        return self not in (LiveJobState.HELD, LiveJobState.WAITING, LiveJobState.RUNNING)


@dataclass(frozen=True, slots=True)
class JobUser:
    """Job's user."""

    uid: int
    gid: int
    name: str
    groups: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Submission:
    """Jobs submitted together: a job or an array."""

    first: int
    user: JobUser
    request: JobRequest
    script: str
    """Empty: run the command in `request`."""
    environment: Mapping[str, str]
    cwd: str
    submitted_ms: int
    key: str | None = None
    items: tuple[str, ...] = ()
    """Of each job, for placeholders."""
    has_json_items: bool = False

    @property
    def size(self) -> int:
        """Bytes of command, environment and script."""
        texts = [*self.request.argv, *self.environment, *self.environment.values(), self.script]
        return sum(map(len, map(str.encode, texts)))

    @property
    def indices(self) -> Sequence[int] | None:
        """Array's indices."""
        return None if self.request.array is None else self.request.array.indices

    def item(self, number: int) -> str | None:
        """Job's item; None: the submission has none."""
        return self.items[number - self.first] if self.items else None

    @property
    def count(self) -> int:
        """Number of jobs."""
        return 1 if self.indices is None else len(self.indices)

    def row(self, *, over: bool) -> SubmissionRow:
        """Convert to a row of the journal."""
        who = self.user
        value = {
            "asker": [who.uid, who.gid, who.name, list(who.groups)], "asked": self.request.as_dict(),
            "script": self.script, "environment": dict(self.environment), "cwd": self.cwd,
            "submitted_ms": self.submitted_ms,
        }  # fmt: skip
        if self.items:
            value |= {"items": self.items, "json_items": self.has_json_items}
        return SubmissionRow(self.first, self.count, who.uid, self.key, over, json.dumps(value, ensure_ascii=False))

    @classmethod
    def from_row(cls, row: SubmissionRow) -> Submission:
        """Convert from a row of the journal."""
        value = json.loads(row.value)
        uid, gid, name, groups = value["asker"]
        return cls(
            row.first, JobUser(uid, gid, name, tuple(groups)), JobRequest.from_dict(value["asked"]), value["script"],
            value["environment"], value["cwd"], value["submitted_ms"], row.key, tuple(value.get("items", ())),
            value.get("json_items", False),
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class NodeShare:
    """Resources of a job on a node: core and GPU numbers."""

    node: str
    cores: tuple[int, ...]
    gpus: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class HostIncarnation:
    """Incarnation of a supervisor at the start or latest report of a job."""

    incarnation: str
    leased: bool


@dataclass(slots=True)
class LiveJob:
    """Job and its state. Times in Unix ms."""

    number: JobId
    submission: Submission
    state: LiveJobState = LiveJobState.WAITING
    why: str = ""
    attempt: int = 0
    """Number of start orders."""
    host: str = ""
    """Of the last run; empty: none since waiting."""
    hosts: dict[str, HostIncarnation] = field(default_factory=dict)
    """These may still run the last run. A rerun waits for them."""
    shares: tuple[NodeShare, ...] = ()
    started_ms: int | None = None
    ended_ms: int | None = None
    code: int | None = None
    signal: int | None = None
    cancelled: bool = field(default=False)
    retried: int = 0
    retry_ms: int | None = None
    node_mw: int | None = None
    """Of the last run, per node, mW."""
    measured_mw: int | None = None
    """Of the ended run, per node, mW; None: not measured."""
    is_pending_rerun: bool = field(default=False)

    @property
    def run(self) -> str:
        """Name of the last run."""
        return f"{self.number}.{self.attempt}"

    @property
    def incarnation(self) -> str:
        """Incarnation of the run's supervisor; empty: no run."""
        return self.hosts[self.host].incarnation if self.host in self.hosts else ""

    @property
    def leased(self) -> bool:
        """Whether the run ends with the lease."""
        return self.host in self.hosts and self.hosts[self.host].leased

    @property
    def index(self) -> int | None:
        """Array index."""
        indices = self.submission.indices
        return None if indices is None else indices[self.number - self.submission.first]

    @property
    def begin_ms(self) -> int:
        """Earliest start, Unix ms; 0: any."""
        return max(self.submission.request.begin_ms or 0, self.retry_ms or 0)

    @property
    def may_retry(self) -> bool:
        """Whether a failed job runs again."""
        asked = self.submission.request
        code = self.code if self.signal is None else 128 + self.signal
        code = TIMED_OUT if self.state is LiveJobState.TIMEOUT else code
        failed = self.state in (LiveJobState.FAILED, LiveJobState.TIMEOUT) and not self.cancelled
        return failed and self.retried < asked.retries and (not asked.retry_codes or code in asked.retry_codes)

    def end_state(self, why: str, *, lacked_memory: bool) -> tuple[LiveJobState, str]:
        """State and reason, by end reason.

        `lacked_memory`: the kernel killed a process at the memory limit.
        """
        if why == "walltime":
            return LiveJobState.TIMEOUT, f"was killed at its walltime of {self.submission.request.walltime_s} s"
        if why in ("cancelled", NEVER_BEGUN) or (self.cancelled and self.code != 0):
            return LiveJobState.CANCELLED, "cancelled"
        if why != "exit":
            return LiveJobState.FAILED, why
        if self.code == 0:
            return LiveJobState.COMPLETED, ""
        limit = self.submission.request.memory_mib
        return (
            LiveJobState.FAILED,
            f"a process was killed at the memory limit of {limit} MiB" if lacked_memory else "",
        )

    def text(self) -> str:
        """State as text for the journal."""
        shares = [[share.node, share.cores, share.gpus] for share in self.shares]
        hosts = {host: [led.incarnation, led.leased] for host, led in self.hosts.items()}
        return json.dumps([
            self.state, self.why, self.attempt, self.host, hosts, shares, self.started_ms, self.ended_ms, self.code,
            self.signal, self.cancelled, self.retried, self.retry_ms, self.node_mw, self.measured_mw,
        ])  # fmt: skip

    @staticmethod
    def end_from_text(text: str) -> int | None:
        """End in a journal text, ms; None: none or unknown."""
        state, _, _, _, _, _, _, ended_ms, *_ = json.loads(text)
        return ended_ms if LiveJobState(state).is_over and state != LiveJobState.UNKNOWN else None

    def restore(self, text: str) -> None:
        """Restore the state from a journal text."""
        (
            state, self.why, self.attempt, self.host, hosts, shares, self.started_ms, self.ended_ms, self.code,
            self.signal, self.cancelled, *more,
        ) = json.loads(text)  # fmt: skip
        # Rows of older versions have less.
        self.retried, self.retry_ms, self.node_mw, self.measured_mw = more + [0, None, None, None][len(more) :]
        self.state = LiveJobState(state)
        self.hosts = {host: HostIncarnation(mark, leased) for host, (mark, leased) in hosts.items()}
        self.is_pending_rerun = self.state is LiveJobState.WAITING and bool(self.hosts)
        self.shares = tuple(NodeShare(node, tuple(cores), tuple(gpus)) for node, cores, gpus in shares)

    def as_dict(self) -> dict[str, Any]:
        """As JSON values."""
        submission = self.submission
        return {
            **submission.request.as_dict(), "id": self.number,
            "array": None if submission.indices is None else submission.first, "index": self.index,
            "name": submission.request.name, "user": submission.user.name, "state": self.state, "why": self.why,
            "attempt": self.attempt, "submitted_ms": submission.submitted_ms, "started_ms": self.started_ms,
            "ended_ms": self.ended_ms, "code": self.code, "signal": self.signal, "host": self.host,
            "allocated_cores": sum(len(share.cores) for share in self.shares),
            "measured_w": None if self.measured_mw is None else self.measured_mw / 1000,
            "retried": self.retried, "array_size": submission.count,
            "nodes": [share.node for share in self.shares], "node_count": submission.request.nodes,
            "cwd": submission.cwd, "uid": submission.user.uid, "has_script": bool(submission.script),
        }  # fmt: skip


def job_of(submission: Submission, number: int, become: str | None) -> LiveJob:
    """Job with its journal state; None: new."""
    hold = submission.request.hold
    job = LiveJob(
        JobId(number),
        submission,
        LiveJobState.HELD if hold else LiveJobState.WAITING,
        "held by its user" if hold else "",
    )
    if become is not None:
        job.restore(become)
    return job


def jobs_of(submission: Submission, become: Mapping[int, str]) -> list[LiveJob]:
    """All jobs with journal states."""
    numbers = range(submission.first, submission.first + submission.count)
    return [job_of(submission, number, become.get(number)) for number in numbers]


def new_jobs(submission: Submission) -> list[LiveJob]:
    """All jobs as new."""
    return jobs_of(submission, {})
