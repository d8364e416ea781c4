"""A plan's profile as OpenMetrics gauges with timestamps, one sample a minute, for Prometheus to take in as a block."""

from __future__ import annotations

import math
from typing import NamedTuple

from dardis.model.arrays import Floats, Ints
from offline.export.exporter import Export
from offline.folder.plan import PlanFolder

SAMPLE_S = 60
"""Prometheus forgets a value after five minutes without a sample."""


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
    """Every value from its segment's start until its end; none where there is no value, or where nobody states CO2."""
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
