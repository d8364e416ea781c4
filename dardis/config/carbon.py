"""Decides which files of carbon intensity are read, and promises g CO2 per kWh at every moment they cover."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dardis.config.clocks import fixed_clock, unix_or
from dardis.config.series_file import Form, SeriesTable, read_lines, table_of
from dardis.model.files import Read

HIGHEST_G_PER_KWH = 2000.0
"""Lignite alone has about 1,100."""


def _grams(values: Sequence[float]) -> str:
    if min(values) < 0:
        return f"a carbon intensity of {min(values):g}, below 0"
    if max(values) > HIGHEST_G_PER_KWH:
        return f"a carbon intensity of {max(values):g} is more than any power plant's"
    return ""


FORMS = (
    Form("start_utc[,end_utc],gco2_per_kwh[,kind,source]", "start_utc", "gco2_per_kwh",
         lambda _: unix_or(fixed_clock(0)), end="end_utc", check=_grams, alike="kind"),
    Form("Datetime (UTC),…,Carbon intensity gCO₂eq/kWh (Life cycle) (Electricity Maps)", r"datetime \(utc\)",
         r"carbon intensity gco.2?eq/kwh \((life cycle|lca)\)", lambda _: fixed_clock(0), check=_grams,
         alike="zone id"),
    Form("Datetime (UTC),…,Carbon intensity gCO₂eq/kWh (direct) (Electricity Maps)", r"datetime \(utc\)",
         r"carbon intensity gco.2?eq/kwh \(direct\)", lambda _: fixed_clock(0), check=_grams, alike="zone id"),
    Form("datetime,…,carbon_intensity_avg (UTC)", "datetime", "carbon_intensity_avg", lambda _: fixed_clock(0),
         check=_grams, alike="zone_name"),
)  # fmt: skip
"""What is recognised, by its header; of the two intensities of Electricity Maps that of the life cycle is taken."""


def read_carbon(path: Path, read: Read = Path.read_bytes) -> SeriesTable:
    """Carbon intensity (g/kWh) over Unix time. Raises InputError."""
    return table_of(path, read_lines(path, read), FORMS)
