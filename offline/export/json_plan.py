"""A whole plan in one JSON file, and back: what is read equals the folder it was made of."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dardis.model.errors import InputError
from offline.export.base import Export
from offline.folder.columns import (
    Table,
    onoff_columns,
    onoff_of,
    profile_columns,
    profile_of,
    schedule_columns,
    schedule_of,
)
from offline.folder.plan import PlanFolder, checked_platform, figures, head, json_object

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
        "settings": plan.settings,
    }
    lines = (f"{json.dumps(key)}: {json.dumps(part, allow_nan=False)}" for key, part in value.items())
    return Export("{\n" + ",\n".join(lines) + "\n}\n")


def read_json_plan(path: Path) -> PlanFolder:
    """The plan that `export_json` wrote. Raises InputError that names what is wrong."""
    value = json_object(path)
    platform = checked_platform(value, path)
    profile, offset = profile_of(_table(path, value, "profile"))
    onoff = onoff_of(_table(path, value, "onoff"), platform)
    schedule = schedule_of(_table(path, value, "schedule"), platform)
    summary = figures(value.get("summary"), path)
    return PlanFolder(platform, offset, profile, onoff, schedule, summary, value.get("settings", {}))


def _table(path: Path, value: dict[str, Any], name: str) -> Table:
    """Rows as text, as a CSV file would hold them."""
    columns = value.get(name)
    if not isinstance(columns, dict) or not all(isinstance(column, list) for column in columns.values()):
        raise InputError(path, f"no columns {name!r}", "a file as dardis export --format json writes it")
    if len({len(column) for column in columns.values()}) > 1:
        raise InputError(path, f"columns of {name!r} that differ in length", "columns of one length")
    rows = zip(*columns.values(), strict=True)
    texts = [["" if cell is None else str(cell) for cell in row] for row in rows]
    return Table(f"{path}:{name}", list(columns), enumerate(texts))
