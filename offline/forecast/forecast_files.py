"""Forecast files: jobs for `dardis simulate`, demand by hour as CSV."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from dardis.model.csv_table import REAL, WHOLE, WORD, Column, CsvTable
from dardis.model.files import write_text
from dardis.model.platform import Platform
from dardis.workload.csv_trace import write_table
from dardis.workload.trace_jobs import in_units
from offline.forecast.forecast import Forecast
from offline.site.calendar import Calendar

JOBS_FILE, DEMAND_FILE = "forecast.csv", "demand.csv"
SIDES: Final = {"low": "10 % quantile", "mean": "expectation", "high": "90 % quantile"}
DEMAND: Final = CsvTable(
    DEMAND_FILE,
    Column("start_s", WHOLE, "begin of the hour, on the trace's clock"),
    Column("start_utc", WORD, "begin of the hour; empty without a start date of the trace"),
    *(
        Column(f"{name}_{side}_{ending}", REAL, f"{what}: {quantile}", unit, ".3f")
        for name, ending, unit, what in (
            ("in_use", "cores", "cores", "mean cores in use in the hour if every job started immediately"),
            ("submitted", "core_h", "core-hours", "core-hours of the jobs submitted in the hour"),
        )
        for side, quantile in SIDES.items()
    ),
)


def write_forecast(forecast: Forecast, platform: Platform, calendar: Calendar, jobs: Path, demand: Path) -> None:
    """Write both files, with jobs in the platform's units."""
    write_table(in_units(forecast.trace, platform), jobs)
    write_text(demand, _demand_csv(forecast, calendar))


def _demand_csv(forecast: Forecast, calendar: Calendar) -> str:
    starts = forecast.edges[:-1].tolist()
    utc = [calendar.text(moment) if calendar.is_known else "" for moment in starts]
    bands = [
        getattr(band, side).tolist() for band in (forecast.demand.in_use, forecast.demand.submitted) for side in SIDES
    ]
    return DEMAND.text(zip(starts, utc, *bands, strict=True))
