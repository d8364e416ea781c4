"""Plans as JSON (also read), CSV or OpenMetrics gauges."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from pydantic import StrictFloat, StrictInt, StrictStr

from dardis.config.json_records import Figures, PlanHead
from dardis.config.target_file import SwitchingTable, switching_of, switching_table
from dardis.config.toml_file import read_json
from dardis.model.arrays import Floats, Ints
from dardis.model.csv_table import TEXT, WHOLE, WORD, Column, CsvCells, CsvTable
from dardis.model.errors import InputError
from dardis.model.hostlist import hostlist
from dardis.model.platform import Platform
from dardis.model.target import Switching
from offline.export.exporter import Export, initially_on, steps
from offline.folder.plan_folder import PlanFolder, head
from offline.folder.tables import (
    PROFILE,
    onoff_columns,
    onoff_of,
    profile_columns,
    profile_of,
    reals_or_none,
    schedule_columns,
    schedule_of,
    utc_texts,
)

UNITS = {
    "time_s, end_s, submission_time, starting_time, finish_time": "s of the trace's clock",
    "cores_target": "cores",
    "pue": "ratio of all power to IT power",
    "nodes_on": "nodes, mean over the segment",
    "req_cores": "cores a job unit",
    "units": "job units",
}
"""Without units in their names."""


def export_json(plan: PlanFolder, names: list[str]) -> Export:
    """Export the tables by column."""
    onoff = onoff_columns(plan.onoff, plan.platform, plan.offset)
    onoff["name"] = [names[node] for node in onoff["node"]]
    value = head(plan) | {
        "units": UNITS,
        "summary": plan.summary,
        "profile": profile_columns(plan.profile, plan.offset),
        "onoff": onoff,
        "schedule": schedule_columns(plan.schedule),
        "switching": None if plan.switching is None else _switching(plan.switching, plan.platform),
        "settings": plan.settings,
    }
    lines = (f"{json.dumps(key)}: {json.dumps(part, allow_nan=False)}" for key, part in value.items())
    return Export("{\n" + ",\n".join(lines) + "\n}\n")


def _switching(rule: Switching, platform: Platform) -> dict[str, Any]:
    table = switching_table(rule, platform)
    groups = {name: {"spares": [], "floors": []} | group for name, group in table["groups"].items()}
    return table | {"groups": groups}


_Columns = dict[str, list[StrictStr | StrictInt | StrictFloat | None]]


class _JsonPlan(PlanHead):
    summary: Figures
    profile: _Columns
    onoff: _Columns
    schedule: _Columns
    switching: SwitchingTable | None = None


def read_json_plan(path: Path) -> PlanFolder:
    """Read a plan written by `export_json`. Raises InputError."""
    value = read_json(path, _JsonPlan)
    platform = value.machine(path)
    profile, offset = profile_of(_table(f"{path}:profile", value.profile))
    onoff = onoff_of(_table(f"{path}:onoff", value.onoff), platform)
    schedule = schedule_of(_table(f"{path}:schedule", value.schedule), platform)
    rule = None if value.switching is None else switching_of(path, value.switching, platform)
    return PlanFolder(platform, offset, profile, onoff, schedule, value.summary.model_dump(), value.settings, rule)


def _table(place: str, columns: _Columns) -> CsvCells:
    if len({len(column) for column in columns.values()}) > 1:
        raise InputError(place, "columns that differ in length", "columns of one length")
    rows = zip(*columns.values(), strict=True)
    return CsvCells(place, list(columns), enumerate(["" if x is None else str(x) for x in row] for row in rows))


_OF_PROFILE: Final = {
    "target_cores": "cores_target", "power_cap_w": "power_cap_w", "it_power_w": "it_w", "cooling_power_w": "cooling_w",
    "pue_ratio": "pue", "price_eur_per_kwh": "price_eur_per_kwh", "co2_g_per_kwh": "gco2_per_kwh",
    "outdoor_temperature_c": "temp_c", "mean_nodes_on_count": "nodes_on",
}  # fmt: skip
TABLE: Final = CsvTable(
    "plan.csv",
    Column("start_utc", WORD, "begin of the row"),
    Column("end_utc", WORD, "end of the row"),
    Column("start_unix_s", WHOLE, "begin of the row"),
    Column("end_unix_s", WHOLE, "end of the row"),
    *(PROFILE.column(name).renamed(here) for here, name in _OF_PROFILE.items()),
    Column("nodes_off_count", WHOLE, "nodes that are off", "nodes"),
    Column("shut_down_nodes", TEXT, "nodes whose shut-down begins with the row"),
    Column("booted_nodes", TEXT, "nodes whose boot begins with the row"),
    Column("off_nodes", TEXT, "names of all off nodes"),
)


def export_csv(plan: PlanFolder, names: list[str]) -> Export:
    """Export profile values, the nodes switched, and all nodes off, by row.

    Actions before the profile's start have separate rows.
    """
    profile = plan.profile
    actions = {step.time: step for step in steps(plan.onoff) if step.time < profile.end}
    times = np.union1d(profile.edges, np.array(list(actions), dtype=np.int64))
    segment = np.searchsorted(profile.edges, times[:-1], side="right") - 1
    reals = (
        profile.power_cap_w, profile.it_w, profile.cooling_w, profile.pue, profile.price_per_kwh, profile.gco2_per_kwh,
        profile.temp_c, profile.nodes_on,
    )  # fmt: skip
    values = [profile.cores_target.tolist(), *map(reals_or_none, reals)]
    on = initially_on(plan.onoff, plan.platform.node_count)
    rows = []
    utc, unix = utc_texts(times + plan.offset), (times + plan.offset).tolist()
    for row, (time, place) in enumerate(zip(times[:-1].tolist(), segment.tolist(), strict=True)):
        step = actions.get(time)
        off, up = (step.off, step.on) if step else ([], [])
        on[off], on[up] = False, True
        lists = [hostlist(names[node] for node in nodes) for nodes in (off, up, np.flatnonzero(~on).tolist())]
        known = [column[place] if place >= 0 else None for column in values]
        rows.append([utc[row], utc[row + 1], unix[row], unix[row + 1], *known, int((~on).sum()), *lists])
    return Export(TABLE.text(rows))


SAMPLE_S = 60
"""Prometheus drops values after five minutes without samples."""


class _Gauge(NamedTuple):
    field: str
    name: str
    unit: str
    help: str


_GAUGES = (
    _Gauge("cores_target", "dardis_plan_target_cores", "cores", "Busy cores aimed at."),
    _Gauge("power_cap_w", "dardis_plan_power_cap_watts", "watts", "Cap on the IT power."),
    _Gauge("it_w", "dardis_plan_it_power_watts", "watts", "Expected mean IT power."),
    _Gauge("cooling_w", "dardis_plan_cooling_power_watts", "watts", "Expected cooling power."),
    _Gauge("pue", "dardis_plan_pue_ratio", "ratio", "Expected IT and cooling power over IT power."),
    _Gauge("price_per_kwh", "dardis_plan_price_eur_per_kwh", "eur_per_kwh", "Price of electricity."),
    _Gauge("gco2_per_kwh", "dardis_plan_co2_grams_per_kwh", "grams_per_kwh", "CO2 of electricity."),
    _Gauge("temp_c", "dardis_plan_outdoor_temperature_celsius", "celsius", "Forecast outdoor temperature."),
    _Gauge("nodes_on", "dardis_plan_on_nodes", "nodes", "Nodes that are on, mean over the segment."),
)


def export_openmetrics(plan: PlanFolder, names: list[str]) -> Export:  # noqa: ARG001 (gauges of the machine)
    """Export samples of every known value."""
    label = plan.platform.name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    lines = []
    for gauge in _GAUGES:
        if gauge.field == "gco2_per_kwh" and plan.summary.get("co2_kg") is None:
            continue
        lines += [
            f"# TYPE {gauge.name} gauge",
            f"# UNIT {gauge.name} {gauge.unit}",
            f"# HELP {gauge.name} {gauge.help}",
        ]
        values: Ints | Floats = getattr(plan.profile, gauge.field)
        edges = (plan.profile.edges + plan.offset).tolist()
        for start, end, value in zip(edges[:-1], edges[1:], values.tolist(), strict=True):
            if not math.isnan(value):
                line = f'{gauge.name}{{platform="{label}"}} {value!r} '
                lines += [line + str(moment) for moment in range(start, end, SAMPLE_S)]
    return Export("\n".join([*lines, "# EOF"]) + "\n")
