"""Reads and writes `jobs.csv` without loss."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, replace
from io import TextIOWrapper
from itertools import chain
from pathlib import Path
from sys import intern
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import numpy as np

from dardis.metrics import columns
from dardis.metrics.job_metrics import slowdown
from dardis.model.arrays import Bools, Floats, Ints
from dardis.model.csv_table import from_cell
from dardis.model.errors import InputError
from dardis.model.job import NO_TIME, Status
from dardis.model.numbers import whole_number, whole_numbers
from dardis.model.placements import Placements
from dardis.model.resources import CORES
from dardis.model.schedule import Schedule

if TYPE_CHECKING:
    from pandas import DataFrame

BLOCK_JOBS: Final = 8192
BLOCK_CHARACTERS: Final = 1 << 21
"""Block limits, to bound memory."""
_LONGEST_FIELD: Final = 1 << 26
"""Characters, for millions of nodes; more: an unclosed quote."""
_TIME_LIMIT: Final = 1 << 60
_AMOUNT_LIMIT: Final = 1 << 31
"""Products below fit 64 bits."""
_MEGABYTE: Final = 1_000_000
STATUS_NAMES: Final = tuple(status.name.lower() for status in Status)

Value: TypeAlias = str | int | float | None


class Block(NamedTuple):
    """Consecutive jobs: schedule, column names, rows as text."""

    schedule: Schedule
    names: list[str]
    rows: list[list[str]]


def write_jobs(schedule: Schedule, path: Path, workload: str = "", allocated: Sequence[str] | None = None) -> None:
    """Write a schedule. Raises OSError.

    `workload`: trace name; `allocated`: resources per job (default: nodes).
    """
    columns.jobs_table(schedule).write_blocks(path, _blocks(schedule, workload, allocated))


def _blocks(schedule: Schedule, workload: str, allocated: Sequence[str] | None) -> Iterator[list[Sequence[Any]]]:
    for first in range(0, len(schedule.number), BLOCK_JOBS):
        last = min(first + BLOCK_JOBS, len(schedule.number))
        yield _values_of(schedule, first, last, workload, None if allocated is None else allocated[first:last])


def _values_of(
    schedule: Schedule, first: int, last: int, workload: str = "", allocated: Sequence[str] | None = None
) -> list[Sequence[Any]]:
    span = slice(first, last)
    latest = schedule.latest[span]
    requests = zip(schedule.kinds, schedule.request[span].T.tolist(), strict=True)
    values: dict[str, Sequence[Any]] = {
        "job_id": schedule.number[span].tolist(),
        "workload_name": [workload] * (last - first),
        "submission_time": schedule.submit[span].tolist(),
        "requested_time": schedule.walltime[span].tolist(),
        "starting_time": _where(schedule.ran[span], schedule.start[span]),
        "finish_time": _where(schedule.ran[span], schedule.finish[span]),
        **derived(schedule, first, last),
        "units": schedule.units[span].tolist(),
        "units_by_node": schedule.placed.texts(first, last),
        **{columns.REQUEST_PREFIX + kind: amounts for kind, amounts in requests},
        "earliest_start": schedule.earliest[span].tolist(),
        "latest_start": _where(latest != NO_TIME, latest),
        "attempts": schedule.attempts[span].tolist(),
        "status": [STATUS_NAMES[code] for code in schedule.status[span].tolist()],
        "queue": schedule.queue[span],
        "user": schedule.user[span],
    }
    if allocated is not None:
        values[columns.ALLOCATED] = [*allocated]
    if schedule.parts is not None:
        values |= columns.texts(schedule, schedule.parts, first, last)
    if schedule.taken is not None:
        values[columns.ALTERNATIVE] = _where(schedule.taken[span] >= 0, schedule.taken[span] + 1)
    return [values[name] for name in columns.jobs_table(schedule).names]


def job_frame(schedule: Schedule, workload: str) -> DataFrame:
    """Data frame of jobs.csv; `workload`: trace name."""
    return columns.jobs_table(schedule).frame(_values_of(schedule, 0, len(schedule.number), workload))


def derived(schedule: Schedule, first: int, last: int) -> dict[str, list[Value]]:
    """Derived columns of jobs `[first, last)`; None if missing."""
    span = slice(first, last)
    ran = schedule.ran[span]
    submit, start, finish = schedule.submit[span], schedule.start[span], schedule.finish[span]
    wait, execution = start - submit, finish - start
    cores = schedule.requested_total(CORES)[span]
    return {
        "requested_number_of_resources": cores.tolist(),
        "success": (schedule.status[span] == Status.COMPLETED).astype(np.int64).tolist(),
        "execution_time": _where(ran, execution),
        "waiting_time": _where(ran, wait),
        "turnaround_time": _where(ran, finish - submit),
        "stretch": _where(ran, slowdown(wait, execution)),
        columns.ALLOCATED: [*columns.interval_sets(schedule, first, last)],
    }


def _where(known: Bools, values: Ints | Floats) -> list[Value]:
    numbers: list[Value] = values.tolist()
    for place in np.flatnonzero(~known).tolist():
        numbers[place] = None
    return numbers


def read_jobs(path: Path) -> Schedule:
    """Read `jobs.csv`: columns in any order, integers also as `12.0`. Raises InputError.

    Required: job_id, submission_time, requested_time, starting_time, finish_time, units, units_by_node, req_cores,
    status. Defaults: earliest_start is submission_time, no deadlines, attempts 1, no queue and user. `audit`
    checks legality.
    """
    return _joined([block.schedule for block in read_blocks(path)])


def read_blocks(path: Path, tell: Callable[[int, int], object] | None = None) -> Iterator[Block]:
    """Read a `jobs.csv` in blocks, at least one; `tell` gets MB read and total."""
    csv.field_size_limit(max(csv.field_size_limit(), _LONGEST_FIELD))
    try:
        with path.open("rb") as raw, TextIOWrapper(raw, encoding="utf-8", newline="") as file:
            size = os.fstat(raw.fileno()).st_size
            reader = csv.reader(file)
            lines = ((reader.line_num, row) for row in reader if row)
            names = next(lines, (1, []))[1]
            found = _found(path, names)
            for chunk in _chunks(lines):
                yield _block(path, names, found, chunk)
                if tell is not None:
                    tell(raw.tell() // _MEGABYTE, size // _MEGABYTE)
    except OSError as error:
        raise InputError(path, error.strerror or "cannot be read", "a jobs.csv") from None
    except UnicodeDecodeError:
        raise InputError(path, "is not UTF-8 text", "a jobs.csv") from None
    except csv.Error as error:
        raise InputError(f"{path} line {reader.line_num}", str(error), "a row of comma-separated values") from None


def _chunks(lines: Iterator[tuple[int, list[str]]]) -> Iterator[list[tuple[int, list[str]]]]:
    chunk: list[tuple[int, list[str]]] = []
    size, last = 0, None
    for line in lines:
        chunk.append(line)
        size += sum(map(len, line[1]))
        if len(chunk) == BLOCK_JOBS or size >= BLOCK_CHARACTERS:
            yield chunk
            chunk, size, last = [], 0, line[0]
    if chunk or last is None:
        yield chunk


class _Column(NamedTuple):
    """Column's parser; `empty` replaces empty text (None: invalid)."""

    parse: Callable[[str], Any]
    expected: str
    empty: Any = None
    needed: bool = True
    integer_range: tuple[int, int] | None = None


def _whole(least: int, most: int, expected: str) -> _Column:
    def parse(text: str) -> int:
        return whole_number(text.removesuffix(".0"), least, most)

    return _Column(parse, expected, integer_range=(least, most))


_TIME: Final = _whole(-_TIME_LIMIT, _TIME_LIMIT - 1, "a whole number of seconds")
_AMOUNT: Final = _whole(0, _AMOUNT_LIMIT - 1, "a whole number from 0")
_TEXT: Final = _Column(lambda cell: intern(from_cell(cell)), "text", needed=False)
_COLUMNS: Final = {
    "job_id": _TIME._replace(expected="a whole number"),
    "submission_time": _TIME,
    "requested_time": _TIME,
    "starting_time": _TIME._replace(empty=NO_TIME),
    "finish_time": _TIME._replace(empty=NO_TIME),
    "units": _AMOUNT,
    "units_by_node": _Column(columns.checked_units_by_node, "node:units pairs like 0:1 7:2"),
    "status": _Column(STATUS_NAMES.index, " or ".join(STATUS_NAMES)),
    columns.REQUEST_PREFIX + CORES: _AMOUNT,
    "earliest_start": _TIME._replace(needed=False),
    "latest_start": _TIME._replace(empty=NO_TIME, needed=False),
    "attempts": _AMOUNT._replace(needed=False),
    "queue": _TEXT,
    "user": _TEXT,
    columns.PARTS: _Column(columns.checked_parts, "parts like 2:cores=4 1:cores=1,gpu=2", needed=False),
    columns.UNITS_BY_PART: _Column(columns.checked_units, "node:units pairs by part like 0:1 1:1;0:1", needed=False),
    columns.ALTERNATIVE: _whole(1, _AMOUNT_LIMIT - 1, "a whole number from 1")._replace(empty=0, needed=False),
}


def _found(path: Path, names: list[str]) -> dict[str, tuple[int, _Column]]:
    known = _COLUMNS | {name: _AMOUNT for name in names if name.startswith(columns.REQUEST_PREFIX)}
    missing = [name for name, column in known.items() if column.needed and name not in names]
    if missing:
        raise InputError(f"{path} line 1", "no column " + ", ".join(missing), "the header of a jobs.csv")
    doubled = [name for name in known if names.count(name) > 1]
    if doubled:
        raise InputError(f"{path} line 1", "more than one column " + ", ".join(doubled), "each column once")
    return {name: (names.index(name), column) for name, column in known.items() if name in names}


def _block(
    path: Path, names: list[str], found: dict[str, tuple[int, _Column]], chunk: list[tuple[int, list[str]]]
) -> Block:
    for line, row in chunk:
        if len(row) != len(names):
            raise InputError(f"{path} line {line}", f"{len(row)} values", f"{len(names)}, as in line 1")
    values = {
        name: _parse(path, name, column, [(line, row[place]) for line, row in chunk])
        for name, (place, column) in found.items()
    }
    schedule = _schedule(values, len(chunk))
    if columns.PARTS in values and columns.UNITS_BY_PART in values:
        try:
            parts = columns.parts_of(schedule, values[columns.PARTS], values[columns.UNITS_BY_PART])
        except columns.WrongPartsError as error:
            line = chunk[error.place][0]
            raise InputError(f"{path} line {line}", str(error), "parts that match the other columns") from None
        schedule = replace(schedule, parts=parts)
    if columns.ALTERNATIVE in values:
        schedule = replace(schedule, taken=np.array(values[columns.ALTERNATIVE], dtype=np.int64) - 1)
    return Block(schedule, names, [row for _, row in chunk])


def _parse(path: Path, name: str, column: _Column, texts: list[tuple[int, str]]) -> list[Any]:
    if (numbers := _parse_integers(column, [text for _, text in texts])) is not None:
        return numbers
    parse, empty = column.parse, column.empty
    values: list[Any] = []
    for line, text in texts:
        try:
            values.append(empty if empty is not None and not text else parse(text))
        except ValueError:
            raise InputError(f"{path} line {line}", f"{name} is {text!r}", column.expected) from None
    return values


def _parse_integers(column: _Column, texts: list[str]) -> list[int] | None:
    if column.integer_range is None:
        return None
    filled = texts if column.empty is None else [text for text in texts if text]
    numbers = whole_numbers(filled, *column.integer_range)
    if numbers is None or len(filled) == len(texts):
        return numbers
    following = iter(numbers)
    return [next(following) if text else column.empty for text in texts]


def _schedule(values: dict[str, list[Any]], count: int) -> Schedule:
    def numbers(name: str, otherwise: Ints | None = None) -> Ints:
        return otherwise if otherwise is not None and name not in values else np.array(values[name], dtype=np.int64)

    others = [name.removeprefix(columns.REQUEST_PREFIX) for name in values if name.startswith(columns.REQUEST_PREFIX)]
    kinds = (CORES, *(kind for kind in others if kind != CORES))
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
        placed=columns.units_by_node(values["units_by_node"]),
        queue=values.get("queue", [""] * count),
        user=values.get("user", [""] * count),
    )


def _joined(parts: list[Schedule]) -> Schedule:
    whole: dict[str, Any] = {"kinds": parts[0].kinds}
    apart = {"kinds", "placed", "parts"} if parts[0].taken is not None else {"kinds", "placed", "parts", "taken"}
    for name in (field.name for field in fields(Schedule) if field.name not in apart):
        columns_of_parts = [getattr(part, name) for part in parts]
        texts = isinstance(columns_of_parts[0], list)
        whole[name] = list(chain.from_iterable(columns_of_parts)) if texts else np.concatenate(columns_of_parts)
    whole["parts"] = columns.joined([part.parts for part in parts if part.parts is not None])
    return Schedule(**whole, placed=Placements.of_parts([part.placed for part in parts]))
