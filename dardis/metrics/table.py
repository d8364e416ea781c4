"""Schedules as `jobs.csv`: one row a job in the schedule's order; what is read back equals what was written."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from itertools import chain, islice
from pathlib import Path
from sys import intern
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dardis.metrics import columns
from dardis.model.errors import InputError
from dardis.model.files import atomic_text
from dardis.model.job import NO_TIME, Status
from dardis.model.resources import CORES
from dardis.model.schedule import Schedule

_CHUNK: Final = 8192
"""Jobs formatted or parsed at a time, so that their text never fills the memory."""
_TIME_LIMIT: Final = 1 << 60
_AMOUNT_LIMIT: Final = 1 << 31
"""Amounts below this can be multiplied in 64 bits."""
_NO_NUMBERS: Final = np.empty(0, dtype=np.int64)
STATUS_NAMES: Final = tuple(status.name.lower() for status in Status)

Row: TypeAlias = tuple[str | int | float | None, ...]


def write_jobs(schedule: Schedule, path: Path, workload: str = "") -> None:
    """Write `schedule` to `path`; `workload` is the name of the trace.

    Names of queues and users hold no carriage returns, as traces are read by lines. Raises OSError when the file
    can't be written.
    """
    with atomic_text(path) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns.header(schedule.kinds))
        for first in range(0, len(schedule.number), _CHUNK):
            writer.writerows(rows(schedule, first, min(first + _CHUNK, len(schedule.number)), workload))


def rows(schedule: Schedule, first: int, last: int, workload: str = "") -> Iterator[Row]:
    """Rows of the jobs `[first, last)`, values in the order of `columns.header`; None where a job has no value."""
    span = slice(first, last)
    ran = schedule.ran[span]
    submit, start, finish = schedule.submit[span], schedule.start[span], schedule.finish[span]
    execution, turnaround = finish - start, finish - submit
    stretch = turnaround / np.maximum(execution, 1)
    status = schedule.status[span]
    request = schedule.request[span]
    cores = request[:, schedule.kinds.index(CORES)]
    latest = schedule.latest[span]
    return zip(
        schedule.number[span].tolist(),
        [workload] * (last - first),
        submit.tolist(),
        (schedule.units[span] * cores).tolist(),
        schedule.walltime[span].tolist(),
        (status == Status.COMPLETED).astype(np.int64).tolist(),
        *(_where(ran, values) for values in (start, execution, finish, start - submit, turnaround, stretch)),
        columns.interval_sets(schedule, first, last),
        schedule.units[span].tolist(),
        schedule.units_by_node(first, last),
        *request.T.tolist(),
        schedule.earliest[span].tolist(),
        _where(latest != NO_TIME, latest),
        schedule.attempts[span].tolist(),
        [STATUS_NAMES[code] for code in status.tolist()],
        schedule.queue[span],
        schedule.user[span],
        strict=True,
    )


def _where(known: NDArray[np.bool_], values: NDArray[np.int64] | NDArray[np.float64]) -> list[int | float | None]:
    """The values as Python numbers, None where they are not known."""
    numbers: list[int | float | None] = values.tolist()
    for place in np.flatnonzero(~known).tolist():
        numbers[place] = None
    return numbers


def read_jobs(path: Path) -> Schedule:
    """Read a `jobs.csv`, ours or another's: columns in any order, others ignored, whole numbers also as `12.0`.

    Needed are job_id, submission_time, requested_time, starting_time, finish_time, units, units_by_node, req_cores
    and status. Without the rest earliest_start is submission_time, nobody has a deadline, attempts is 1, queue and
    user are empty. What it says may be illegal: that is for `audit`. Raises InputError naming the line.
    """
    try:
        with path.open(encoding="utf-8", newline="") as file:
            reader = csv.reader(file)
            return _read(path, ((reader.line_num, row) for row in reader if row))
    except OSError as error:
        raise InputError(path, error.strerror or "can't be read", "a jobs.csv") from None
    except UnicodeDecodeError:
        raise InputError(path, "is no UTF-8 text", "a jobs.csv") from None
    except csv.Error as error:
        raise InputError(f"{path} line {reader.line_num}", str(error), "a row of comma-separated values") from None


class _Column(NamedTuple):
    """How the text of one column is read. `empty` stands for no text, None: text is needed."""

    parse: Callable[[str], Any]
    expected: str
    empty: Any = None
    needed: bool = True


def _whole(lowest: int, limit: int) -> Callable[[str], int]:
    """Parser of whole numbers in `[lowest, limit)`; pandas writes them as `12.0` beside empty fields."""

    def parse(text: str) -> int:
        value = int(text.removesuffix(".0"))
        if not lowest <= value < limit:
            raise ValueError
        return value

    return parse


def _pairs(text: str) -> list[tuple[int, int]]:
    """Units by node, in numbers that fit the arrays they go to."""
    pairs = columns.parse_units_by_node(text)
    if any(max(abs(node), abs(units)) >= _AMOUNT_LIMIT for node, units in pairs):
        raise ValueError
    return pairs


_TIME: Final = _Column(_whole(-_TIME_LIMIT, _TIME_LIMIT), "a whole number of seconds")
_AMOUNT: Final = _Column(_whole(0, _AMOUNT_LIMIT), "a whole number from 0")
_TEXT: Final = _Column(intern, "text", needed=False)
_COLUMNS: Final = {
    "job_id": _TIME._replace(expected="a whole number"),
    "submission_time": _TIME,
    "requested_time": _TIME,
    "starting_time": _TIME._replace(empty=NO_TIME),
    "finish_time": _TIME._replace(empty=NO_TIME),
    "units": _AMOUNT,
    "units_by_node": _Column(_pairs, "node:units pairs like 0:1 7:2"),
    "status": _Column(STATUS_NAMES.index, " or ".join(STATUS_NAMES)),
    columns.REQUEST_PREFIX + CORES: _AMOUNT,
    "earliest_start": _TIME._replace(needed=False),
    "latest_start": _TIME._replace(empty=NO_TIME, needed=False),
    "attempts": _AMOUNT._replace(needed=False),
    "queue": _TEXT,
    "user": _TEXT,
}


def _read(path: Path, lines: Iterator[tuple[int, list[str]]]) -> Schedule:
    """The schedule that the rows of a file make, each with the number of its line, the header first."""
    names = next(lines, (1, []))[1]
    known = _COLUMNS | {name: _AMOUNT for name in names if name.startswith(columns.REQUEST_PREFIX)}
    missing = [name for name, column in known.items() if column.needed and name not in names]
    if missing:
        raise InputError(f"{path} line 1", "no column " + ", ".join(missing), "the header of a jobs.csv")
    doubled = [name for name in known if names.count(name) > 1]
    if doubled:
        raise InputError(f"{path} line 1", "more than one column " + ", ".join(doubled), "each column once")
    found = {name: names.index(name) for name in known if name in names}
    parts: dict[str, list[Any]] = {name: [] for name in found}
    while chunk := list(islice(lines, _CHUNK)):
        for line, row in chunk:
            if len(row) != len(names):
                raise InputError(f"{path} line {line}", f"{len(row)} values", f"{len(names)}, as in line 1")
        for name, place in found.items():
            values = _parse(path, name, known[name], [(line, row[place]) for line, row in chunk])
            parts[name].append(values if known[name] is _TEXT else _packed(values))
    return _schedule(parts)


def _parse(path: Path, name: str, column: _Column, texts: list[tuple[int, str]]) -> list[Any]:
    """The values of a chunk of one column, from (line, text)."""
    parse, empty = column.parse, column.empty
    values: list[Any] = []
    for line, text in texts:
        try:
            values.append(empty if empty is not None and not text else parse(text))
        except ValueError:
            raise InputError(f"{path} line {line}", f"{name} is {text!r}", column.expected) from None
    return values


def _packed(values: list[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The numbers of a chunk as one array, and how many each value has: one, or of pairs those of its nodes."""
    if values and isinstance(values[0], list):
        flat = np.array(list(chain.from_iterable(chain.from_iterable(values))), dtype=np.int64)
        return flat, np.array([len(pairs) for pairs in values], dtype=np.int64)
    return np.array(values, dtype=np.int64), np.ones(len(values), dtype=np.int64)


def _schedule(parts: dict[str, list[Any]]) -> Schedule:
    """The struct of arrays of the chunks of every column."""

    def numbers(name: str, otherwise: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
        if otherwise is not None and name not in parts:
            return otherwise
        return np.concatenate([_NO_NUMBERS, *(chunk for chunk, _ in parts.pop(name))])

    def texts(name: str) -> list[str]:
        return list(chain.from_iterable(parts.pop(name))) if name in parts else [""] * len(submit)

    others = [name.removeprefix(columns.REQUEST_PREFIX) for name in parts if name.startswith(columns.REQUEST_PREFIX)]
    kinds = (CORES, *(kind for kind in others if kind != CORES))
    counts = np.concatenate([_NO_NUMBERS, *(sizes for _, sizes in parts["units_by_node"])])
    pairs = numbers("units_by_node").reshape(-1, 2)
    submit = numbers("submission_time")
    return Schedule(
        kinds=kinds,
        number=numbers("job_id"),
        submit=submit,
        earliest=numbers("earliest_start", submit),
        latest=numbers("latest_start", np.full_like(submit, NO_TIME)),
        walltime=numbers("requested_time"),
        units=numbers("units"),
        request=np.stack([numbers(columns.REQUEST_PREFIX + kind) for kind in kinds], axis=1),
        status=numbers("status").astype(np.int8),
        start=numbers("starting_time"),
        finish=numbers("finish_time"),
        attempts=numbers("attempts", np.ones_like(submit)),
        offsets=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        nodes=np.ascontiguousarray(pairs[:, 0]),
        node_units=np.ascontiguousarray(pairs[:, 1]),
        queue=texts("queue"),
        user=texts("user"),
    )
