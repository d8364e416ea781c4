"""A whole plan in one JSON file, and back: what is read equals the folder it was made of."""

from __future__ import annotations

import json
from pathlib import Path

from dardis.config.platform_record import Record
from dardis.config.records import Figures, PlanHead
from dardis.config.target import SwitchingTable, switching_of, switching_table
from dardis.config.toml_file import read_json
from dardis.model.errors import InputError
from dardis.model.limits import Count, Time
from offline.export.exporter import Export
from offline.folder.columns import (
    Table,
    onoff_columns,
    onoff_of,
    profile_columns,
    profile_of,
    schedule_columns,
    schedule_of,
)
from offline.folder.plan import PlanFolder, head

UNITS = {
    "time_s, end_s, submission_time, starting_time, finish_time": "s of the trace's clock",
    "cores_target": "cores",
    "pue": "ratio of all power to IT power",
    "nodes_on": "nodes, mean over the segment",
    "req_cores": "cores a job unit",
    "units": "job units",
}
"""Of the columns whose names don't say it; the others' names end in it."""


def export_json(plan: PlanFolder, names: list[str]) -> Export:
    """The tables by column, under the names that these have in the folder's files."""
    onoff = onoff_columns(plan.onoff, plan.platform, plan.offset)
    onoff["name"] = [names[node] for node in onoff["node"]]
    value = head(plan) | {
        "units": UNITS,
        "summary": plan.summary,
        "profile": profile_columns(plan.profile, plan.offset),
        "onoff": onoff,
        "schedule": schedule_columns(plan.schedule),
        "switching": None if plan.switching is None else switching_table(plan.switching, plan.platform),
        "settings": plan.settings,
    }
    lines = (f"{json.dumps(key)}: {json.dumps(part, allow_nan=False)}" for key, part in value.items())
    return Export("{\n" + ",\n".join(lines) + "\n}\n")


class _ProfileColumns(Record):
    """The profile by column."""

    time_s: list[Time]
    time_utc: list[str]
    cores_target: list[Count]
    power_cap_w: list[float | None]
    it_w: list[float]
    cooling_w: list[float]
    pue: list[float | None]
    price_eur_per_kwh: list[float]
    gco2_per_kwh: list[float]
    temp_c: list[float]
    nodes_on: list[float]
    end_s: list[Time]


class _OnOffColumns(Record):
    """The switching by column."""

    time_s: list[Time]
    node: list[Count]
    action: list[str]


class _ScheduleColumns(Record):
    """The schedule by column."""

    job_id: list[Time]
    submission_time: list[Time]
    starting_time: list[Time]
    finish_time: list[Time]
    units_by_node: list[str]
    req_cores: list[Count]
    units: list[Count]
    kind: list[str]


class _JsonPlan(PlanHead):
    """The whole file."""

    summary: Figures
    profile: _ProfileColumns
    onoff: _OnOffColumns
    schedule: _ScheduleColumns
    switching: SwitchingTable | None = None


def read_json_plan(path: Path) -> PlanFolder:
    """The plan that `export_json` wrote. Raises InputError that names what is wrong."""
    value = read_json(path, _JsonPlan)
    platform = value.machine(path)
    profile, offset = profile_of(_table(f"{path}:profile", value.profile))
    onoff = onoff_of(_table(f"{path}:onoff", value.onoff), platform)
    schedule = schedule_of(_table(f"{path}:schedule", value.schedule), platform)
    rule = None if value.switching is None else switching_of(path, value.switching, platform)
    return PlanFolder(platform, offset, profile, onoff, schedule, value.summary.model_dump(), value.settings, rule)


def _table(place: str, record: Record) -> Table:
    """Rows as text, as a CSV file would hold them."""
    columns = record.model_dump()
    if len({len(column) for column in columns.values()}) > 1:
        raise InputError(place, "columns that differ in length", "columns of one length")
    rows = zip(*columns.values(), strict=True)
    return Table(place, list(columns), enumerate(["" if x is None else str(x) for x in row] for row in rows))
