"""Job steps: commands of a running job on its nodes, and their output.

A step is a run with a random number from its client. The journal has no steps; supervisors report them. A step that
outlives its job is an orphaned run.
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
"""Longest life without a client, s."""
MOST_PARTS: Final = 100_000
"""Most steps of a run."""


@dataclass(frozen=True, slots=True)
class PartAsked:
    """Command of a step."""

    argv: Sequence[str]
    environment: Mapping[str, str]
    cwd: str


@dataclass(slots=True, eq=False)
class Part:
    """A job step."""

    run: str
    host: str
    mark: str
    gone: bool = False
    """Start ordered or reported."""
    record: Mapping[str, Any] | None = None
    """Exit record; None: not over."""
    lost: bool = False
    """The host was given up."""
    clients: int = 0
    unwanted: bool = False
    """Not needed by the client."""
    alone_s: float | None = None
    """First time without client, monotonic s."""
    told_to_end: bool = False


class Parts:
    """Steps of all running jobs."""

    def __init__(self, strays: Strays, order: Callable[[Order], None]) -> None:
        """`strays` receives steps of ended jobs, `order` receives orders."""
        self._strays, self._order = strays, order
        self._of: dict[str, dict[str, Part]] = {}
        self._done: dict[str, set[str]] = {}
        """Finished steps, which must not start again."""
        self.news: set[str] = set()

    def get(self, run: str) -> Part | None:
        """Step by name."""
        return self._of.get(job_run(run), {}).get(run)

    def going(self) -> Iterator[Part]:
        """Yield live steps."""
        return (part for parts in self._of.values() for part in parts.values() if part.gone and part.record is None)

    def begin(self, job: LiveJob, run: str, host: str, mark: str) -> Part:
        """Add a step. Raises InputError for a finished step, or too many."""
        done = self._done.get(job.run, set())
        if run in done:
            raise InputError("number", f"{run} has been", "another one")
        if len(self._of.get(job.run, ())) + len(done) >= MOST_PARTS:
            raise InputError("exec", f"job {job.number} has begun {MOST_PARTS} processes this way", "no more")
        part = self._of.setdefault(job.run, {})[run] = Part(run, host, mark)
        return part

    def go(self, part: Part) -> bool:
        """Mark a step as started; return whether to start."""
        if self.get(part.run) is part:
            part.gone = True
        return part.gone

    def told(self, record: Mapping[str, Any], job: LiveJob, host: str, mark: str) -> None:
        """Handle a report about a step."""
        run = record["run"]
        part = self._of.setdefault(job.run, {}).setdefault(run, Part(run, host, mark))
        part.host, part.mark, part.gone = host, mark, True
        if record["state"] != "running":
            self._end(part, record)
        elif job.cancelled or part.unwanted:
            self._order(EndRun(run, host))

    def heard(self, host: str, told: Container[str], marks: Container[str], why: str) -> None:
        """Handle a complete report of a host. `why`: reason for missing steps."""
        for part in [part for parts in self._of.values() for part in parts.values() if part.host == host]:
            if part.run in told or part.record is not None:
                continue
            if part.mark in marks:  # not started; a new request may start the step
                self._drop(part)
            else:
                self._end(part, unknown(part.run, why))

    def wanted_no_more(self, part: Part) -> None:
        """End or forget an unwanted step."""
        part.unwanted = True
        if part.record is not None:
            self._forget(part)
        elif part.gone:
            self._order(EndRun(part.run, part.host))
        else:
            self._forget(part)

    def cancel(self, job: LiveJob) -> None:
        """End all steps of a job."""
        for part in self._of.get(job.run, {}).values():
            if part.gone and part.record is None:
                self._order(EndRun(part.run, part.host))

    def leave(self, job: LiveJob) -> bool:
        """Turn steps of an ended run into orphaned runs. Return whether any live."""
        goes_on = False
        for part in self._of.pop(job.run, {}).values():
            self.news.add(part.run)
            if part.gone:
                goes_on |= part.record is None
                self._order(self._strays.told(part.run, part.host, job, over=part.record is not None))
        self._done.pop(job.run, None)
        return goes_on

    def give_up(self, job: LiveJob, host: str, why: str) -> None:
        """End the steps of a job on a host as unknown."""
        for part in [*self._of.get(job.run, {}).values()]:
            if part.host == host:
                part.lost = True
                self._end(part, part.record or unknown(part.run, why))

    def end_alone(self, now_s: float, may_follow: Callable[[Part], bool]) -> None:
        """End steps without clients. `now_s` is monotonic."""
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
    """Exit record for an unknown end."""
    return {"run": run, "state": "unknown", "code": None, "signal": None, "why": why}


STREAMS: Final = ("out", "err")
FOLDER: Final = "parts"
MOST_PIECE: Final = 1 << 16


def part_files(run: str, asker: Asker) -> list[SmallFile]:
    """Output files of a step, empty, for the user only."""
    return [SmallFile(part_path(run, stream), "", 0o600, (asker.uid, asker.gid)) for stream in STREAMS]


def part_path(run: str, stream: str) -> str:
    """Path of a stream in the folder of the host."""
    return f"{FOLDER}/{run}.{stream}"


def read_pieces(folder: Path, run: str, offsets: Mapping[str, int]) -> dict[str, str]:
    """New output in base64, by stream."""
    pieces = {stream: _piece(folder / part_path(run, stream), offsets[stream]) for stream in STREAMS}
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


def remove_parts(folder: Path, runs: Iterable[str]) -> None:
    """Remove the output of steps."""
    for run in filter(is_part, runs):
        for stream in STREAMS:
            with suppress(OSError):
                (folder / part_path(run, stream)).unlink()


def keep_parts(folder: Path, runs: Container[str]) -> None:
    """Remove the output of all other steps."""
    for path in (folder / FOLDER).glob("*"):
        if path.stem not in runs:
            with suppress(OSError):
                path.unlink()
