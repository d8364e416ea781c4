"""Records of the keeper's log, and the fate of a run whose keeper died before its end was known. Pure.

Each line is one commit: the checksum of its JSON text in hexadecimal, a blank, the text, which is a list of entries. A
commit with an epoch, a mark or an intent waits for the disk, and so all before it is there for good: whatever a torn
write or a power failure leaves lies behind the last of these. Entries are

    ["log", VERSION]           the first of a file
    ["epoch", E]               the highest that was accepted
    ["mark", TEXT]             nobody else's, of who leads from now on
    ["intent", RUN, INTENT]    it may begin from now on, once told to: under which boot, its limits, its cgroups
    ["ending", RUN, ENDING]    it was told to end: why, and when SIGKILL comes (ms of CLOCK_BOOTTIME)
    ["over", RUN, RECORD]      what is told of it to the service
    ["forget", RUN]            the service has it, or will never let it begin
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, Final

VERSION: Final = 1
MOST_MARKS: Final = 1000
"""So many are kept, the last ones."""

Entry = Sequence[Any]


_WAIT: Final = frozenset({"log", "epoch", "mark", "intent"})
"""Entries whose commits wait for the disk."""


class DamagedLogError(Exception):
    """A line that was on the disk for good isn't what was written."""


@dataclass(slots=True)
class Kept:
    """What is kept of a run; `intent` is None once it is over."""

    intent: Mapping[str, Any] | None = None
    ending: Mapping[str, Any] | None = None
    over: Mapping[str, Any] | None = None


@dataclass(slots=True)
class Known:
    """What all entries together say."""

    epoch: int = 0
    marks: list[str] = field(default_factory=list)
    runs: dict[str, Kept] = field(default_factory=dict)

    def apply(self, entry: Entry) -> None:
        """Let an entry hold, too."""
        match entry:
            case ["log", version]:
                if version != VERSION:
                    raise DamagedLogError(f"it is of version {version}, and this keeper reads version {VERSION}")
            case ["epoch", int(epoch)]:
                self.epoch = max(self.epoch, epoch)
            case ["mark", str(mark)]:
                self.marks.append(mark)
                del self.marks[:-MOST_MARKS]
            case ["intent", str(run), dict(intent)]:
                self.runs.setdefault(run, Kept(intent=intent))  # nothing begins anew
            case ["ending", str(run), dict(ending)]:
                if (kept := self.runs.get(run)) is not None and kept.over is None:
                    kept.ending = ending
            case ["over", str(run), dict(record)]:
                self.runs[run] = Kept(over=record)
            case ["forget", str(run)]:
                self.runs.pop(run, None)
            case _:
                raise DamagedLogError(f"nobody knows the entry {entry!r}")

    def entries(self) -> Iterator[Entry]:
        """The fewest entries that say the same."""
        yield ["log", VERSION]
        yield ["epoch", self.epoch]
        yield from (["mark", mark] for mark in self.marks)
        for run, kept in self.runs.items():
            for kind in ("intent", "ending", "over"):
                if (said := getattr(kept, kind)) is not None:
                    yield [kind, run, said]


def waits_for_disk(entries: Iterable[Entry]) -> bool:
    """Whether a commit of these is to survive a power failure."""
    return any(entry[0] in _WAIT for entry in entries)


def line_of(entries: Iterable[Entry]) -> bytes:
    """The line that commits these."""
    text = json.dumps(list(entries), separators=(",", ":")).encode()
    return b"%08x %s\n" % (zlib.crc32(text), text)


@dataclass(frozen=True, slots=True)
class Read:
    """A log that was read: what it says, how many of its bytes are whole lines, and how many entries they hold."""

    known: Known
    good: int
    entries: int


def read_log(data: bytes) -> Read:
    """What a log says; nothing from a line on that was torn. Raises DamagedLogError for any other damage.

    The first line is never torn: a log gets its name when that is on the disk.
    """
    known, good, count, number = Known(), 0, 0, 0
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
    return Read(known, good, count)


def _entries_of(line: bytes) -> list[Entry] | None:
    """What a line holds; None: it isn't what was written."""
    text = line[9:-1]
    if not line.endswith(b"\n") or line[:9] != b"%08x " % zlib.crc32(text):
        return None
    entries: list[Entry] = json.loads(text)
    return entries


FAILED: Final = "failed to start: "
UNKNOWN: Final = "unknown: "
NEVER_BEGUN: Final = FAILED + "the keeper died"
KNOWN: Final = "it is known already"
"""Why a run isn't intended that has begun, or may: what has become of it is told at hello."""
LEASE: Final = "lease"
"""Why a run ends whose lease is over."""
LEASE_MARK: Final = b"lease\n"
"""What is added to what a run has begun with, before it is killed for that."""
_FAILURE: Final = b"failed: "


@dataclass(frozen=True, slots=True)
class Begun:
    """What the first process of a run writes of itself before it becomes the job."""

    pid: int
    start: int
    """When the process began, as the kernel counts it: together with `pid` and `boot` it names one process for ever."""
    boot: str
    unix_ms: int
    boot_ms: int
    failed: str | None = None
    """Why it could not become the job."""
    lease: bool = False
    """Its lease was over."""


_FORM: Final = '{"pid": %d, "start": %d, "boot": "%s", "unix_ms": %d, "boot_ms": %d}\n'


def begun_text(pid: int, start: int, boot: str, unix_ms: int, boot_ms: int) -> bytes:
    """What is written."""
    return (_FORM % (pid, start, boot, unix_ms, boot_ms)).encode()


def failure_text(why: str) -> bytes:
    """What is added where it couldn't become the job."""
    return _FAILURE + why.encode(errors="replace") + b"\n"


def read_begun(text: bytes) -> Begun | None:
    """What was written; None: nothing, for a keeper has made the file, so that nobody begins any more."""
    if not text:
        return None
    first, _, rest = text.partition(b"\n")
    lines = rest.split(b"\n")
    lease = LEASE_MARK.strip() in lines
    rest = b"\n".join(line for line in lines if line + b"\n" != LEASE_MARK)
    failed = rest.removeprefix(_FAILURE).strip().decode(errors="replace") if rest else None
    return Begun(**json.loads(first), failed=failed, lease=lease)


class Fate(Enum):
    """What may be said."""

    RUNS = auto()
    NEVER_BEGAN = auto()
    FAILED = auto()
    ENDED_UNSEEN = auto()
    HOST_RESTARTED = auto()
    HOST_ENDS = auto()


def fate(intent_boot: str, boot: str, begun: Begun | None, *, lives: bool) -> Fate:
    """The fate of a run that was meant under `intent_boot`, now that `begun` can't be made any more."""
    if intent_boot != boot:  # what it had begun with may not have reached the disk
        return Fate.HOST_RESTARTED
    if begun is None:
        return Fate.NEVER_BEGAN
    if begun.boot != boot:
        return Fate.HOST_RESTARTED
    if lives:
        return Fate.RUNS
    return Fate.ENDED_UNSEEN if begun.failed is None else Fate.FAILED


WORDS: Final = {
    Fate.NEVER_BEGAN: NEVER_BEGUN,
    Fate.ENDED_UNSEEN: UNKNOWN + "it ended while no keeper ran",
    Fate.HOST_RESTARTED: UNKNOWN + "the host was restarted",
    Fate.HOST_ENDS: UNKNOWN + "its keeper was told to end, and all that it ran",
}
"""What is told of a run by its fate."""
