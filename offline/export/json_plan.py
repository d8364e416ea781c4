"""A whole plan in one JSON file, and back: what is read equals the folder it was made of."""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import StrictFloat, StrictInt, StrictStr

from dardis.config.records import Figures, PlanHead
from dardis.config.target import SwitchingTable, switching_of, switching_table
from dardis.config.toml_file import read_json
from dardis.model.csv_table import CsvCells
from dardis.model.errors import InputError
from offline.export.exporter import Export
from offline.folder.columns import (
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


_Columns = dict[str, list[StrictStr | StrictInt | StrictFloat | None]]
"""A table by column."""


class _JsonPlan(PlanHead):
    """The whole file."""

    summary: Figures
    profile: _Columns
    onoff: _Columns
    schedule: _Columns
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


def _table(place: str, columns: _Columns) -> CsvCells:
    """Rows as text, as a CSV file would hold them."""
    if len({len(column) for column in columns.values()}) > 1:
        raise InputError(place, "columns that differ in length", "columns of one length")
    rows = zip(*columns.values(), strict=True)
    return CsvCells(place, list(columns), enumerate(["" if x is None else str(x) for x in row] for row in rows))
