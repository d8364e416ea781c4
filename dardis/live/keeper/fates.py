"""What has become of a run whose keeper died, or was told to end, before its end was known. Pure."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

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
