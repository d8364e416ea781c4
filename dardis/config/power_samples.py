"""Measured power: CSV of node watts over time, or of watts per job and node.

Zero or missing values are unmeasured. Raises InputError.
"""

from __future__ import annotations

import csv
import re
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import numpy as np

from dardis.config.clocks import fixed_clock
from dardis.config.series_file import NOTHING
from dardis.model.arrays import Floats, Ints
from dardis.model.errors import InputError
from dardis.model.files import read_text
from dardis.model.moments import states_offset, utc_text
from dardis.model.numbers import decimal_number, whole_number

TIME = (
    "time", "timestamp", "ts", "time_s", "time_utc", "start_utc", "date", "datetime", "unix", "unix_s", "unix_time",
)  # fmt: skip
NODE = ("node", "instance", "host", "hostname", "nodename", "node_name", "series", "metric")
WATTS = ("watts", "power_w", "power_watts", "power", "node_w", "value", "mean_w", "avg_w", "powerconsumedwatts")
JOB = ("job", "job_id", "jobid", "jobidraw")
JOB_WATTS = ("avg_power_per_node_w", "mean_power_per_node_w", "power_per_node_w", "watts_per_node", "node_w")
MOST_W = 1e9
_FORMS = "time,node,watts | time and a column for each node | job,watts_per_node"
_LABELLED = re.compile(r'(?:instance|node|nodename|host|hostname)="([^"]*)"')
_PORT = re.compile(r":\d+$")
_WATTS = re.compile(r"(.*?)\s*(k?W)")
_MILLISECONDS_FROM, _LAST_S = 1e11, 253_370_764_799.0


@dataclass(frozen=True)
class NodeWatts:
    """Node power (W) by node and Unix s."""

    node: Ints
    time: Ints
    watts: Floats
    notes: tuple[str, ...]


@dataclass(frozen=True)
class JobWatts:
    """Mean power per node (W) by job."""

    number: Ints
    watts: Floats
    notes: tuple[str, ...]


def read_power_samples(path: Path, names: Sequence[str]) -> NodeWatts | JobWatts:
    """Read a file; `names`: node names by number. Raises InputError."""
    rows = _rows(path)
    line, header = next(rows, (1, []))
    columns = [re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_") for name in header]
    time, node, watts, job, job_watts = (_first(columns, known) for known in (TIME, NODE, WATTS, JOB, JOB_WATTS))
    into = _Values(path, names)
    if time is not None and node is not None:
        if watts is None:
            raise InputError(f"{path}:{line}", f"no column of watts in {','.join(header)!r}", ", ".join(WATTS))
        into.read_long(rows, len(header), time, node, watts)
    elif time == 0 and len(header) > 1:
        into.read_wide(rows, line, header)
    elif job is not None and job_watts is not None:
        return into.read_jobs(rows, len(header), job, job_watts)
    else:
        raise InputError(f"{path}:{line}", f"columns {','.join(header)[:120]!r} have an unknown format", _FORMS)
    return into.node_watts()


def _rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    lines = read_text(path).splitlines()
    # Grafana writes a first line `sep=;`.
    skipped = 1 if lines and lines[0].lower().startswith("sep=") else 0
    head = lines[skipped] if len(lines) > skipped else ""
    reader = csv.reader(lines[skipped:], delimiter=max(",;\t", key=head.count))
    try:
        for fields in reader:
            if any(fields):
                yield reader.line_num + skipped, [field.strip() for field in fields]
    except csv.Error as error:
        raise InputError(f"{path}:{reader.line_num + skipped}", f"no CSV ({error})") from None


def _first(columns: Sequence[str], known: Sequence[str]) -> int | None:
    return next((columns.index(name) for name in known if name in columns), None)


class _Values:
    def __init__(self, path: Path, names: Sequence[str]) -> None:
        self._path = path
        self._number = {name: number for number, name in enumerate(names)}
        self._example = names[0]
        self._moments: dict[str, int] = {}
        self._clock = fixed_clock(0)
        self._lacks_offset = False
        self._missing = 0
        self._keys, self._times, self._lines, self._watts = array("q"), array("q"), array("q"), array("d")

    def read_long(self, rows: Iterator[tuple[int, list[str]]], width: int, time: int, node: int, watts: int) -> None:
        for line, fields in rows:
            self._check_width(line, fields, width)
            moment = self._moment(line, fields[time])
            self._add(line, self._node(line, fields[node]), moment, fields[watts])

    def read_wide(self, rows: Iterator[tuple[int, list[str]]], line: int, header: Sequence[str]) -> None:
        nodes = [self._node(line, name) for name in header[1:]]
        for place, node in enumerate(nodes):
            if node in nodes[:place]:
                raise InputError(f"{self._path}:{line}", f"node {header[1 + place]!r} occurs twice", "each node once")
        for number, fields in rows:
            self._check_width(number, fields, len(header))
            moment = self._moment(number, fields[0])
            for node, text in zip(nodes, fields[1:], strict=True):
                self._add(number, node, moment, text)

    def read_jobs(self, rows: Iterator[tuple[int, list[str]]], width: int, job: int, watts: int) -> JobWatts:
        for line, fields in rows:
            self._check_width(line, fields, width)
            try:
                number = whole_number(fields[job], 0)
            except ValueError:
                self._refuse(line, f"job {fields[job]!r}", "a job number")
            self._add(line, number, 0, fields[watts])
        self._check_unique("job {key} again", "each job once")
        return JobWatts(np.array(self._keys, np.int64), np.array(self._watts, np.float64), self._notes("jobs"))

    def node_watts(self) -> NodeWatts:
        self._check_unique("a second value of the node at {time}", "one value per node and time")
        columns = np.array(self._keys, np.int64), np.array(self._times, np.int64), np.array(self._watts, np.float64)
        return NodeWatts(*columns, self._notes("values"))

    def _check_width(self, line: int, fields: Sequence[str], width: int) -> None:
        if len(fields) != width:
            self._refuse(line, f"{len(fields)} fields", f"{width}, as in the header")

    def _add(self, line: int, key: int, time: int, text: str) -> None:
        if text.lower() in NOTHING:
            return
        value = self._value(line, text)
        if value == 0:
            self._missing += 1
            return
        self._keys.append(key)
        self._times.append(time)
        self._lines.append(line)
        self._watts.append(value)

    def _value(self, line: int, text: str) -> float:
        unit = _WATTS.fullmatch(text)
        try:
            value = decimal_number(unit[1] if unit else text) * (1000 if unit and unit[2] == "kW" else 1)
        except ValueError:
            self._refuse(line, f"watts {text!r}", "a number")
        if not 0 <= value <= MOST_W:
            self._refuse(line, f"watts {text!r}", f"0 to {MOST_W:g}")
        return value

    def _moment(self, line: int, text: str) -> int:
        found = self._moments.get(text)
        if found is None:
            try:
                found = self._moments[text] = self._read_moment(text)
            except (ValueError, OverflowError):
                self._refuse(line, f"time {text!r}", "Unix seconds, or a time such as 2023-07-03T00:00Z")
        return found

    def _read_moment(self, text: str) -> int:
        try:
            number = decimal_number(text)
        except ValueError:
            found = self._clock(text)
            self._lacks_offset |= not states_offset(text)
            return found
        seconds = number / 1000 if number >= _MILLISECONDS_FROM else number
        if not 0 <= seconds <= _LAST_S:
            raise ValueError("not a time from 1970 to 9998")
        return int(seconds)

    def _node(self, line: int, text: str) -> int:
        labelled = _LABELLED.search(text)
        name = _PORT.sub("", labelled[1] if labelled else text)
        known = next((one for one in (text, name, name.partition(".")[0]) if one in self._number), None)
        if known is None:
            self._refuse(line, f"unknown node {name!r}", f"a platform node such as {self._example}, or --names FILE")
        return self._number[known]

    def _check_unique(self, found: str, expected: str) -> None:
        if not self._keys:
            raise InputError(self._path, "no measured values", _FORMS)
        keys, times, lines = (np.array(one, np.int64) for one in (self._keys, self._times, self._lines))
        order = np.lexsort((lines, times, keys))
        again = order[1:][(np.diff(keys[order]) == 0) & (np.diff(times[order]) == 0)]
        if again.size:
            row = again[np.argmin(lines[again])]
            self._refuse(int(lines[row]), found.format(key=keys[row], time=utc_text(int(times[row]))), expected)

    def _notes(self, what: str) -> tuple[str, ...]:
        notes = []
        if self._lacks_offset:
            notes.append("times of the power file have no offset and count as UTC")
        if self._missing:
            notes.append(f"{self._missing:,} {what} of 0 W count as not measured")
        return tuple(notes)

    def _refuse(self, line: int, found: str, expected: str) -> NoReturn:
        raise InputError(f"{self._path}:{line}", found, expected)
