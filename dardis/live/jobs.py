"""Live jobs: what was handed in together, what has become of each of them, and how both stand in the journal."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from dardis.live.asked import JobAsked
from dardis.live.journal import SubmissionRow
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
        """Bytes of the words and the environment of each of its jobs."""
        texts = [*self.asked.argv, *self.environment, *self.environment.values()]
        return sum(map(len, map(str.encode, texts)))

    @property
    def indices(self) -> range | None:
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
    """What a job has of one node: its cores and GPUs, by number."""

    node: int
    cores: tuple[int, ...]
    gpus: tuple[int, ...] = ()


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
    shares: tuple[Share, ...] = ()
    started_ms: int | None = None
    ended_ms: int | None = None
    code: int | None = None
    signal: int | None = None
    cancelled: bool = field(default=False)
    """Whether it is to end, on somebody's word."""

    @property
    def run(self) -> str:
        """The name of its last run, to keepers."""
        return f"{self.number}.{self.attempt}"

    @property
    def index(self) -> int | None:
        """Its place in its array."""
        indices = self.of.indices
        return None if indices is None else indices[self.number - self.of.first]

    def text(self) -> str:
        """What has become of it, for the journal."""
        shares = [[share.node, share.cores, share.gpus] for share in self.shares]
        return json.dumps([
            self.state, self.why, self.attempt, shares, self.started_ms, self.ended_ms, self.code, self.signal,
            self.cancelled,
        ])  # fmt: skip

    def recall(self, text: str) -> None:
        """Be what `text` told."""
        state, self.why, self.attempt, shares, self.started_ms, self.ended_ms, self.code, self.signal, cancelled = (
            json.loads(text)
        )
        self.state, self.cancelled = State(state), cancelled
        self.shares = tuple(Share(node, tuple(cores), tuple(gpus)) for node, cores, gpus in shares)

    def as_dict(self, names: tuple[str, ...]) -> dict[str, Any]:
        """For those who ask; `names` are the nodes'."""
        submission = self.of
        return {
            **submission.asked.as_dict(), "id": self.number,
            "array": None if submission.indices is None else submission.first, "index": self.index,
            "name": submission.asked.name, "user": submission.asker.name, "state": self.state, "why": self.why,
            "attempt": self.attempt, "submitted_ms": submission.submitted_ms, "started_ms": self.started_ms,
            "ended_ms": self.ended_ms, "code": self.code, "signal": self.signal,
            "nodes": [_name_of(share.node, names) for share in self.shares], "cwd": submission.cwd,
        }  # fmt: skip


def _name_of(node: int, names: tuple[str, ...]) -> str:
    """A node's name; of one that an earlier machine had, its number."""
    return names[node] if node < len(names) else f"#{node}"


def jobs_of(submission: Submission, become: Mapping[int, str]) -> list[LiveJob]:
    """Its jobs, with what the journal says has become of them."""
    jobs = new_jobs(submission)
    for job in jobs:
        if job.number in become:
            job.recall(become[job.number])
    return jobs


def new_jobs(submission: Submission) -> list[LiveJob]:
    """Its jobs, of which nothing has become yet."""
    state = State.HELD if submission.asked.hold else State.WAITING
    why = "held by its asker" if submission.asked.hold else ""
    first = submission.first
    return [LiveJob(JobId(first + i), submission, state, why) for i in range(submission.count)]
