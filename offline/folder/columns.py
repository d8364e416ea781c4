"""A plan's tables as columns under the names that its files carry, and back; damage is an InputError."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from dardis.metrics.columns import parse_units_by_node
from dardis.model.arrays import Floats, Ints
from dardis.model.cells import as_cell, row_writer
from dardis.model.errors import InputError
from dardis.model.files import atomic_text, csv_rows, read_text
from dardis.model.limits import LATEST
from dardis.model.moments import parse_utc
from dardis.model.numbers import decimal_number, whole_number
from dardis.model.placements import Placements
from dardis.model.platform import Platform
from dardis.model.ragged import offsets_of
from offline.folder.tables import JobKind, OnOffTable, ProfileTable, ScheduleTable

T = TypeVar("T")
Columns = dict[str, list[Any]]
"""Values by column, all of the same length; None for none."""

_PROFILE_REALS = {
    "power_cap_w": "power_cap_w", "it_w": "it_w", "cooling_w": "cooling_w", "pue": "pue",
    "price_eur_per_kwh": "price_per_kwh", "gco2_per_kwh": "gco2_per_kwh", "temp_c": "temp_c", "nodes_on": "nodes_on",
}  # fmt: skip
"""Columns of real numbers in a profile, each with its field."""
_MAY_BE_EMPTY = {"power_cap_w", "pue"}
_NEVER_NEGATIVE = ("power_cap_w", "it_w", "cooling_w", "gco2_per_kwh", "nodes_on")
_SCHEDULE_WHOLE = {
    "job_id": "number", "submission_time": "submit", "starting_time": "start", "finish_time": "finish",
    "req_cores": "req_cores", "units": "units",
}  # fmt: skip
_ACTIONS = ("off", "on")
_LONGEST_S = 366 * 86_400
"""What a plan may be about."""


def utc_texts(unix: Ints) -> list[str]:
    """Unix seconds as UTC text, `2023-07-03T00:00:00Z`."""
    texts: list[str] = np.datetime_as_string(unix.astype("datetime64[s]"), timezone="UTC").tolist()
    return texts


def profile_columns(profile: ProfileTable, offset: int) -> Columns:
    """One row a segment; `offset` is Unix time less trace time."""
    columns: Columns = {
        "time_s": profile.edges[:-1].tolist(),
        "time_utc": utc_texts(profile.edges[:-1] + offset),
        "cores_target": profile.cores_target.tolist(),
    }
    columns |= {name: reals_or_none(getattr(profile, field)) for name, field in _PROFILE_REALS.items()}
    return columns | {"end_s": profile.edges[1:].tolist()}


def onoff_columns(onoff: OnOffTable, platform: Platform, offset: int) -> Columns:
    """One row an action; the name of a node is for people and is not read back."""
    return {
        "time_s": onoff.time.tolist(),
        "time_utc": utc_texts(onoff.time + offset),
        "node": onoff.node.tolist(),
        "name": [platform.node_name(node) for node in onoff.node.tolist()],
        "action": [_ACTIONS[on] for on in onoff.on.tolist()],
    }


def schedule_columns(schedule: ScheduleTable) -> Columns:
    """One row a job."""
    columns: Columns = {name: getattr(schedule, field).tolist() for name, field in _SCHEDULE_WHOLE.items()}
    columns["units_by_node"] = schedule.placed.texts(0, len(schedule.number))
    columns["kind"] = [str(kind) for kind in schedule.kind]
    order = ("job_id", "submission_time", "starting_time", "finish_time", "units_by_node", "req_cores", "units", "kind")
    return {name: columns[name] for name in order}


def write_csv(path: Path, columns: Columns) -> None:
    """Write the columns; numbers are as short as they can be read back."""
    cells = [[as_cell(x) if isinstance(x, str) else x for x in column] for column in columns.values()]
    with atomic_text(path) as file:
        writer = row_writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*cells, strict=True))


def reals_or_none(values: Floats) -> list[float | None]:
    """Real numbers, None for NaN."""
    return [None if math.isnan(value) else value for value in values.tolist()]


class Table:
    """Rows of text by column. Every complaint names the file and the row."""

    def __init__(self, place: str, header: list[str], rows: Iterable[tuple[int, list[str]]]) -> None:
        """Take rows with their numbers; `place` and `:number` are how they are named."""
        self.place, self.header = place, header
        body = list(rows)
        self.lines = [line for line, _ in body]
        for line, fields in body:
            if len(fields) != len(header):
                raise InputError(f"{place}:{line}", f"{len(fields)} fields", f"{len(header)}, as the header has")
        self.columns = {name: [fields[place] for _, fields in body] for place, name in enumerate(header)}

    @classmethod
    def of_csv(cls, path: Path) -> Table:
        """The rows of a CSV file, numbered by line."""
        rows = csv_rows(path, read_text(path))
        _, header = next(rows, (1, []))
        return cls(str(path), header, rows)

    def values(self, name: str, parse: Callable[[str], T], expected: str) -> list[T]:
        """What the texts of a column mean; `parse` raises ValueError."""
        if self.header.count(name) != 1:
            raise InputError(f"{self.place}:1", f"not one column {name}", "the columns that dardis plan writes")
        found = []
        for line, text in zip(self.lines, self.columns[name], strict=True):
            try:
                found.append(parse(text))
            except ValueError:
                raise InputError(f"{self.place}:{line}", f"{name} {text!r}", expected) from None
        return found

    def whole(self, name: str) -> Ints:
        """A column of whole numbers."""
        return np.array(self.values(name, _whole, "a whole number"), dtype=np.int64)

    def reals(self, name: str, *, may_be_empty: bool) -> Floats:
        """A column of finite numbers; NaN where it may be and is empty."""
        return np.array(
            self.values(name, lambda text: math.nan if may_be_empty and not text else decimal_number(text), "a number"),
            dtype=np.float64,
        )

    def refuse(self, wrong: np.ndarray[Any, np.dtype[np.bool_]], found: str) -> None:
        """Complain of the first row for which something wrong is true."""
        if wrong.any():
            raise InputError(f"{self.place}:{self.lines[int(np.argmax(wrong))]}", found)


def profile_of(table: Table) -> tuple[ProfileTable, int]:
    """The profile that `profile_columns` described, and Unix time less trace time."""
    start, end = table.whole("time_s"), table.whole("end_s")
    if not len(start):
        raise InputError(table.place, "no rows", "one row a segment of the day")
    table.refuse(end <= start, "end_s is not after time_s")
    table.refuse(end - start[0] > _LONGEST_S, "end_s is more than a year after the first time_s")
    table.refuse(np.append(False, start[1:] != end[:-1]), "time_s is not the end_s of the row before")
    unix = np.array(table.values("time_utc", parse_utc, "a moment like 2023-07-03T00:00:00Z"), dtype=np.int64)
    offsets = unix - start
    table.refuse(offsets != offsets[0], "time_utc and time_s are not on the clocks of the first row")
    cores = table.whole("cores_target")
    table.refuse(cores < 0, "cores_target is negative")
    reals = {name: table.reals(name, may_be_empty=name in _MAY_BE_EMPTY) for name in _PROFILE_REALS}
    for name in _NEVER_NEGATIVE:
        table.refuse(reals[name] < 0, f"{name} is negative")
    fields = {_PROFILE_REALS[name]: values for name, values in reals.items()}
    return ProfileTable(np.append(start, end[-1]), cores, **fields), int(offsets[0])


def onoff_of(table: Table, platform: Platform) -> OnOffTable:
    """The actions that `onoff_columns` described."""
    node = table.whole("node")
    table.refuse((node < 0) | (node >= platform.node_count), f"no node of the {platform.node_count} of {platform.name}")
    on = np.array(table.values("action", _ACTIONS.index, "off or on"), dtype=np.bool_)
    try:
        return OnOffTable(table.whole("time_s"), node, on)
    except ValueError as error:
        raise InputError(table.place, "actions that make no sense", str(error)) from None


def schedule_of(table: Table, platform: Platform) -> ScheduleTable:
    """The schedule that `schedule_columns` described."""
    whole = {field: table.whole(name) for name, field in _SCHEDULE_WHOLE.items()}
    table.refuse(whole["finish"] <= whole["start"], "finish_time is not after starting_time")
    table.refuse((whole["units"] < 1) | (whole["req_cores"] < 0), "units or req_cores out of range")
    named = table.values("units_by_node", parse_units_by_node, "node:units pairs like 0:1 7:2")
    counts = np.array([len(pairs) for pairs in named], dtype=np.int64)
    pairs = np.array([pair for job in named for pair in job], dtype=np.int64).reshape(-1, 2)
    placed = Placements(offsets_of(counts), *np.ascontiguousarray(pairs.T))
    alien = (placed.nodes < 0) | (placed.nodes >= platform.node_count) | (placed.units < 1)
    of_alien = np.bincount(placed.job_of[alien], minlength=len(counts)) > 0
    table.refuse(of_alien, f"units_by_node is not of {platform.name}")
    table.refuse(placed.units_of_jobs != whole["units"], "units_by_node does not add up to units")
    kinds = tuple(table.values("kind", JobKind, "one of " + ", ".join(JobKind)))
    return ScheduleTable(**whole, kind=kinds, placed=placed)


def _whole(text: str) -> int:
    return whole_number(text, -LATEST, LATEST)
