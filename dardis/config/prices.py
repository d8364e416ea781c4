"""Electricity prices and carbon intensity (g CO2), per kWh."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from dardis.config.clocks import european_clock, fixed_clock, interval_clock, millisecond_clock, unix_or
from dardis.config.entsoe import POINTS, entsoe_lines, is_xml
from dardis.config.series_file import SeriesFormat, SeriesTable, Within, lines_of, table_of
from dardis.config.series_json import JsonFormat, json_table
from dardis.model.errors import InputError
from dardis.model.files import Read, is_json, read_text
from dardis.model.numbers import decimal_number
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


def _euros_per_mwh(values: Sequence[float]) -> str:
    if max(map(abs, values)) > 1000 * HIGHEST_PER_KWH:
        return f"values such as {max(values, key=abs):g} are no prices per MWh"
    return _per_mwh(values)


def _pence(values: Sequence[float]) -> str:
    return _per_kwh([value / 100 for value in values])


def _number_with(thousands: str, point: str) -> Callable[[str], float]:
    group, decimals = re.escape(thousands), rf"({re.escape(point)}[0-9]+)?"
    form = re.compile(rf"-?([0-9]+|[0-9]{{1,3}}({group}[0-9]{{3}})+){decimals}")

    def number(text: str) -> float:
        if form.fullmatch(text) is None:
            raise ValueError(f"{text!r} is not a number")
        return decimal_number(text.replace(thousands, "").replace(point, "."))

    return number


def _first_auction(row: dict[str, str]) -> bool:
    return row.get("sequence", "").lower().split()[-1:] in ([], ["1"], ["sequence"])


_ENTSOE = r"day-ahead price [\[(](?P<currency>[a-z]{3})/mwh[\])]"

FORMS = (
    SeriesFormat("start_utc[,end_utc],price_eur_per_kwh", "start_utc", "price_(?P<currency>[a-z]{3})_per_kwh",
         lambda _: unix_or(fixed_clock(0)), end="end_utc", check=_per_kwh),
    SeriesFormat("start_utc[,end_utc],price_eur_per_mwh", "start_utc", "price_(?P<currency>[a-z]{3})_per_mwh",
         lambda _: unix_or(fixed_clock(0)), factor=1e-3, end="end_utc", check=_per_mwh),
    SeriesFormat("MTU (CET/CEST),…,Day-ahead Price (EUR/MWh) (ENTSO-E)", r"(mtu|time) \(cet/cest\)", _ENTSOE,
         lambda _: interval_clock(european_clock()), 1e-3, check=_per_mwh, keep=_first_auction, alike=("area",)),
    SeriesFormat("MTU (UTC),…,Day-ahead Price (EUR/MWh) (ENTSO-E)", r"(mtu|time) \(utc\)", _ENTSOE,
         lambda _: interval_clock(fixed_clock(0)), 1e-3, check=_per_mwh, keep=_first_auction, alike=("area",)),
    SeriesFormat("Datetime,Price (EUR/MWh) (a clock of UTC+1 all year)", "datetime",
         r"price \((?P<currency>[a-z]{3})/mwh\)",
         lambda _: fixed_clock(_CET_S), 1e-3, check=_per_mwh),
    SeriesFormat("datetime_local_cet,price_eur_mwh (Central European Time)", "datetime_local_cet",
         "price_(?P<currency>[a-z]{3})_mwh", lambda _: european_clock(), 1e-3, check=_per_mwh),
    *(SeriesFormat("Datum von;…;Deutschland/Luxemburg [€/MWh] …, or in English (SMARD)", time, rf"{zone} \[€/mwh\].*",
         lambda _: european_clock(), 1e-3, check=_euros_per_mwh, currency="EUR", number=number)
      for zone in ("(deutschland/luxemburg|germany/luxembourg)", "[^∅].*")
      for time, number in (("datum von", _number_with(".", ",")), ("start date", _number_with(",", ".")))),
)  # fmt: skip
"""For SMARD, prices of Germany take precedence over another zone."""

XML_FORM = SeriesFormat("Publication_MarketDocument (ENTSO-E)", "time", r"price \((?P<currency>[a-z]{3})/mwh\)",
     lambda _: unix_or(fixed_clock(0)), 1e-3, end="end", check=_per_mwh, alike=("currency", "area"),
     ordered=False)  # fmt: skip
JSON_FORMS = (
    JsonFormat(SeriesFormat("aWATTar (JSON)", "start_timestamp", "marketprice", lambda _: millisecond_clock(), 1e-3,
         end="end_timestamp", check=_per_mwh, alike=("unit",), currency="EUR"), ("data",), ("data.0.unit", "EUR/MWh")),
    JsonFormat(SeriesFormat("Energy-Charts (JSON)", "unix_seconds", "price", lambda _: unix_or(fixed_clock(0)), 1e-3,
         check=_per_mwh, currency="EUR"), ("",), ("unit", "EUR/MWh")),
    JsonFormat(SeriesFormat("Energy-Charts (JSON)", "timestamp", r"values\.day_ahead_price", lambda _: fixed_clock(0),
         1e-3, check=_per_mwh, currency="EUR"), ("data",), ("unit", "EUR/MWh")),
    JsonFormat(SeriesFormat("SMARD (chart_data, JSON)", "0", "1", lambda _: millisecond_clock(), 1e-3,
         check=_euros_per_mwh, currency="EUR"), ("series",)),
    JsonFormat(SeriesFormat("Octopus Energy's standard-unit-rates (JSON)", "valid_from", "value_exc_vat",
         lambda _: fixed_clock(0), 1e-2, end="valid_to", check=_pence, alike=("payment_method",), currency="GBP",
         ordered=False), ("results",)),
)  # fmt: skip
"""Octopus: without VAT."""


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
            raise InputError(self.table.place(self.table.line), f"prices in {found}", expected)
        return Series(series.edges, money.exchange[found] * series.values)


def read_prices(path: Path, read: Read = Path.read_bytes) -> PriceTable:
    """Read a price file. Raises InputError."""
    text = read_text(path, read)
    if is_xml(text):
        table = table_of(path, entsoe_lines(path, text), [XML_FORM], POINTS)
    else:
        table = _table(path, text, FORMS, JSON_FORMS)
    name = re.fullmatch(table.form.value, table.value_name)
    assert name is not None
    return PriceTable(table, name.groupdict().get("currency", table.form.currency).upper())


def _table(path: Path, text: str, forms: Sequence[SeriesFormat], json_forms: Sequence[JsonFormat]) -> SeriesTable:
    if is_json(text):
        return json_table(path, text, json_forms)
    return table_of(path, lines_of(path, text), forms)


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
         lambda _: unix_or(fixed_clock(0)), end="end_utc", check=_grams, alike=("kind",)),
    SeriesFormat("Datetime (UTC),…,Carbon intensity gCO₂eq/kWh (Life cycle) (Electricity Maps)", r"datetime \(utc\)",
         r"carbon intensity gco.2?eq/kwh \((life cycle|lca)\)", lambda _: fixed_clock(0), check=_grams,
         alike=("zone id",)),
    SeriesFormat("Datetime (UTC),…,Carbon intensity gCO₂eq/kWh (direct) (Electricity Maps)", r"datetime \(utc\)",
         r"carbon intensity gco.2?eq/kwh \(direct\)", lambda _: fixed_clock(0), check=_grams, alike=("zone id",)),
    SeriesFormat("datetime,…,carbon_intensity_avg (UTC)", "datetime", "carbon_intensity_avg", lambda _: fixed_clock(0),
         check=_grams, alike=("zone_name",)),
)  # fmt: skip
"""For Electricity Maps, life-cycle intensity takes precedence."""

CARBON_JSON_FORMS = (
    JsonFormat(SeriesFormat("Electricity Maps (JSON)", "datetime", "carbonintensity", lambda _: fixed_clock(0),
         check=_grams, alike=("zone", "emissionfactortype")), ("history", "data", "forecast")),
    JsonFormat(SeriesFormat("Carbon Intensity API of Great Britain (JSON)", "from", r"intensity\.actual",
         lambda _: fixed_clock(0), end="to", check=_grams, otherwise=r"intensity\.forecast"), ("data",)),
    JsonFormat(SeriesFormat("Carbon Intensity API of one region of Great Britain (JSON)", "from",
         r"intensity\.forecast", lambda _: fixed_clock(0), end="to", check=_grams),
         ("data", "data.data", "data.0.data")),
)  # fmt: skip


def read_carbon(path: Path, read: Read = Path.read_bytes) -> SeriesTable:
    """Read carbon intensity (g/kWh). Raises InputError."""
    return _table(path, read_text(path, read), CARBON_FORMS, CARBON_JSON_FORMS)
