"""Log of steering: each decision and Slurm's action, and their comparison."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import count
from pathlib import Path
from typing import Final, NamedTuple

from dardis.model.csv_table import TEXT, WHOLE, WORD, Column, CsvTable, from_cell
from dardis.model.errors import InputError, one_line
from dardis.model.files import read_text, write_text
from dardis.model.hostlist import names_in
from dardis.model.moments import utc_text

DECISIONS: Final = CsvTable(
    "steering.csv",
    Column("at_s", WHOLE, "time of the round, Unix s"),
    Column("job", WORD, "job or task of an array, as in Slurm; empty: the lease"),
    Column(
        "event", WORD, "what happened",
        detail="`start`: decided. `started`, `ended`: Slurm's action. `found`: ran before. `taken_back`: the decision."
        " `refused`: by Slurm. `passed`: left to Slurm. `never`: cannot start. `left`: no longer waits."
        " `lease`, `returned`: begin and end of steering of the partition in `detail`.",
    ),
    Column("nodes", WORD, "nodes"),
    Column("start_s", WHOLE, "start in Slurm, Unix s"),
    Column("end_s", WHOLE, "end in Slurm, Unix s"),
    Column("before", WORD, "required nodes before the decision, by the user"),
    Column("detail", TEXT, "reason"),
)  # fmt: skip


QUEUED_AGAIN: Final = "queued again"
"""Detail of `ended` if the job waits again."""
ROTATED_BYTES: Final = 32 << 20
"""Size from which a file is put aside."""


class Event(StrEnum):
    """What happened to a job."""

    START = "start"
    STARTED = "started"
    FOUND = "found"
    TAKEN_BACK = "taken_back"
    REFUSED = "refused"
    PASSED = "passed"
    NEVER = "never"
    LEFT = "left"
    ENDED = "ended"
    LEASE = "lease"
    RETURNED = "returned"


class Entry(NamedTuple):
    """Row of `DECISIONS`."""

    at: int
    job: str
    event: Event
    nodes: str = ""
    start: int | None = None
    end: int | None = None
    before: str = ""
    detail: str = ""


class SteeringLog:
    """File of a folder; only complete lines count."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / DECISIONS.name

    def add(self, entries: Iterable[Entry]) -> None:
        """Append durably. Raises OSError."""
        text = DECISIONS.text(entry._replace(detail=one_line(entry.detail)) for entry in entries)
        header, _, lines = text.partition("\n")
        if not lines:
            return
        with self.path.open("ab+") as file:
            size = file.tell()
            begin = b"" if size else f"{header}\n".encode()
            if size:
                file.seek(-1, os.SEEK_END)
                begin = b"" if file.read(1) == b"\n" else b"\n"
            file.write(begin + lines.encode())
            file.flush()
            os.fsync(file.fileno())

    def entries(self) -> list[Entry]:
        """All entries, without lines that a crash cut short. Raises InputError."""
        if not self.path.exists():
            return []
        lines = read_text(self.path).splitlines()
        if lines[:1] != [",".join(DECISIONS.names)]:
            raise InputError(f"{self.path}:1", "other columns", ",".join(DECISIONS.names))
        read = (_entry(f"{self.path}:{number}", line) for number, line in enumerate(lines[1:], 2))
        return [entry for entry in read if entry is not None]

    def rotate(self, day: str, snapshot: Iterable[Entry]) -> None:
        """Keep a large file as `steering-DAY-N.csv`, and begin another. Raises OSError."""
        if not self.path.exists() or self.path.stat().st_size < ROTATED_BYTES:
            return
        names = (f"steering-{day}-{number}.csv" for number in count(1))
        kept = next(path for path in map(self.path.with_name, names) if not path.exists())
        os.link(self.path, kept)
        write_text(self.path, DECISIONS.text(snapshot))


def last_lease(entries: Sequence[Entry]) -> Entry | None:
    """Entry of the last lease; None: none, or the queue was returned."""
    last = next((one for one in reversed(entries) if one.event in {Event.LEASE, Event.RETURNED}), None)
    return last if last is not None and last.event is Event.LEASE else None


def _entry(place: str, line: str) -> Entry | None:
    try:
        cells = next(csv.reader([line]), [])
        if len(cells) < len(DECISIONS.columns):
            return None
        at, job, event, nodes, start, end, before, detail = cells
        names_in(nodes), names_in(before)  # lists that cannot be read
        begun, ended = (int(moment) if moment else None for moment in (start, end))
        return Entry(int(at), job, Event(event), nodes, begun, ended, before, from_cell(detail))
    except (ValueError, csv.Error) as error:
        raise InputError(place, str(error), "a line of dardis steer") from None


@dataclass
class LogSummary:
    """Comparison of decisions with Slurm's actions."""

    count: dict[Event, int] = field(default_factory=lambda: dict.fromkeys(Event, 0))
    delays_s: list[int] = field(default_factory=list)
    """From decision to Slurm's start."""
    violations: list[str] = field(default_factory=list)


def compare_with_slurm(entries: Iterable[Entry]) -> LogSummary:
    """Whether Slurm did what was decided.

    A violation: a job on other nodes, a start without a decision, or a second start of a running job.
    """
    judge = _Judge()
    for entry in entries:
        judge.take(entry)
    return judge.found


def whole_of(label: str) -> str:
    """Array or heterogeneous job of a task or component; else the job."""
    return re.split("[_+]", label)[0]


class _Judge:
    def __init__(self) -> None:
        self.found = LogSummary()
        self._decided: dict[str, Entry] = {}
        self._running: set[str] = set()
        self._passed: set[str] = set()

    def take(self, entry: Entry) -> None:
        job = entry.job
        self.found.count[entry.event] += 1
        if entry.event in {Event.START, Event.STARTED} and job in self._running:
            self.found.violations.append(f"job {job}: {entry.event} at {_time(entry)} while it runs")
        match entry.event:
            case Event.START:
                self._decided[job] = entry
            case Event.STARTED:
                self._running.add(job)
                self._compare(self._decided.pop(job, None), entry)
            case Event.FOUND:
                self._running.add(job)
                self._decided.pop(job, None)
            case Event.PASSED:
                self._passed.add(job)
            case Event.TAKEN_BACK | Event.REFUSED | Event.LEFT | Event.ENDED:
                self._running.discard(job)
                self._decided.pop(job, None)
                self._passed.discard(job)
            case _:
                pass

    def _compare(self, order: Entry | None, entry: Entry) -> None:
        job = entry.job
        if order is None:
            if self._passed.isdisjoint({job, whole_of(job)}):
                self.found.violations.append(f"job {job}: started at {_time(entry)} without a decision")
        elif names_in(order.nodes) != names_in(entry.nodes):
            self.found.violations.append(f"job {job}: decided on {order.nodes}, started on {entry.nodes}")
        else:
            self.found.delays_s.append(max((entry.start or entry.at) - order.at, 0))


def _time(entry: Entry) -> str:
    return utc_text(entry.start or entry.at, seconds=True)
