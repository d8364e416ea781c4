"""Live jobs: what was handed in together, what has become of each of them, and how both stand in the journal."""

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
    """What has become of a job."""

    HELD = "held"
    WAITING = "waiting"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"
    """It has begun, or may have, and nobody can say how it ended. It runs again only where its asker wants it."""

    @property
    def is_over(self) -> bool:
        """Whether nothing more becomes of it by itself."""
        return self not in (State.HELD, State.WAITING, State.RUNNING)


@dataclass(frozen=True, slots=True)
class Asker:
    """Who hands jobs in, and as whom they run."""

    uid: int
    gid: int
    name: str
    groups: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Submission:
    """Jobs that were handed in together: one, or those of an array."""

    first: int
    asker: Asker
    asked: JobAsked
    script: str
    """What is run; empty: the words of `asked` are."""
    environment: Mapping[str, str]
    cwd: str
    submitted_ms: int
    key: str | None = None

    @property
    def size(self) -> int:
        """Bytes of the words, the environment and the script of each of its jobs."""
        texts = [*self.asked.argv, *self.environment, *self.environment.values(), self.script]
        return sum(map(len, map(str.encode, texts)))

    @property
    def indices(self) -> Sequence[int] | None:
        """Those of an array."""
        return None if self.asked.array is None else self.asked.array.indices

    @property
    def count(self) -> int:
        """How many jobs it is."""
        return 1 if self.indices is None else len(self.indices)

    def row(self, *, over: bool) -> SubmissionRow:
        """As the journal has it."""
        who = self.asker
        value = {
            "asker": [who.uid, who.gid, who.name, list(who.groups)], "asked": self.asked.as_dict(),
            "script": self.script, "environment": dict(self.environment), "cwd": self.cwd,
            "submitted_ms": self.submitted_ms,
        }  # fmt: skip
        return SubmissionRow(self.first, self.count, who.uid, self.key, over, json.dumps(value, ensure_ascii=False))

    @classmethod
    def from_row(cls, row: SubmissionRow) -> Submission:
        """Of what the journal has."""
        value = json.loads(row.value)
        uid, gid, name, groups = value["asker"]
        return cls(
            row.first, Asker(uid, gid, name, tuple(groups)), JobAsked.from_dict(value["asked"]), value["script"],
            value["environment"], value["cwd"], value["submitted_ms"], row.key,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Share:
    """What a job has of one node, by name: its cores and GPUs, by number."""

    node: str
    cores: tuple[int, ...]
    gpus: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Led:
    """How the keeper of a host was led when a job began that may have begun something there, or when it last told."""

    mark: str
    leased: bool
    """Whether what begins there ends where nothing is heard of who serves for too long."""


@dataclass(slots=True)
class LiveJob:
    """A job, and what has become of it. Times in Unix ms."""

    number: JobId
    of: Submission
    state: State = State.WAITING
    why: str = ""
    """Why it is so, or what it waits for."""
    attempt: int = 0
    """How often it was ordered to start."""
    host: str = ""
    """The host whose keeper was ordered to run it last; empty: none was since it began to wait."""
    hosts: dict[str, Led] = field(default_factory=dict)
    """All hosts on which something of its last run may go on; of one that waits: what begins again waits for these."""
    shares: tuple[Share, ...] = ()
    started_ms: int | None = None
    ended_ms: int | None = None
    code: int | None = None
    signal: int | None = None
    cancelled: bool = field(default=False)
    """Whether it is to end, on somebody's word."""
    rests: bool = field(default=False)
    """It waits, and is not to begin before what its last run has begun is over."""

    @property
    def run(self) -> str:
        """The name of its last run, to keepers."""
        return f"{self.number}.{self.attempt}"

    @property
    def mark(self) -> str:
        """Under which the keeper that runs it was led; empty: no run is left."""
        return self.hosts[self.host].mark if self.host in self.hosts else ""

    @property
    def leased(self) -> bool:
        """Whether its run ends with the lease of its host."""
        return self.host in self.hosts and self.hosts[self.host].leased

    @property
    def index(self) -> int | None:
        """Its place in its array."""
        indices = self.of.indices
        return None if indices is None else indices[self.number - self.of.first]

    def ended_how(self, why: str, *, lacked_memory: bool) -> tuple[State, str]:
        """State and reason of it whose last run is over, by why the keeper says it is.

        `lacked_memory`: the kernel has killed something of it for that.
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
        """What has become of it, for the journal."""
        shares = [[share.node, share.cores, share.gpus] for share in self.shares]
        hosts = {host: [led.mark, led.leased] for host, led in self.hosts.items()}
        return json.dumps([
            self.state, self.why, self.attempt, self.host, hosts, shares, self.started_ms, self.ended_ms, self.code,
            self.signal, self.cancelled,
        ])  # fmt: skip

    @staticmethod
    def end_in(text: str) -> int | None:
        """When a job ended of which `text` tells, ms; None: it has not, or it is unknown how."""
        state, *_, ended_ms, _code, _signal, _cancelled = json.loads(text)
        return ended_ms if State(state).is_over and state != State.UNKNOWN else None

    def recall(self, text: str) -> None:
        """Be what `text` told."""
        (
            state, self.why, self.attempt, self.host, hosts, shares, self.started_ms, self.ended_ms, self.code,
            self.signal, self.cancelled,
        ) = json.loads(text)  # fmt: skip
        self.state = State(state)
        self.hosts = {host: Led(mark, leased) for host, (mark, leased) in hosts.items()}
        self.rests = self.state is State.WAITING and bool(self.hosts)
        self.shares = tuple(Share(node, tuple(cores), tuple(gpus)) for node, cores, gpus in shares)

    def as_dict(self) -> dict[str, Any]:
        """For those who ask."""
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
    """One of its jobs, with what the journal says has become of it; None: nothing yet."""
    hold = submission.asked.hold
    job = LiveJob(JobId(number), submission, State.HELD if hold else State.WAITING, "held by its asker" if hold else "")
    if become is not None:
        job.recall(become)
    return job


def jobs_of(submission: Submission, become: Mapping[int, str]) -> list[LiveJob]:
    """Its jobs, with what the journal says has become of them."""
    numbers = range(submission.first, submission.first + submission.count)
    return [job_of(submission, number, become.get(number)) for number in numbers]


def new_jobs(submission: Submission) -> list[LiveJob]:
    """Its jobs, of which nothing has become yet."""
    return jobs_of(submission, {})
