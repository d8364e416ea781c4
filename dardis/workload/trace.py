"""Traces as arrays of equal length, in (submit, job number) order.

Values are in range, job numbers unique, times not shifted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dardis.model.arrays import Bools, Ints
from dardis.model.errors import InputError, one_line
from dardis.model.job import NO_TIME
from dardis.model.numbers import whole_number
from dardis.model.resources import CORES

Texts = NDArray[np.object_]

UNKNOWN = -1
LARGEST = 1 << 40
"""Limit of values, so sums and products fit 64 bits."""

OUT_OF_RANGE = "number out of range"
NOT_ENDED = "no runtime: the job runs or waits"
_GRACE_S = 86_400
"""From a walltime's end to the trace's last event, to end a job without recorded end."""
_UNIX_FROM = 800_000_000
"""Later times (from 1995) are Unix times."""
_LATEST_UNIX = 253_370_764_799
"""Last second of 9998."""


class Skipped(NamedTuple):
    """Line without a job: malformed, never ran, or not ended."""

    line: int
    reason: str
    malformed: bool


@dataclass(frozen=True, eq=False)
class Trace:
    """Trace's jobs. Times in s of the trace's clock; `UNKNOWN` (-1) if not stated.

    - `units`, `request` (per unit, by kind; memory in MiB): of job tables, with `procs` = units × cores. If 0 and
      empty, jobs request processors (SWF), and `memory_kb` is KiB per processor.
    - `lst`: `NO_TIME` without deadline.
    - `no_walltime`: not stated; `walltime` is the runtime.
    - `name`: of the job or application.
    - `comments`: header lines; `notes`: for users.
    - `requests`: by number, of jobs that request more than units on any nodes. `units`, `procs`, `walltime` and
      `runtime` then describe the first request, `request` its first part.

    Jobs that run or wait at the end (see `read_trace`) have `runtime` `UNKNOWN`; if waiting, also `wait`.
    """

    number: Ints
    submit: Ints
    wait: Ints
    runtime: Ints
    procs: Ints
    walltime: Ints
    memory_kb: Ints
    user: Texts
    group: Texts
    name: Texts
    queue: Texts
    partition: Texts
    after: Ints
    think: Ints
    est: Ints
    lst: Ints
    units: Ints
    no_walltime: Bools
    request: dict[str, Ints] = field(default_factory=dict)
    requests: Mapping[int, tuple[StatedRequest, ...]] = field(default_factory=dict)
    line: Ints | None = None
    """Line of each job in an 18-column SWF file."""
    comments: tuple[str, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.number)

    @property
    def has_ended(self) -> Bools:
        """Mask of ended jobs."""
        return np.asarray(self.runtime != UNKNOWN)

    @property
    def counts_processors(self) -> bool:
        """Whether jobs request processors instead of units."""
        return not self.request

    @property
    def named_partitions(self) -> set[str]:
        """Partitions (or lists `a,b`) named by jobs and parts."""
        stated = (request for requests in self.requests.values() for request in requests)
        return {*self.partition.tolist(), *(part.partition for request in stated for part in request.parts)}

    @property
    def stated_walltime(self) -> Ints:
        """Walltimes, `UNKNOWN` if not stated."""
        return np.where(self.no_walltime, UNKNOWN, self.walltime)

    @property
    def unix_start(self) -> int | None:
        """Unix time of second 0, by the header's `UnixStartTime`."""
        return self._in_header("UnixStartTime", 0, _LATEST_UNIX)

    @property
    def most_processors(self) -> int | None:
        """Machine size, by the header's `MaxProcs`."""
        return self._in_header("MaxProcs", 1, LARGEST)

    def _in_header(self, what: str, least: int, most: int) -> int | None:
        for comment in self.comments:
            name, _, value = comment.lstrip("; ").partition(":")
            if name.strip() == what and value.strip():
                with suppress(ValueError):
                    return whole_number(value.split()[0], least, most)
        return None

    def begins(self, stated: int | None) -> int | None:
        """Unix time of second 0, or None.

        `stated`: first submission by user or platform; else the header applies, or times are Unix times.
        """
        if stated is not None:
            return stated - int(self.submit.min())
        if self.unix_start is not None:
            return self.unix_start
        return 0 if int(self.submit[0]) > _UNIX_FROM else None

    def take(self, rows: NDArray[Any]) -> Trace:
        """Select rows by mask (jobs,) or indices."""
        changed: dict[str, Any] = {name: getattr(self, name)[rows] for name in _COLUMNS}
        changed["line"] = None if self.line is None else self.line[rows]
        changed["request"] = {kind: amounts[rows] for kind, amounts in self.request.items()}
        return replace(self, **changed)


_COLUMNS = (
    "number", "submit", "wait", "runtime", "procs", "walltime", "memory_kb", "user", "group", "name", "queue",
    "partition", "after", "think", "est", "lst", "units", "no_walltime",
)  # fmt: skip
_NUMBERS = ("number", "submit", "wait", "runtime", "procs", "walltime", "memory_kb", "after", "think", "units")


def build_trace(
    path: Path,
    lines: Sequence[int] | Ints,
    columns: dict[str, Any],
    problems: list[Skipped],
    *,
    strict: bool,
    comments: tuple[str, ...] = (),
    never_ran: Bools | None = None,
    suspended: Bools | None = None,
) -> Trace:
    """Check parsed rows; return jobs, sorted by (submit, job number).

    `columns`: arrays of Trace; `lines`: their lines; `problems`: unparsed lines. A row without runtime is a job that
    runs or waits, unless `never_ran`, or its walltime ended a day before the last event without being `suspended`. Such
    jobs are also in `skipped`. Raises InputError without valid jobs, and with `strict` for a malformed line.
    """
    line_of = np.asarray(lines, dtype=np.int64)
    trace = Trace(**_with_defaults(columns, len(line_of)), comments=comments)
    keep = np.ones(len(trace), dtype=bool)
    open_ended = _not_ended(trace, never_ran, suspended)
    found = [skip._replace(reason=one_line(skip.reason)) for skip in problems]
    for reason, malformed, rows in _defects(trace, open_ended):
        found += [Skipped(int(line_of[row]), reason, malformed) for row in np.flatnonzero(rows & keep)]
        keep &= ~rows
    repeats = _repeats(trace.number, line_of, np.flatnonzero(keep & ~open_ended))
    found += [
        Skipped(int(line_of[row]), f"job number {trace.number[row]} again, as on line {line}", malformed=True)
        for row, line in repeats.items()
    ]
    keep[list(repeats)] = False
    state = np.flatnonzero(keep & open_ended)
    found += [Skipped(int(line_of[row]), NOT_ENDED, malformed=False) for row in state]
    # A job that ended by one line does not wait by another.
    keep[[*_repeats(trace.number, line_of, state)]] = False
    keep[state[np.isin(trace.number[state], trace.number[keep & ~open_ended])]] = False
    found.sort()
    for skip in found:
        if strict and skip.malformed:
            raise InputError(f"{path}:{skip.line}", skip.reason, "a valid job (or no --strict)")
    if not keep.any():
        raise no_job(path, found)
    kept = np.flatnonzero(keep)
    order = kept[np.lexsort((trace.number[kept], trace.submit[kept]))]
    return replace(trace.take(order), skipped=tuple(found))


def no_job(path: Path, skipped: Sequence[Skipped]) -> InputError:
    """Error for a trace without valid jobs."""
    why = f" ({len(skipped)} lines skipped, the first: line {skipped[0].line}: {skipped[0].reason})" if skipped else ""
    return InputError(path, f"no valid job{why}", "at least one job with runtime and processors")


def _not_ended(trace: Trace, never_ran: Bools | None, suspended: Bools | None) -> Bools:
    rows = np.asarray(trace.runtime == UNKNOWN)
    if never_ran is not None:
        rows &= ~never_ran
    if not rows.any():
        return rows
    began = trace.submit + np.maximum(trace.wait, 0)
    last = int(np.max(began + np.maximum(trace.runtime, 0), where=trace.submit <= LARGEST, initial=0))
    over = (trace.wait >= 0) & ~trace.no_walltime & (began + trace.walltime < last - _GRACE_S)
    if suspended is not None:
        over &= ~suspended
    return np.asarray(rows & ~over)


def _repeats(number: Ints, line_of: Ints, rows: Ints) -> dict[int, int]:
    order = rows[np.lexsort((line_of[rows], number[rows]))]
    again = np.diff(number[order], prepend=-1) == 0
    first = np.maximum.accumulate(np.where(again, 0, np.arange(len(order))))
    return dict(zip(order[again].tolist(), line_of[order[first[again]]].tolist(), strict=True))


def _with_defaults(columns: dict[str, Any], count: int) -> dict[str, Any]:
    full = {name: np.full(count, UNKNOWN, dtype=np.int64) for name in _NUMBERS}
    full |= {name: np.full(count, "", dtype=object) for name in ("user", "group", "name", "queue", "partition")}
    full["units"] = np.zeros(count, dtype=np.int64)
    full |= {"est": columns["submit"], "lst": np.full(count, NO_TIME, dtype=np.int64)} | columns
    unstated = full["walltime"] <= 0
    full["walltime"] = np.where(unstated, full["runtime"], full["walltime"])
    return full | {"no_walltime": unstated}


def _defects(trace: Trace, open_ended: Bools) -> list[tuple[str, bool, Bools]]:
    too_large = np.zeros(len(trace), dtype=bool)
    for name in _NUMBERS:
        too_large |= getattr(trace, name) > LARGEST
    for amounts in trace.request.values():
        too_large |= amounts > LARGEST
    defects = [
        (OUT_OF_RANGE, True, too_large),
        ("negative job number", True, trace.number < 0),
        ("negative submit time", True, trace.submit < 0),
        ("negative runtime", True, trace.runtime < UNKNOWN),
        ("negative number of processors", True, trace.procs < UNKNOWN),
        ("no runtime", False, (trace.runtime <= 0) & ~open_ended),
    ]
    if trace.counts_processors:
        return [*defects, ("no processors", False, trace.procs <= 0)]
    asks = np.zeros(len(trace), dtype=bool)
    for amounts in trace.request.values():
        asks |= amounts > 0
    return [
        *defects,
        ("no units", False, trace.units <= 0),
        ("a unit has an empty request", True, ~asks),
        ("est_s before submit_s", True, trace.est < trace.submit),
        ("lst_s before est_s", True, (trace.lst != NO_TIME) & (trace.lst < trace.est)),
    ]


@dataclass(frozen=True)
class StatedPart:
    """Part: request per unit by kind; `nodes` 0 for any number."""

    units: int
    request: Mapping[str, int]
    partition: str
    nodes: int


@dataclass(frozen=True)
class StatedRequest:
    """Request alternative; times in s."""

    parts: tuple[StatedPart, ...]
    walltime: int
    runtime: int
    contiguous: bool

    @property
    def units(self) -> int:
        """Units of all parts."""
        return sum(part.units for part in self.parts)

    @property
    def cores(self) -> int:
        """Cores of all parts."""
        return sum(part.units * part.request.get(CORES, 0) for part in self.parts)


def unequal_units_text(number: int) -> str:
    """Error text for readers limited to equal units."""
    return f"has jobs with parts, nodes, contiguous or alternatives (job {number} is the first)"
