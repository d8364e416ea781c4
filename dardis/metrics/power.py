"""What a schedule draws, costs and earns, as figures of metrics.json and hour by hour, as far as the platform says."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from dardis.metrics.facility import Surroundings, platform_cooling, tariff_of
from dardis.metrics.jobs import Number
from dardis.model.arrays import Floats
from dardis.model.csv_table import REAL, WHOLE, Column, CsvTable
from dardis.model.errors import InputError
from dardis.model.files import InputFiles
from dardis.model.platform import Platform
from dardis.model.schedule import Downtime, Schedule
from dardis.power.account import Account, account, work_of
from dardis.power.conditions import Conditions, Tariff
from dardis.power.cooling import Cooling
from dardis.power.nodes import MachinePower, full_watts

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
