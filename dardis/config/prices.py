"""Electricity prices (per kWh) and carbon intensity (g CO2 per kWh)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from dardis.config.clocks import european_clock, fixed_clock, interval_clock, unix_or
from dardis.config.series_file import SeriesFormat, SeriesTable, Within, read_lines, table_of
from dardis.model.errors import InputError
from dardis.model.files import Read
from dardis.model.platform import Money
from dardis.model.series import Series

HIGHEST_PER_KWH = 5.0
"""European day-ahead prices are capped at 4 to 5 EUR/kWh."""
_CET_S = 3600
DEFAULT_MONEY = Money()


def _per_kwh(values: Sequence[float]) -> str:
    worst = max(values, key=abs)
    if abs(worst) > HIGHEST_PER_KWH or fmean(map(abs, values)) > 1:
        return f"prices such as {worst:g} per kWh look like prices per MWh"
    return ""


def _per_mwh(values: Sequence[float]) -> str:
    if len(values) >= 24 and 0 < max(map(abs, values)) < 2:
        return f"prices of at most {max(map(abs, values)):g} per MWh look like prices per kWh"
    return ""


def _first_auction(row: dict[str, str]) -> bool:
    return row.get("sequence", "").lower().split()[-1:] in ([], ["1"], ["sequence"])


_ENTSOE = r"day-ahead price [\[(](?P<currency>[a-z]{3})/mwh[\])]"

FORMS = (
    SeriesFormat("start_utc[,end_utc],price_eur_per_kwh", "start_utc", "price_(?P<currency>[a-z]{3})_per_kwh",
         lambda _: unix_or(fixed_clock(0)), end="end_utc", check=_per_kwh),
    SeriesFormat("start_utc[,end_utc],price_eur_per_mwh", "start_utc", "price_(?P<currency>[a-z]{3})_per_mwh",
         lambda _: unix_or(fixed_clock(0)), factor=1e-3, end="end_utc", check=_per_mwh),
    SeriesFormat("MTU (CET/CEST),…,Day-ahead Price (EUR/MWh) (ENTSO-E)", r"(mtu|time) \(cet/cest\)", _ENTSOE,
         lambda _: interval_clock(european_clock()), 1e-3, check=_per_mwh, keep=_first_auction, alike="area"),
    SeriesFormat("MTU (UTC),…,Day-ahead Price (EUR/MWh) (ENTSO-E)", r"(mtu|time) \(utc\)", _ENTSOE,
         lambda _: interval_clock(fixed_clock(0)), 1e-3, check=_per_mwh, keep=_first_auction, alike="area"),
    SeriesFormat("Datetime,Price (EUR/MWh) (a clock of UTC+1 all year)", "datetime",
         r"price \((?P<currency>[a-z]{3})/mwh\)",
         lambda _: fixed_clock(_CET_S), 1e-3, check=_per_mwh),
    SeriesFormat("datetime_local_cet,price_eur_mwh (Central European Time)", "datetime_local_cet",
         "price_(?P<currency>[a-z]{3})_mwh", lambda _: european_clock(), 1e-3, check=_per_mwh),
)  # fmt: skip


@dataclass(frozen=True)
class PriceTable:
    """Prices as in the file."""

    table: SeriesTable
    currency: str

    def over(self, within: Within, money: Money = DEFAULT_MONEY) -> Series:
        """Prices per kWh in the currency of `money` over Unix s. Raises InputError.

        Gaps outside `within` (Unix s `[start, end)`) are ignored. Other currencies require an exchange rate.
        """
        series, found = self.table.over(within), self.currency
        if found == money.currency.upper():
            return series
        if found not in money.exchange:
            expected = f"{money.currency} as in the platform, or in its file exchange = {{ {found} = … }}"
            raise InputError(f"{self.table.path}:{self.table.line}", f"prices in {found}", expected)
        return Series(series.edges, money.exchange[found] * series.values)


def read_prices(path: Path, read: Read = Path.read_bytes) -> PriceTable:
    """Read a price file. Raises InputError."""
    table = table_of(path, read_lines(path, read), FORMS)
    name = re.fullmatch(table.form.value, table.value_name)
    assert name is not None
    return PriceTable(table, name["currency"].upper())


HIGHEST_G_PER_KWH = 2000.0
"""Lignite alone has about 1,100."""


def _grams(values: Sequence[float]) -> str:
    if min(values) < 0:
        return f"a carbon intensity of {min(values):g}, below 0"
    if max(values) > HIGHEST_G_PER_KWH:
        return f"a carbon intensity of {max(values):g} is more than any power plant's"
    return ""


CARBON_FORMS = (
    SeriesFormat("start_utc[,end_utc],gco2_per_kwh[,kind,source]", "start_utc", "gco2_per_kwh",
         lambda _: unix_or(fixed_clock(0)), end="end_utc", check=_grams, alike="kind"),
    SeriesFormat("Datetime (UTC),…,Carbon intensity gCO₂eq/kWh (Life cycle) (Electricity Maps)", r"datetime \(utc\)",
         r"carbon intensity gco.2?eq/kwh \((life cycle|lca)\)", lambda _: fixed_clock(0), check=_grams,
         alike="zone id"),
    SeriesFormat("Datetime (UTC),…,Carbon intensity gCO₂eq/kWh (direct) (Electricity Maps)", r"datetime \(utc\)",
         r"carbon intensity gco.2?eq/kwh \(direct\)", lambda _: fixed_clock(0), check=_grams, alike="zone id"),
    SeriesFormat("datetime,…,carbon_intensity_avg (UTC)", "datetime", "carbon_intensity_avg", lambda _: fixed_clock(0),
         check=_grams, alike="zone_name"),
)  # fmt: skip
"""For Electricity Maps, life-cycle intensity takes precedence."""


def read_carbon(path: Path, read: Read = Path.read_bytes) -> SeriesTable:
    """Read carbon intensity (g/kWh). Raises InputError."""
    return table_of(path, read_lines(path, read), CARBON_FORMS)
