"""A forecast on disk: its jobs as a job table that `dardis simulate` reads, its demand by hour as CSV."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from dardis.model.files import write_text
from dardis.model.platform import Platform
from dardis.workload.table import write_table
from dardis.workload.units import in_units
from offline.forecast.forecast import Forecast
from offline.site.calendar import Calendar

JOBS_FILE, DEMAND_FILE = "forecast.csv", "demand.csv"


def write_forecast(forecast: Forecast, platform: Platform, calendar: Calendar, jobs: Path, demand: Path) -> None:
    """Write both files, the jobs in units that fit the platform's nodes."""
    write_table(in_units(forecast.trace, platform), jobs)
    write_text(demand, demand_csv(forecast, calendar))


def demand_csv(forecast: Forecast, calendar: Calendar) -> str:
    """One line an hour: the bands of both demands, cores and core-hours."""
    columns: dict[str, list[object]] = {
        "start_s": forecast.edges[:-1].tolist(),
        "start_utc": [calendar.text(moment) if calendar.is_known else "" for moment in forecast.edges[:-1].tolist()],
    }
    for name, unit, band in (
        ("in_use", "cores", forecast.demand.in_use),
        ("submitted", "core_h", forecast.demand.submitted),
    ):
        for side in ("low", "mean", "high"):
            columns[f"{name}_{side}_{unit}"] = [f"{value:.3f}" for value in getattr(band, side).tolist()]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue()
