"""Parsers of times, spans and amounts; errors are ValueErrors."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from enum import Enum
from functools import lru_cache
from itertools import chain
from math import ceil
from types import MappingProxyType
from typing import NamedTuple

from dardis.model.numbers import whole_number
from dardis.model.resources import CORES, MEMORY, kind_of_gres, kind_of_type
from dardis.workload.csv_trace import LARGEST_ARRAY
from dardis.workload.trace import LARGEST, UNKNOWN

UNSTATED = frozenset({"", "Unknown", "None", "N/A"})
_NO_LIMIT = UNSTATED | {"UNLIMITED", "Partition_Limit"}


class JobPhase(Enum):
    """Progress of a job."""

    ENDED = 0
    RUNS = 1
    SUSPENDED = 2
    """Started; the walltime does not advance."""
    WAITS = 3


_PHASES = {
    JobPhase.ENDED: "BOOT_FAIL CANCELLED COMPLETED DEADLINE FAILED LAUNCH_FAILED NODE_FAIL OUT_OF_MEMORY PREEMPTED "
    "RECONFIG_FAIL REVOKED TIMEOUT",
    JobPhase.RUNS: "COMPLETING CONFIGURING EXPEDITING POWER_UP_NODE RESIZING RUNNING SIGNALING STAGE_OUT",
    JobPhase.SUSPENDED: "STOPPED SUSPENDED",
    JobPhase.WAITS: "PENDING REQUEUED REQUEUE_FED REQUEUE_HOLD RESV_DEL_HOLD SPECIAL_EXIT",
}
RESIZING = "RESIZING"
"""Ended if an end is stated: the resized job has its own line."""
PHASE_OF = {word: phase for phase, words in _PHASES.items() for word in words.split()}
"""By Slurm state."""


def state(text: str) -> str:
    """First word, as in `CANCELLED by 1000`."""
    word = text.partition(" ")[0]
    if word not in PHASE_OF:
        raise ValueError(f"{text!r} is not a state of a job")
    return word


class OtherClockError(Exception):
    """Time of another kind than previous times."""


_STAMP = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(Z|[+-]\d\d:?\d\d)?", re.ASCII)
_UNIX, _NO_ZONE, _ZONE = "Unix seconds", "without a zone", "with a zone"


class SlurmClock:
    """Reads a file's times: all Unix seconds, all without zone (UTC), or all with offset."""

    def __init__(self) -> None:
        self._kind = ""

    @property
    def lacks_zone(self) -> bool:
        """Whether times lack a zone."""
        return self._kind == _NO_ZONE

    def seconds(self, text: str) -> int | None:
        """Unix seconds, or None. Raises OtherClockError."""
        if text in UNSTATED:
            return None
        match = _STAMP.fullmatch(text)
        if match is None:
            number, kind = whole_number(text, 0, LARGEST), _UNIX
        else:
            moment = datetime.fromisoformat(text)
            number = int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
            kind = _ZONE if moment.tzinfo else _NO_ZONE
        self._kind = self._kind or kind
        if kind != self._kind:
            raise OtherClockError(f"two clocks in one file: {text!r} is {kind}, earlier times are {self._kind}")
        return number


_SPAN = re.compile(r"(?:(?:(\d{1,6})-)?(\d{1,6}):)?(\d{1,6}):(\d\d)", re.ASCII)


def span(text: str) -> int:
    """Seconds of `1-02:03:04`, `02:03:04`, or `05:00` (minutes, seconds)."""
    match = _SPAN.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a time span such as 1-02:03:04")
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


def raw_limit(text: str) -> int:
    """Seconds of a limit in minutes; `UNKNOWN` for none or the partition's."""
    return UNKNOWN if text in _NO_LIMIT else 60 * whole_number(text, 0, LARGEST)


def limit(text: str) -> int:
    """Seconds of a limit as span; `UNKNOWN` as in `raw_limit`."""
    return UNKNOWN if text in _NO_LIMIT else span(text)


_COUNT = re.compile(r"(\d{1,15}(?:\.\d{1,9})?)([KMGTP]?)", re.ASCII)


def count(text: str) -> int:
    """Count such as `64` or `4K` (4,096), at most `LARGEST + 1`."""
    return _scaled(text, "")


def _scaled(text: str, unit: str) -> int:
    match = _COUNT.fullmatch(text)
    if match is None or ("." in match[1] and not (match[2] or unit)):
        raise ValueError(f"{text!r} is not an amount")
    power = " KMGTP".index(match[2] or unit or " ") - " KMGTP".index(unit or " ")
    return min(math.ceil(float(match[1]) * 1024.0**power), LARGEST + 1)


class Tres(NamedTuple):
    """Resources of a whole job; memory in MiB, `nodes` 0 if not stated."""

    nodes: int = 0
    amounts: Mapping[str, int] = MappingProxyType({})


@lru_cache(maxsize=1 << 12)
def tres(text: str) -> Tres:
    """Resources of `billing=8,cpu=8,gres/gpu:a100=2,gres/gpu=2,mem=16G,node=1`.

    Generic resources are kinds; an untyped total replaces typed amounts. Others are ignored.
    """
    stated: dict[str, str] = {}
    for part in text.split(",") if text not in UNSTATED else ():
        name, equals, amount = part.partition("=")
        if not equals or name in stated:
            raise ValueError(f"{part!r} is not a resource" if not equals else f"{name!r} occurs twice")
        stated[name] = amount
    amounts = _generic(stated)
    if "cpu" in stated:
        amounts[CORES] = count(stated["cpu"])
    if "mem" in stated:
        amounts[MEMORY] = _scaled(stated["mem"], "M")
    return Tres(count(stated.get("node", "0")), MappingProxyType(amounts))


def _generic(stated: Mapping[str, str]) -> dict[str, int]:
    whole: dict[str, int] = {}
    by_types: dict[str, int] = {}
    for name, amount in stated.items():
        group, _, resource = name.partition("/")
        called, typed, _ = resource.partition(":")
        if group == "gres" and (kind := kind_of_gres(called)):
            found = by_types if typed else whole
            found[kind] = min(found.get(kind, 0) + count(amount), LARGEST + 1)
    return by_types | whole


@lru_cache(maxsize=1 << 12)
def typed(text: str) -> Mapping[str, tuple[str, int]]:
    """Typed generic resources: `gpu_a100` maps to `gpu` and an amount."""
    found: dict[str, tuple[str, int]] = {}
    for part in text.split(",") if text not in UNSTATED else ():
        name, _, amount = part.partition("=")
        group, _, resource = name.partition("/")
        called, _, type_ = resource.partition(":")
        kind = kind_of_gres(called)
        if group == "gres" and type_ and kind and (of_type := kind_of_type(kind, type_)):
            found[of_type] = kind, count(amount)
    return MappingProxyType(found)


_JOB = re.compile(r"(\d{1,18})(?:_(?:(\d{1,18})|\[([^\]]*)\]))?(?:\+(\d{1,9}))?(\..*)?", re.ASCII)


class JobName(NamedTuple):
    """Job id: `123`, `123_7` (`number` None), `123_[5-9%2]`, `123+1` (124), `123.batch` (step)."""

    number: int | None
    pending: str | None
    is_part: bool
    """Of a heterogeneous job."""
    is_step: bool


def job_name(text: str) -> JobName:
    """Parse `JobID` or `JobIDRaw`."""
    match = _JOB.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a job")
    number, member, pending, part, step = match.groups()
    return JobName(None if member else int(number) + int(part or 0), pending, part is not None, step is not None)


_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9})(?::(\d{1,9}))?)?", re.ASCII)


def pending_members(pending: str) -> int:
    """Number of array tasks in `1,5-9,20-40:10%2`, or in bits `0x3F7`; limited as in job tables."""
    found, listed = 0, re.sub(r"%\d*$", "", pending)
    if re.fullmatch(r"0x[0-9A-Fa-f]{1,30000}", listed):  # JSON of sacct 22.05
        found, listed = int(listed, 16).bit_count(), ""
    for tasks in _task_ranges(listed) if listed or not found else ():
        found += len(tasks)
    if found > LARGEST_ARRAY:
        raise ValueError(f"{found} members of an array; at most {LARGEST_ARRAY} are supported")
    return found


def pending_tasks(pending: str) -> Iterator[int]:
    """Array tasks in `1,5-9,20-40:10%2`. Raises ValueError."""
    return chain.from_iterable(_task_ranges(re.sub(r"%\d*$", "", pending)))


def is_task_of(pending: str, task: str) -> bool:
    """Whether an array's waiting tasks, as in `pending_members`, include a task."""
    with suppress(ValueError):
        return task.isdecimal() and any(int(task) in tasks for tasks in _task_ranges(re.sub(r"%\d*$", "", pending)))
    return False


def _task_ranges(listed: str) -> Iterator[range]:
    for part in listed.split(","):
        match = _RANGE.fullmatch(part)
        first, last, step = (int(match[1]), int(match[2] or match[1]), int(match[3] or 1)) if match else (0, 0, 0)
        if step == 0 or last < first:
            raise ValueError(f"members {listed!r} cannot be counted (with SLURM_BITSTR_LEN=0, sacct writes all)")
        yield range(first, last + 1, step)


def whole_seconds(span: float) -> int:
    """Seconds rounded up, ignoring 1 µs, so no job vanishes."""
    return ceil(span - 1e-6)


def utc_seconds(stamp: str) -> int:
    """Unix seconds of `2014-03-31 08:51:10`. Raises ValueError."""
    if not stamp.isascii():  # strptime accepts digits of any script
        raise ValueError(f"{stamp!r} is not a time")
    return int(datetime.strptime(stamp, "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC).timestamp())
