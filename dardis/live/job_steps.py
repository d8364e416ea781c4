"""Parts of jobs: what a running job has begun on its nodes through the keepers, and their output.

A part is a run of a keeper, whose name says the job's run and a number that its client has drawn: so whoever asks for
it again means the same one. Nothing of parts is in the journal: what keepers tell of them, and the job's run, say all.
A part whose job's run is over goes on as a stray, until that is ended.
"""

from __future__ import annotations

import os
import stat
from base64 import b64encode
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from dardis.live.gateway_orders import EndRun, ForgetRun, Order
from dardis.live.job_files import SmallFile
from dardis.live.live_jobs import Asker, LiveJob
from dardis.live.orphaned_runs import Strays, is_part, job_run
from dardis.model.errors import InputError

ALONE_S: Final = 60.0
"""How long a part may go on of which no client wants to know, s."""
MOST_PARTS: Final = 100_000
"""Of a job's run: their names are remembered until that is over."""


@dataclass(frozen=True, slots=True)
class PartAsked:
    """What a part is to do."""

    argv: Sequence[str]
    environment: Mapping[str, str]
    cwd: str


@dataclass(slots=True, eq=False)
class Part:
    """One that was asked for, or of which a keeper has told."""

    run: str
    host: str
    mark: str
    """Under which the keeper of that host was led then."""
    gone: bool = False
    """Its keeper was told to let it begin, or tells of it."""
    record: Mapping[str, Any] | None = None
    """How it has ended; None: it is not over, as far as is known."""
    lost: bool = False
    """Its host was given up, and what it has written with that."""
    clients: int = 0
    """How many follow it."""
    unwanted: bool = False
    """Its client has its end, or wants none."""
    alone_s: float | None = None
    """Since when nobody was seen to follow it, s of the monotonic clock."""
    told_to_end: bool = False


class Parts:
    """Those of all jobs that run, of the attempt that does."""

    def __init__(self, strays: Strays, order: Callable[[Order], None]) -> None:
        """There are none. `strays` is where they go whose job is over, `order` takes what is to be done."""
        self._strays, self._order = strays, order
        self._of: dict[str, dict[str, Part]] = {}
        """By job's run and name."""
        self._done: dict[str, set[str]] = {}
        """Names of those that are forgotten: they don't begin again, however late a request comes."""
        self.news: set[str] = set()
        """Names of those of which something has become."""

    def get(self, run: str) -> Part | None:
        """The one of a name."""
        return self._of.get(job_run(run), {}).get(run)

    def going(self) -> Iterator[Part]:
        """All that may go on."""
        return (part for parts in self._of.values() for part in parts.values() if part.gone and part.record is None)

    def begin(self, job: LiveJob, run: str, host: str, mark: str) -> Part:
        """One is asked for. Raises InputError for one that was, and for too many."""
        done = self._done.get(job.run, set())
        if run in done:
            raise InputError("number", f"{run} has been", "another one")
        if len(self._of.get(job.run, ())) + len(done) >= MOST_PARTS:
            raise InputError("exec", f"job {job.number} has begun {MOST_PARTS} processes this way", "no more")
        part = self._of.setdefault(job.run, {})[run] = Part(run, host, mark)
        return part

    def go(self, part: Part) -> bool:
        """Whether the keeper is to be told to let it begin; then it is."""
        if self.get(part.run) is part:
            part.gone = True
        return part.gone

    def told(self, record: Mapping[str, Any], job: LiveJob, host: str, mark: str) -> None:
        """The keeper of a host tells of one whose job runs."""
        run = record["run"]
        part = self._of.setdefault(job.run, {}).setdefault(run, Part(run, host, mark))
        part.host, part.mark, part.gone = host, mark, True
        if record["state"] != "running":
            self._end(part, record)
        elif job.cancelled or part.unwanted:
            self._order(EndRun(run, host))

    def heard(self, host: str, told: Container[str], marks: Container[str], why: str) -> None:
        """A host has told of all that it knows; `why`: what is said of one that it doesn't know any more."""
        for part in [part for parts in self._of.values() for part in parts.values() if part.host == host]:
            if part.run in told or part.record is not None:
                continue
            if part.mark in marks:  # it hasn't begun, and may when it is asked for again
                self._drop(part)
            else:
                self._end(part, unknown(part.run, why))

    def wanted_no_more(self, part: Part) -> None:
        """Its client has its end, or wants it to end."""
        part.unwanted = True
        if part.record is not None:
            self._forget(part)
        elif part.gone:
            self._order(EndRun(part.run, part.host))
        else:
            self._forget(part)

    def cancel(self, job: LiveJob) -> None:
        """All of a job are to end."""
        for part in self._of.get(job.run, {}).values():
            if part.gone and part.record is None:
                self._order(EndRun(part.run, part.host))

    def leave(self, job: LiveJob) -> bool:
        """A job's run is over, while it has its nodes yet: what goes on is a stray; whether anything does."""
        goes_on = False
        for part in self._of.pop(job.run, {}).values():
            self.news.add(part.run)
            if part.gone:
                goes_on |= part.record is None
                self._order(self._strays.told(part.run, part.host, job, over=part.record is not None))
        self._done.pop(job.run, None)
        return goes_on

    def give_up(self, job: LiveJob, host: str, why: str) -> None:
        """Those of a job on a host are taken for over."""
        for part in [*self._of.get(job.run, {}).values()]:
            if part.host == host:
                part.lost = True
                self._end(part, part.record or unknown(part.run, why))

    def end_alone(self, now_s: float, may_follow: Callable[[Part], bool]) -> None:
        """Let end what nobody follows for too long, that somebody could. `now_s` by the monotonic clock."""
        for part in self.going():
            if part.clients or not may_follow(part):
                part.alone_s, part.told_to_end = None, False
            elif part.alone_s is None:
                part.alone_s = now_s
            elif now_s - part.alone_s >= ALONE_S and not part.told_to_end:
                part.told_to_end = True
                self._order(EndRun(part.run, part.host))

    def _end(self, part: Part, record: Mapping[str, Any]) -> None:
        part.record = record
        self.news.add(part.run)
        if part.unwanted:
            self._forget(part)

    def _forget(self, part: Part) -> None:
        self._drop(part)
        self._done.setdefault(job_run(part.run), set()).add(part.run)
        self._order(ForgetRun(part.run, part.host))

    def _drop(self, part: Part) -> None:
        self.news.add(part.run)
        self._of[job_run(part.run)].pop(part.run, None)


def unknown(run: str, why: str) -> Mapping[str, Any]:
    """What is told of the end of one of which nothing is known."""
    return {"run": run, "state": "unknown", "code": None, "signal": None, "why": why}


STREAMS: Final = ("out", "err")
"""What a part writes to: a file for each, of which people are told by these names."""
FOLDER: Final = "parts"
MOST_PIECE: Final = 1 << 16
"""How much is read of a file at once, in bytes."""


def part_files(run: str, asker: Asker) -> list[SmallFile]:
    """Its files, empty: only who runs it may write to them, and nobody may make others beside them."""
    return [SmallFile(part_path(run, stream), "", 0o600, (asker.uid, asker.gid)) for stream in STREAMS]


def part_path(run: str, stream: str) -> str:
    """The file of a stream, in the host's folder."""
    return f"{FOLDER}/{run}.{stream}"


def read_pieces(folder: Path, run: str, offsets: Mapping[str, int]) -> dict[str, str]:
    """What there is from these offsets on, by stream, in base64; streams of which there is nothing are left out."""
    pieces = {stream: _piece(folder / part_path(run, stream), offsets[stream]) for stream in STREAMS}
    return {stream: b64encode(piece).decode() for stream, piece in pieces.items() if piece}


def _piece(path: Path, offset: int) -> bytes:
    """Its owner may have done anything with it but put something else in its place."""
    with suppress(OSError):
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            if stat.S_ISREG(os.fstat(file).st_mode):
                return os.pread(file, MOST_PIECE, offset)
        finally:
            os.close(file)
    return b""


def remove_parts(folder: Path, runs: Iterable[str]) -> None:
    """Nobody wants to know what these have written, as far as they are parts."""
    for run in filter(is_part, runs):
        for stream in STREAMS:
            with suppress(OSError):
                (folder / part_path(run, stream)).unlink()


def keep_parts(folder: Path, runs: Container[str]) -> None:
    """Remove what others have left than these."""
    for path in (folder / FOLDER).glob("*"):
        if path.stem not in runs:
            with suppress(OSError):
                path.unlink()
