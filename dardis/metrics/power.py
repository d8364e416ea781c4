"""Power and cost of a run."""

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
from dardis.model.pue_table import RowChoice
from dardis.model.schedule import Downtime, Schedule
from dardis.model.series import Series
from dardis.power.account import Account, account, accounted_jobs
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
        ("it_w", None, "mean power of all nodes"),
        ("idle_w", None, "part of it: nodes without jobs"),
        ("off_w", None, "part of it: nodes that are off"),
        ("switching_w", None, "part of it: nodes that shut down or boot"),
        ("cooling_w", None, "power of the cooling plant"),
        ("income_eur", None, "income of the jobs in the segment"),
        ("energy_eur", None, "cost of IT energy"),
        ("cooling_eur", None, "cost of cooling"),
    )),
)  # fmt: skip


class NoCooling:
    """Cooling for platforms without a plant."""

    def watts(self, temp_c: Floats | float, it_w: Floats | float) -> Floats:
        """Return 0 W."""
        return np.zeros(np.broadcast(temp_c, it_w).shape)


@dataclass(frozen=True)
class PowerTerms:
    """Validated power and cost terms."""

    platform: Platform
    environment: PowerEnvironment
    cooling: Cooling | None
    tariff: Tariff
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class PowerReport:
    """Power and cost of a schedule; without `account`, see `warnings`."""

    terms: PowerTerms
    account: Account | None = None
    conditions: Conditions | None = None
    warnings: tuple[str, ...] = ()


def power_terms(
    platform: Platform, offset: int | None, first: int, last: int, files: InputFiles | None = None
) -> PowerTerms | None:  # fmt: skip
    """Terms for a trace submitted from `first` to `last`; None without power data.

    `offset`: Unix minus trace time, if known. Raises InputError.
    """
    if not platform.has_power_data:
        return None
    around = platform.facility
    machine = MachinePower.of_platform(platform)
    warnings = []
    if not machine.stated:
        warnings.append(
            f"platform {platform.name}: some nodes have no power figures; they use the thesis's (9.455 W per busy "
            "core, no idle power)"
        )
    files = files or InputFiles()
    cooling = platform_cooling(platform, read=files.content)
    if cooling is not None and around.weather is None:
        warnings.append(f"platform {platform.name}: cooling without weather; cooling and profit are unknown")
    if around.co2_per_t and around.carbon is None:
        warnings.append(f"platform {platform.name}: co2_eur_per_t without carbon; CO2 costs nothing")
    surroundings = PowerEnvironment(around.weather, around.prices, around.carbon, offset, platform.money, files=files)
    conditions = surroundings.over(first, max(last, first + 1))
    if surroundings.assumption:
        warnings.append(surroundings.assumption)
    if cooling is not None and around.weather is not None:
        cooling.watts(conditions.temp_c, full_watts(platform))  # report a too small table early
    return PowerTerms(platform, surroundings, cooling, tariff_of(around, offset), tuple(warnings))


def power_report(
    terms: PowerTerms, schedule: Schedule, window: tuple[int, int] | None = None, downtime: Downtime | None = None
) -> PowerReport:
    """Power and cost in the window, by default first submission to last end."""
    if not schedule.ran.any():
        return PowerReport(terms)
    start, end = window or (int(schedule.submit.min()), int(schedule.finish[schedule.ran].max()))
    try:
        conditions = terms.environment.over(start, max(end, start + 1))
        cooling = terms.cooling if terms.cooling and terms.environment.weather is not None else NoCooling()
        figures = account(
            accounted_jobs(schedule, terms.platform), downtime or Downtime.none(),
            MachinePower.of_platform(terms.platform),
            conditions, cooling, terms.tariff,
        )  # fmt: skip
    except InputError as error:  # the run is over: keep its results without the cost
        return PowerReport(terms, warnings=(f"power and money are unknown: {error}",))
    over = f"{figures.over_limit_kwh:.1f} kWh above a power limit that must not be exceeded"
    return PowerReport(terms, figures, conditions, () if figures.feasible else (over,))


def power_metrics(report: PowerReport) -> dict[str, Number]:
    """Figures by `KEYS`; None if unknown."""
    told = report.account
    if told is None:
        return dict.fromkeys(KEYS)
    around = report.terms.environment
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
    """Write `power.csv`: means and money per segment."""
    columns = (
        told.edges[:-1], told.edges[1:], conditions.temp_c, told.price_per_kwh, told.gco2_per_kwh, told.it_w,
        told.idle_w, told.off_w, told.switching_w, told.cooling_w, told.income, told.energy_cost, told.cooling_cost,
    )  # fmt: skip
    SEGMENTS.write_blocks(path, [[column.tolist() for column in columns]])


Reader = Callable[[Path, tuple[int, int]], Series]


def find_cooling(
    text: str, design_w: float | None = None, rows: str = RowChoice.NEAREST, read: Read = Path.read_bytes
) -> Cooling:  # fmt: skip
    """Plant `air` or `hybrid` (sized for `design_w`), or a table file. Raises InputError."""
    if text in MODELLED_PLANTS:
        return modelled(Plant(text), design_w or DESIGN_W)
    if not is_file(Path(text)):
        raise InputError(
            f"cooling {text!r}", "no such plant or file", f"{', '.join(MODELLED_PLANTS)}, or the file of a PUE table"
        )
    return load_pue_table(Path(text), RowChoice(rows), read)


def platform_cooling(
    platform: Platform, text: str | None = None, read: Read = Path.read_bytes
) -> Cooling | None:  # fmt: skip
    """Platform's plant, or `text`; None if neither is named.

    `design_watts`: default size.
    """
    around = platform.facility
    named = text or around.cooling
    if named is None:
        return None
    return find_cooling(named, around.cooling_design_w or design_watts(platform), around.cooling_rows, read)


def tariff_of(facility: Facility, offset: int | None) -> Tariff:
    """Contract in trace time. Raises InputError without a calendar."""
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
class PowerEnvironment:
    """Weather, prices and carbon: file, constant, or None."""

    weather: str | float | None
    prices: str | float | None
    carbon: str | float | None
    offset: int | None
    """Unix time minus trace time; None if unknown."""
    money: Money = DEFAULT_MONEY
    max_extension_s: int = 0
    """Seconds for which the last price holds beyond the data."""
    files: InputFiles = field(default_factory=InputFiles)

    def weather_over(self, path: Path, span: tuple[int, int]) -> Series:
        """Outdoor temperature, °C. Raises InputError."""
        return self.files.once(read_weather, path).over(span)

    def known_prices(self, path: Path, span: tuple[int, int]) -> Series:
        """Prices per kWh in `money`. Raises InputError."""
        return self.files.once(read_prices, path).over(span, self.money)

    def prices_over(self, path: Path, span: tuple[int, int]) -> Series:
        """Prices, extended by at most `max_extension_s`. Raises InputError."""
        return self.known_prices(path, span).extend_last(span[1], self.max_extension_s)

    def carbon_over(self, path: Path, span: tuple[int, int]) -> Series:
        """CO2 intensity, g/kWh. Raises InputError."""
        return self.files.once(read_carbon, path).over(span)

    def over(self, start: int, end: int) -> Conditions:
        """Conditions over `[start, end)` of trace time; 0 if not stated.

        Raises InputError for unreadable or incomplete files, or a missing calendar.
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
    def assumption(self) -> str | None:
        """Assumption about the files, or None."""
        return self.files.once(read_weather, Path(self.weather)).assumed if isinstance(self.weather, str) else None

    def _series(self, key: str, stated: str | float | None, read: Reader, span: tuple[int, int]) -> Series:
        if not isinstance(stated, str):
            return flat(stated or 0.0, *span)
        if self.offset is None:
            raise missing_calendar(key)
        series = read(Path(stated), span)
        check_cover(stated, series, *span)
        return series
