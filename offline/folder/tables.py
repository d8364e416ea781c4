"""Plan's tables: as arrays, and as columns of files."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

import numpy as np

from dardis.metrics.columns import parse_units_by_node
from dardis.model.arrays import Bools, Floats, Ints
from dardis.model.csv_table import REAL, TEXT, WHOLE, WORD, Column, CsvCells, CsvTable
from dardis.model.errors import InputError
from dardis.model.job import FOREVER
from dardis.model.moments import parse_utc
from dardis.model.placements import Placements, offsets_of
from dardis.model.platform import Platform
from dardis.model.resources import LATEST
from dardis.model.schedule import Downtime


@dataclass(frozen=True)
class ProfileTable:
    """Planned profile by segments `[edges[i], edges[i+1])`, s of the trace's clock.

    Arrays (segments,). Powers and `nodes_on` are means. `power_cap_w` caps IT power; NaN: no cap. `pue` is NaN without
    IT power.
    """

    edges: Ints
    cores_target: Ints
    power_cap_w: Floats
    it_w: Floats
    cooling_w: Floats
    pue: Floats
    price_per_kwh: Floats
    gco2_per_kwh: Floats
    temp_c: Floats
    nodes_on: Floats

    def __post_init__(self) -> None:
        values = [getattr(self, name) for name in self.__dataclass_fields__ if name != "edges"]
        if {len(column) for column in values} != {len(self.edges) - 1} or not (np.diff(self.edges) > 0).all():
            raise ValueError("a profile needs ascending edges, one more than values")

    @property
    def start(self) -> int:
        """Begin of the first segment."""
        return int(self.edges[0])

    @property
    def end(self) -> int:
        """End of the last segment."""
        return int(self.edges[-1])


@dataclass(frozen=True)
class OnOffTable:
    """Switching actions, arrays (actions,) ascending by (time, node).

    At `time` the node begins a boot if `on`, else a shutdown, alternately.
    """

    time: Ints
    node: Ints
    on: Bools

    def __post_init__(self) -> None:
        if (np.diff(self.time) < 0).any():
            raise ValueError("actions in order of time")
        order = np.lexsort((self.time, self.node))
        same = np.diff(self.node[order]) == 0
        if (same & (np.diff(self.time[order]) == 0)).any() or (
            same & (self.on[order][1:] == self.on[order][:-1])
        ).any():
            raise ValueError("alternating off and on actions of each node")

    @classmethod
    def of(cls, downtime: Downtime, boot_s: Ints) -> OnOffTable:
        """Actions for a downtime; `boot_s` (nodes,): boot time before `up`."""
        back = downtime.up < FOREVER
        time = np.concatenate([downtime.down, (downtime.up - boot_s[downtime.node])[back]])
        node = np.concatenate([downtime.node, downtime.node[back]])
        on = np.arange(len(time)) >= len(downtime.node)
        order = np.lexsort((node, time))
        return cls(time[order], node[order], on[order])


class JobKind(StrEnum):
    """Source of a job."""

    FORECAST = "forecast"
    RUNNING = "running"
    """Runs when the day begins."""
    QUEUED = "queued"


@dataclass(frozen=True)
class ScheduleTable:
    """Planned nodes and times of jobs; arrays (jobs,), times in s of the trace's clock.

    `req_cores`: cores of a unit. Starts after the day mean waiting.
    """

    number: Ints
    submit: Ints
    start: Ints
    finish: Ints
    units: Ints
    req_cores: Ints
    kind: tuple[JobKind, ...]
    placed: Placements


Columns = dict[str, list[Any]]
PROFILE: Final = CsvTable(
    "profile.csv",
    Column("time_s", WHOLE, "begin of the segment, on the trace's clock"),
    Column("time_utc", WORD, "begin of the segment"),
    Column("cores_target", WHOLE, "target of cores in use", "cores"),
    Column("power_cap_w", REAL, "cap on IT power for this target; empty without a cap"),
    Column("it_w", REAL, "expected IT power"),
    Column("cooling_w", REAL, "expected cooling power"),
    Column("pue", REAL, "total power over IT power; empty without IT power", "ratio"),
    Column("price_eur_per_kwh", REAL, "price of energy", "currency/kWh"),
    Column("gco2_per_kwh", REAL, "CO2 intensity", "g/kWh"),
    Column("temp_c", REAL, "outdoor temperature"),
    Column("nodes_on", REAL, "nodes that are on, mean over the segment", "nodes"),
    Column("end_s", WHOLE, "end of the segment"),
)
ONOFF: Final = CsvTable(
    "onoff.csv",
    Column("time_s", WHOLE, "begin of the action, on the trace's clock"),
    Column("time_utc", WORD, "begin of the action"),
    Column("node", WHOLE, "number of the node"),
    Column("name", TEXT, "name of the node"),
    Column("action", WORD, "`off`: its shut-down begins; `on`: its boot begins"),
)
SCHEDULE: Final = CsvTable(
    "schedule.csv",
    Column("job_id", WHOLE, "number of the job"),
    Column("submission_time", WHOLE, "submission", "s"),
    Column("starting_time", WHOLE, "start", "s"),
    Column("finish_time", WHOLE, "end", "s"),
    Column("units_by_node", WORD, "units on each node, `0:1 1:1 7:2`"),
    Column("req_cores", WHOLE, "cores of one unit"),
    Column("units", WHOLE, "job units"),
    Column("kind", WORD, "`forecast`, `running` (when the day begins) or `queued`"),
)

_PROFILE_REALS = {
    "power_cap_w": "power_cap_w", "it_w": "it_w", "cooling_w": "cooling_w", "pue": "pue",
    "price_eur_per_kwh": "price_per_kwh", "gco2_per_kwh": "gco2_per_kwh", "temp_c": "temp_c", "nodes_on": "nodes_on",
}  # fmt: skip
_MAY_BE_EMPTY = {"power_cap_w", "pue"}
_NEVER_NEGATIVE = ("power_cap_w", "it_w", "cooling_w", "gco2_per_kwh", "nodes_on")
_SCHEDULE_WHOLE = {
    "job_id": "number", "submission_time": "submit", "starting_time": "start", "finish_time": "finish",
    "req_cores": "req_cores", "units": "units",
}  # fmt: skip
_ACTIONS = ("off", "on")
_LONGEST_S = 366 * 86_400


def utc_texts(unix: Ints) -> list[str]:
    """Format Unix seconds as UTC text, `2023-07-03T00:00:00Z`."""
    texts: list[str] = np.datetime_as_string(unix.astype("datetime64[s]"), timezone="UTC").tolist()
    return texts


def profile_columns(profile: ProfileTable, offset: int) -> Columns:
    """Rows of segments; `offset`: Unix time minus trace time."""
    columns: Columns = {
        "time_s": profile.edges[:-1].tolist(),
        "time_utc": utc_texts(profile.edges[:-1] + offset),
        "cores_target": profile.cores_target.tolist(),
    }
    columns |= {name: reals_or_none(getattr(profile, field)) for name, field in _PROFILE_REALS.items()}
    return columns | {"end_s": profile.edges[1:].tolist()}


def onoff_columns(onoff: OnOffTable, platform: Platform, offset: int) -> Columns:
    """Rows of actions. Node names are not read back."""
    return {
        "time_s": onoff.time.tolist(),
        "time_utc": utc_texts(onoff.time + offset),
        "node": onoff.node.tolist(),
        "name": [platform.node_name(node) for node in onoff.node.tolist()],
        "action": [_ACTIONS[on] for on in onoff.on.tolist()],
    }


def schedule_columns(schedule: ScheduleTable) -> Columns:
    """Rows of jobs."""
    columns: Columns = {name: getattr(schedule, field).tolist() for name, field in _SCHEDULE_WHOLE.items()}
    columns["units_by_node"] = schedule.placed.texts(0, len(schedule.number))
    columns["kind"] = [str(kind) for kind in schedule.kind]
    return {name: columns[name] for name in SCHEDULE.names}


def reals_or_none(values: Floats) -> list[float | None]:
    """Real numbers, None for NaN."""
    return [None if math.isnan(value) else value for value in values.tolist()]


def profile_of(table: CsvCells) -> tuple[ProfileTable, int]:
    """Parse `profile_columns`: the profile, and Unix time minus trace time."""
    start, end = table.integers("time_s", -LATEST, LATEST), table.integers("end_s", -LATEST, LATEST)
    if not len(start):
        raise InputError(table.place, "no rows", "one row for each segment of the day")
    table.refuse(end <= start, "end_s is not after time_s")
    table.refuse(end - start[0] > _LONGEST_S, "end_s is more than a year after the first time_s")
    table.refuse(np.append(False, start[1:] != end[:-1]), "time_s is not the end_s of the row before")
    unix = np.array(table.values("time_utc", parse_utc, "a moment like 2023-07-03T00:00:00Z"), dtype=np.int64)
    offsets = unix - start
    table.refuse(offsets != offsets[0], "time_utc and time_s are not on the clocks of the first row")
    cores = table.integers("cores_target", -LATEST, LATEST)
    table.refuse(cores < 0, "cores_target is negative")
    reals = {name: table.reals(name, may_be_empty=name in _MAY_BE_EMPTY) for name in _PROFILE_REALS}
    for name in _NEVER_NEGATIVE:
        table.refuse(reals[name] < 0, f"{name} is negative")
    fields = {_PROFILE_REALS[name]: values for name, values in reals.items()}
    return ProfileTable(np.append(start, end[-1]), cores, **fields), int(offsets[0])


def onoff_of(table: CsvCells, platform: Platform) -> OnOffTable:
    """Parse `onoff_columns`."""
    node = table.integers("node", -LATEST, LATEST)
    table.refuse((node < 0) | (node >= platform.node_count), f"no node of the {platform.node_count} of {platform.name}")
    on = np.array(table.values("action", _ACTIONS.index, "off or on"), dtype=np.bool_)
    try:
        return OnOffTable(table.integers("time_s", -LATEST, LATEST), node, on)
    except ValueError as error:
        raise InputError(table.place, "actions that contradict each other", str(error)) from None


def schedule_of(table: CsvCells, platform: Platform) -> ScheduleTable:
    """Parse `schedule_columns`."""
    whole = {field: table.integers(name, -LATEST, LATEST) for name, field in _SCHEDULE_WHOLE.items()}
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
