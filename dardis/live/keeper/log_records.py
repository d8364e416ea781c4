"""Log records of the job supervisor, and exit records of runs without an observed end. Pure.

Format: README.md.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, Final

VERSION: Final = 1
MOST_INCARNATIONS: Final = 1000

Entry = Sequence[Any]


_WAIT: Final = frozenset({"log", "epoch", "mark", "intent"})
"""Entries that wait for the disk."""


class DamagedLogError(Exception):
    """Damage of a line stored on disk."""


@dataclass(slots=True)
class RunEntries:
    """Log entries of a run."""

    intent: Mapping[str, Any] | None = None
    ending: Mapping[str, Any] | None = None
    over: Mapping[str, Any] | None = None
    signalled: bool = False


@dataclass(slots=True)
class LogState:
    """State after all entries."""

    epoch: int = 0
    incarnations: list[str] = field(default_factory=list)
    runs: dict[str, RunEntries] = field(default_factory=dict)

    def apply(self, entry: Entry) -> None:
        """Apply an entry."""
        match entry:
            case ["log", version]:
                if version != VERSION:
                    raise DamagedLogError(f"it has version {version}, but this job supervisor reads version {VERSION}")
            case ["epoch", int(epoch)]:
                self.epoch = max(self.epoch, epoch)
            case ["mark", str(mark)]:
                self.incarnations.append(mark)
                del self.incarnations[:-MOST_INCARNATIONS]
            case ["intent", str(run), dict(intent)]:
                self.runs.setdefault(run, RunEntries(intent=intent))  # a run starts only once
            case ["signalled", str(run)]:
                if (kept := self.runs.get(run)) is not None:
                    kept.signalled = True
            case ["ending", str(run), dict(ending)]:
                if (kept := self.runs.get(run)) is not None and kept.over is None:
                    kept.ending = ending
            case ["over", str(run), dict(record)]:
                self.runs[run] = RunEntries(over=record)
            case ["forget", str(run)]:
                self.runs.pop(run, None)
            case _:
                raise DamagedLogError(f"unknown entry {entry!r}")

    def entries(self) -> Iterator[Entry]:
        """Yield fewest entries for the same state."""
        yield ["log", VERSION]
        yield ["epoch", self.epoch]
        yield from (["mark", mark] for mark in self.incarnations)
        for run, kept in self.runs.items():
            for kind in ("intent", "ending", "over"):
                if (said := getattr(kept, kind)) is not None:
                    yield [kind, run, said]
            if kept.signalled and kept.over is None:
                yield ["signalled", run]


def waits_for_disk(entries: Iterable[Entry]) -> bool:
    """Whether a commit must wait for the disk."""
    return any(entry[0] in _WAIT for entry in entries)


def line_of(entries: Iterable[Entry]) -> bytes:
    """Log line of a commit."""
    text = json.dumps(list(entries), separators=(",", ":")).encode()
    return b"%08x %s\n" % (zlib.crc32(text), text)


@dataclass(frozen=True, slots=True)
class ParsedLog:
    """State, number of intact bytes, and number of entries."""

    state: LogState
    intact_bytes: int
    entries: int


def read_log(data: bytes) -> ParsedLog:
    """Read a log up to a torn line. Raises DamagedLogError for other damage."""
    known, good, count, number = LogState(), 0, 0, 0
    while good < len(data):
        number += 1
        end = data.find(b"\n", good) + 1 or len(data)
        entries = _entries_of(data[good:end])
        if entries is None:
            later = (_entries_of(line + b"\n") for line in data[end:].split(b"\n")[:-1])
            if number == 1 or any(waits_for_disk(entries) for entries in later if entries is not None):
                raise DamagedLogError(f"line {number} is damaged")
            break
        for entry in entries:
            known.apply(entry)
        good = end
        count += len(entries)
    return ParsedLog(known, good, count)


def _entries_of(line: bytes) -> list[Entry] | None:
    text = line[9:-1]
    if not line.endswith(b"\n") or line[:9] != b"%08x " % zlib.crc32(text):
        return None
    entries: list[Entry] = json.loads(text)
    return entries


FAILED: Final = "failed to start: "
UNKNOWN: Final = "unknown: "
NEVER_BEGUN: Final = FAILED + "the keeper died"
ALREADY_KNOWN: Final = "it is known already"
LEASE: Final = "lease"
"""End reason of an expired lease."""
LEASE_LINE: Final = b"lease\n"
_FAILURE: Final = b"failed: "


@dataclass(frozen=True, slots=True)
class StartRecord:
    """Start record of the first process."""

    pid: int
    start: int
    """Kernel ticks; unique with `pid` and `boot`."""
    boot: str
    unix_ms: int
    boot_ms: int
    failed: str | None = None
    lease: bool = False


_FORM: Final = '{"pid": %d, "start": %d, "boot": "%s", "unix_ms": %d, "boot_ms": %d}\n'


def start_record_text(pid: int, start: int, boot: str, unix_ms: int, boot_ms: int) -> bytes:
    """Text of a start record."""
    return (_FORM % (pid, start, boot, unix_ms, boot_ms)).encode()


def failure_text(why: str) -> bytes:
    """Line for a failed start."""
    return _FAILURE + why.encode(errors="replace") + b"\n"


def parse_start_record(text: bytes) -> StartRecord | None:
    """Parse a start file. None: empty, blocks the start."""
    if not text:
        return None
    first, _, rest = text.partition(b"\n")
    lines = rest.split(b"\n")
    lease = LEASE_LINE.strip() in lines
    rest = b"\n".join(line for line in lines if line + b"\n" != LEASE_LINE)
    failed = rest.removeprefix(_FAILURE).strip().decode(errors="replace") if rest else None
    return StartRecord(**json.loads(first), failed=failed, lease=lease)


class RecoveredState(Enum):
    """States of a run after a supervisor restart."""

    RUNS = auto()
    NEVER_BEGAN = auto()
    FAILED = auto()
    ENDED_UNSEEN = auto()
    HOST_RESTARTED = auto()
    HOST_ENDS = auto()


def recovered_state(intent_boot: str, boot: str, begun: StartRecord | None, *, lives: bool) -> RecoveredState:
    """Run's state. `begun` must be read last."""
    if intent_boot != boot:  # the start file may not have reached the disk
        return RecoveredState.HOST_RESTARTED
    if begun is None:
        return RecoveredState.NEVER_BEGAN
    if begun.boot != boot:
        return RecoveredState.HOST_RESTARTED
    if lives:
        return RecoveredState.RUNS
    return RecoveredState.ENDED_UNSEEN if begun.failed is None else RecoveredState.FAILED


END_REASONS: Final = {
    RecoveredState.NEVER_BEGAN: NEVER_BEGUN,
    RecoveredState.ENDED_UNSEEN: UNKNOWN + "it ended while no job supervisor ran",
    RecoveredState.HOST_RESTARTED: UNKNOWN + "the host was restarted",
    RecoveredState.HOST_ENDS: UNKNOWN + "its job supervisor was stopped with all its runs",
}
