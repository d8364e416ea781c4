"""Power and money of a run, and the surroundings that a platform states for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np

from dardis.config.cooling_table import load_pue_table
from dardis.config.prices import DEFAULT_MONEY, read_carbon, read_prices
from dardis.config.series_file import flat
from dardis.config.weather import read_weather
from dardis.metrics.job_metrics import Number
from dardis.model.arrays import Floats
from dardis.model.csv_table import REAL, WHOLE, Column, CsvTable
from dardis.model.errors import InputError
from dardis.model.files import InputFiles, Read, is_file
from dardis.model.platform import MODELLED_PLANTS, Facility, Money, Platform, missing_calendar
from dardis.model.pue_table import Rows
from dardis.model.schedule import Downtime, Schedule
from dardis.model.series import Series
from dardis.power.account import Account, account, work_of
from dardis.power.conditions import Conditions, PowerLimit, Tariff, check_cover, conditions_over
from dardis.power.cooling import DESIGN_W, Cooling, Plant, modelled
from dardis.power.node_power import MachinePower, design_watts, full_watts

KEYS = (
    "income_eur", "energy_eur", "cooling_eur", "tariff_eur", "profit_eur", "energy_kwh", "cooling_kwh", "pue", "co2_kg",
    "peak_kw",
)  # fmt: skip
SEGMENTS: Final = CsvTable(
    "power.csv",
    Column("time_s", WHOLE, "begin of the segment"),
    Column("until_s", WHOLE, "its end"),
    *(Column(name, REAL, meaning, unit, ".10g") for name, unit, meaning in (
        ("temp_c", None, "outdoor temperature"),
        ("price_eur_per_kwh", "currency/kWh", "price of energy"),
        ("gco2_per_kwh", "g/kWh", "CO2 intensity"),
        ("it_w", None, "mean power of IT: nodes that are on, and all below"),
        ("idle_w", None, "of it, what nodes draw without jobs"),
        ("off_w", None, "of it, what nodes draw that are off"),
        ("switching_w", None, "of it, what nodes draw that shut down or boot"),
        ("cooling_w", None, "power of the cooling plant"),
        ("income_eur", None, "income of the jobs in it"),
        ("energy_eur", None, "cost of IT energy"),
        ("cooling_eur", None, "cost of cooling"),
    )),
)  # fmt: skip


class NoCooling:
    """Stands for a plant that the platform does not name."""

    def watts(self, temp_c: Floats | float, it_w: Floats | float) -> Floats:
        """Nothing."""
        return np.zeros(np.broadcast(temp_c, it_w).shape)


@dataclass(frozen=True)
class PowerTerms:
    """All that a platform says of power and money, read and checked."""

    platform: Platform
    around: Surroundings
    cooling: Cooling | None
    tariff: Tariff
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class PowerReport:
    """What a schedule draws and earns; no `account` where it can't be told, for the reasons in `warnings`."""

    terms: PowerTerms
    account: Account | None = None
    conditions: Conditions | None = None
    warnings: tuple[str, ...] = ()


def power_terms(
    platform: Platform, offset: int | None, first: int, last: int, files: InputFiles | None = None
) -> PowerTerms | None:  # fmt: skip
    """The platform's terms for a trace that is submitted from `first` to `last`; None where it says nothing of power.

    `offset` is Unix time less trace time, where it is known. Raises InputError for files that are no good for it.
    """
    if not platform.says_of_power:
        return None
    around = platform.facility
    machine = MachinePower.of_platform(platform)
    warnings = []
    if not machine.stated:
        warnings.append(
            f"platform {platform.name}: without power figures for all nodes; the thesis's hold for the rest (9.455 W a "
            "busy core, no idle power)"
        )
    files = files or InputFiles()
    cooling = platform_cooling(platform, read=files.content)
    if cooling is not None and around.weather is None:
        warnings.append(f"platform {platform.name}: cooling without weather; neither cooling nor profit is told")
    if around.co2_per_t and around.carbon is None:
        warnings.append(f"platform {platform.name}: co2_eur_per_t without carbon; CO2 costs nothing")
    surroundings = Surroundings(around.weather, around.prices, around.carbon, offset, platform.money, files=files)
    conditions = surroundings.over(first, max(last, first + 1))
    if surroundings.assumed:
        warnings.append(surroundings.assumed)
    if cooling is not None and around.weather is not None:
        cooling.watts(conditions.temp_c, full_watts(platform))  # a table that does not reach so far says so now
    return PowerTerms(platform, surroundings, cooling, tariff_of(around, offset), tuple(warnings))


def power_report(
    terms: PowerTerms, schedule: Schedule, window: tuple[int, int] | None = None, downtime: Downtime | None = None
) -> PowerReport:
    """What the schedule draws and earns in the window: by default from the first submission to the last end."""
    if not schedule.ran.any():
        return PowerReport(terms)
    start, end = window or (int(schedule.submit.min()), int(schedule.finish[schedule.ran].max()))
    try:
        conditions = terms.around.over(start, max(end, start + 1))
        cooling = terms.cooling if terms.cooling and terms.around.weather is not None else NoCooling()
        figures = account(
            work_of(schedule, terms.platform), downtime or Downtime.none(), MachinePower.of_platform(terms.platform),
            conditions, cooling, terms.tariff,
        )  # fmt: skip
    except InputError as error:  # the run is over: what it found is worth more than its price
        return PowerReport(terms, warnings=(f"power and money can't be told: {error}",))
    over = f"{figures.over_limit_kwh:.1f} kWh above a power limit that must not be exceeded"
    return PowerReport(terms, figures, conditions, () if figures.feasible else (over,))


def power_metrics(report: PowerReport) -> dict[str, Number]:
    """The figures by `KEYS`; None for what the platform does not say enough about."""
    told = report.account
    if told is None:
        return dict.fromkeys(KEYS)
    around = report.terms.around
    priced, cooled = around.prices is not None, report.terms.cooling is not None and around.weather is not None
    complete = priced and (cooled or report.terms.cooling is None)
    return {
        "income_eur": told.income_eur,
        "energy_eur": told.energy_eur if priced else None,
        "cooling_eur": told.cooling_eur if priced and cooled else None,
        "tariff_eur": told.tariff_eur,
        "profit_eur": told.profit if complete else None,
        "energy_kwh": told.energy_kwh,
        "cooling_kwh": told.cooling_kwh if cooled else None,
        "pue": told.pue if cooled else None,
        "co2_kg": told.co2_kg if around.carbon is not None else None,
        "peak_kw": told.peak_kw,
    }


def write_power(path: Path, told: Account, conditions: Conditions) -> None:
    """Write `power.csv`: one row a segment of at most an hour, mean powers and the money of each."""
    columns = (
        told.edges[:-1], told.edges[1:], conditions.temp_c, told.price_per_kwh, told.gco2_per_kwh, told.it_w,
        told.idle_w, told.off_w, told.switching_w, told.cooling_w, told.income, told.energy_cost, told.cooling_cost,
    )  # fmt: skip
    SEGMENTS.write_blocks(path, [[column.tolist() for column in columns]])


Reader = Callable[[Path, tuple[int, int]], Series]


def find_cooling(
    text: str, design_w: float | None = None, rows: str = Rows.NEAREST, read: Read = Path.read_bytes
) -> Cooling:  # fmt: skip
    """The plant that `air`, `hybrid` or the file of a table names; a modelled one is built for `design_w`.

    Raises InputError for a file that is no table.
    """
    if text in MODELLED_PLANTS:
        return modelled(Plant(text), design_w or DESIGN_W)
    if not is_file(Path(text)):
        raise InputError(
            f"cooling {text!r}", "no such plant or file", f"{', '.join(MODELLED_PLANTS)}, or the file of a PUE table"
        )
    return load_pue_table(Path(text), Rows(rows), read)


def platform_cooling(
    platform: Platform, text: str | None = None, read: Read = Path.read_bytes
) -> Cooling | None:  # fmt: skip
    """The platform's plant, or with `text` another in its place; None where neither names one.

    Without `cooling_design_w` a modelled plant is built for the machine, see `design_watts`.
    """
    around = platform.facility
    named = text or around.cooling
    if named is None:
        return None
    return find_cooling(named, around.cooling_design_w or design_watts(platform), around.cooling_rows, read)


def tariff_of(facility: Facility, offset: int | None) -> Tariff:
    """The contract on the trace's clock (Unix time − `offset`). Raises InputError for limits without a calendar."""
    if facility.limits and offset is None:
        raise missing_calendar("tariff.limits")
    return Tariff(
        demand_per_kw=facility.demand_per_kw,
        co2_per_t=facility.co2_per_t,
        contracted_kw=facility.contracted_kw,
        contract_penalty_per_kwh=facility.contract_penalty_per_kwh,
        limits=tuple(
            PowerLimit(limit.start - (offset or 0), limit.end - (offset or 0), limit.most_kw, limit.penalty_per_kwh)
            for limit in facility.limits
        ),
    )


@dataclass(frozen=True)
class Surroundings:
    """Weather, prices and carbon of a platform: files or one value for all the time; None: not stated."""

    weather: str | float | None
    prices: str | float | None
    carbon: str | float | None
    offset: int | None
    """Unix time less trace time; None where the trace's calendar is not known."""
    money: Money = DEFAULT_MONEY
    """What prices are told in."""
    held_s: int = 0
    """So much may lack at the end of the prices that are asked for: the last one holds on."""
    files: InputFiles = field(default_factory=InputFiles)
    """By which each file is read once."""

    def weather_over(self, path: Path, span: tuple[int, int]) -> Series:
        """Outdoor temperature, °C. Raises InputError."""
        return self.files.once(read_weather, path).over(span)

    def known_prices(self, path: Path, span: tuple[int, int]) -> Series:
        """Prices per kWh in our money. Raises InputError."""
        return self.files.once(read_prices, path).over(span, self.money)

    def prices_over(self, path: Path, span: tuple[int, int]) -> Series:
        """The same; where only their end lacks, the last one holds on. Raises InputError."""
        return self.known_prices(path, span).held(span[1], self.held_s)

    def carbon_over(self, path: Path, span: tuple[int, int]) -> Series:
        """CO2 intensity, g/kWh. Raises InputError."""
        return self.files.once(read_carbon, path).over(span)

    def over(self, start: int, end: int) -> Conditions:
        """Conditions over `[start, end)` of the trace's clock; what is not stated is 0.

        Raises InputError for a file that can't be read, does not cover all of it, or has no calendar to go with it.
        """
        offset = self.offset or 0
        span = (start + offset, end + offset)
        return conditions_over(
            start, end, offset=offset,
            weather=self._series("weather", self.weather, self.weather_over, span),
            prices=self._series("prices", self.prices, self.prices_over, span),
            carbon=self._series("carbon", self.carbon, self.carbon_over, span),
        )  # fmt: skip

    @property
    def assumed(self) -> str | None:
        """What had to be assumed to read the files, for people; None where nothing had to be."""
        return self.files.once(read_weather, Path(self.weather)).assumed if isinstance(self.weather, str) else None

    def _series(self, key: str, stated: str | float | None, read: Reader, span: tuple[int, int]) -> Series:
        if not isinstance(stated, str):
            return flat(stated or 0.0, *span)
        if self.offset is None:
            raise missing_calendar(key)
        series = read(Path(stated), span)
        check_cover(stated, series, *span)
        return series
