"""A run as its documents say it, in plain integers: its jobs, times down and digest, and what was found wrong."""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from dardis.model.schedule import Downtime, Schedule
from dardis.model.step_function import StepFunction

STATUS = ("completed", "killed", "rejected")


class Finding(NamedTuple):
    """The rule that is broken, and how."""

    rule: str
    text: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.text}"


@dataclass
class Row:
    """What a `jobs.csv` says of a job. Times in s, None where there is none; `where` is (node, units there)."""

    number: int
    submit: int
    earliest: int
    latest: int | None
    walltime: int
    units: int
    request: dict[str, int]
    status: str
    start: int | None
    finish: int | None
    where: list[tuple[int, int]]
    attempts: int

    @property
    def ran(self) -> bool:
        """Whether it has all that a job that ran has."""
        return self.status in STATUS[:2] and self.start is not None and self.finish is not None


class Down(NamedTuple):
    """A node is down in `[since, up)`; `up` None: for ever."""

    node: int
    since: int
    up: int | None


def rows_of(schedule: Schedule) -> list[Row]:
    """The jobs of a schedule."""

    rows = []
    for place, number in enumerate(schedule.number.tolist()):
        where = schedule.placed.pairs(place)
        request = dict(zip(schedule.kinds, schedule.request[place].tolist(), strict=True))
        times = [int(column[place]) for column in (schedule.submit, schedule.earliest)]
        rows.append(
            Row(
                number, *times, _time(int(schedule.latest[place])), int(schedule.walltime[place]),
                int(schedule.units[place]), request, STATUS[int(schedule.status[place])],
                _time(int(schedule.start[place])), _time(int(schedule.finish[place])), where,
                int(schedule.attempts[place]),
            )
        )  # fmt: skip
    return rows


def rows_of_file(path: Path) -> list[Row]:
    """The jobs of a `jobs.csv`."""

    rows = []
    with path.open(newline="") as file:
        for cells in csv.DictReader(file):
            where = [tuple(map(int, part.split(":"))) for part in cells["units_by_node"].split()]
            request = {name[4:]: int(cell) for name, cell in cells.items() if name.startswith("req_")}
            rows.append(
                Row(
                    int(cells["job_id"]), int(cells["submission_time"]), int(cells["earliest_start"]),
                    _read(cells["latest_start"]), int(cells["requested_time"]), int(cells["units"]), request,
                    cells["status"], _read(cells["starting_time"]), _read(cells["finish_time"]), where,
                    int(cells["attempts"]),
                )
            )  # fmt: skip
    return rows


def downs_of(downtime: Downtime) -> list[Down]:
    """Times down."""
    columns = (downtime.node.tolist(), downtime.down.tolist(), downtime.up.tolist())
    return [Down(node, since, _time(up)) for node, since, up in zip(*columns, strict=True)]


def downs_of_file(path: Path) -> list[Down]:
    """The times down of a `switching.csv`."""
    with path.open(newline="") as file:
        rows = list(csv.reader(file))[1:]
    return [Down(int(node), int(since), _read(up)) for node, since, up in rows]


def digest_of(rows: Sequence[Row], later: int = 0) -> str:
    """The digest of a schedule as DESIGN has it, with all its times `later`."""
    lines = []
    for row in rows:
        times = ["" if time is None else str(time + later) for time in (row.start, row.finish)]
        lines.append(f"{row.number},{','.join(times)},{' '.join(f'{node}:{units}' for node, units in row.where)}\n")
    return hashlib.sha256("".join(sorted(lines)).encode()).hexdigest()


def steps_of(function: StepFunction) -> list[tuple[int, int]]:
    """From when on, and how much; the first from ever."""
    return list(zip(function.times.tolist(), function.values.tolist(), strict=True))


def value_at(steps: Sequence[tuple[int, int]], now: int) -> int:
    """What holds then."""
    return [value for time, value in steps if time <= now][-1]


def _time(value: int) -> int | None:
    """A time of a schedule, which has numbers beyond all times for none."""
    return None if abs(value) >= 1 << 62 else value


def _read(cell: str) -> int | None:
    return int(cell) if cell else None
