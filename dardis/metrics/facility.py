"""What a platform's power costs, read from the files it names: its cooling, contract, and conditions over time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from dardis.config.facility import load_pue_table
from dardis.config.prices import DEFAULT_MONEY, read_carbon, read_prices
from dardis.config.series_file import flat
from dardis.config.weather import read_weather
from dardis.model.errors import InputError
from dardis.model.files import InputFiles, Read, is_file
from dardis.model.platform import MODELLED_PLANTS, Facility, Money, Platform, missing_calendar
from dardis.model.pue_table import Rows
from dardis.model.series import Series
from dardis.power.conditions import Conditions, PowerLimit, Tariff, check_cover, conditions_over
from dardis.power.cooling import DESIGN_W, Cooling, Plant, modelled
from dardis.power.nodes import design_watts

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
