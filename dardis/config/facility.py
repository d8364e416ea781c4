"""Cooling, prices, weather, contract and calendar in platform files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

from pydantic import BeforeValidator, Field, model_validator

from dardis.config.toml_file import Moment, Table
from dardis.model.errors import InputError
from dardis.model.files import is_file
from dardis.model.platform import MODELLED_PLANTS, Facility, GridLimit
from dardis.model.pue_table import RowChoice
from dardis.model.resources import Above0, Amount, Text

FILE_KEYS: Final = ("cooling", "prices", "weather", "carbon")
"""May name files."""


def _rows(value: object) -> RowChoice:
    try:
        return RowChoice(str(value))
    except ValueError:
        raise ValueError(f"{value!r}; expected one of {', '.join(RowChoice)}") from None


class LimitTable(Table):
    """`[[tariff.limits]]`: temporary limit of the grid."""

    start_utc: Moment = Field(description="Start, UTC.")
    end_utc: Moment = Field(description="End, UTC.")
    most_kw: Amount = Field(description="Limit of IT and cooling, kW.")
    penalty_eur_per_kwh: Amount | None = Field(
        None, description="Price of energy above the limit. Without one the limit must never be exceeded."
    )

    @model_validator(mode="after")
    def _has_length(self) -> LimitTable:
        if self.end_utc <= self.start_utc:
            raise ValueError("end_utc is not after start_utc")
        return self


class TariffTable(Table):
    """`[tariff]`: contract charges besides energy."""

    demand_eur_per_kw: Amount = Field(
        0.0, description="Price of the highest mean of IT and cooling over a quarter of an hour, once."
    )
    co2_eur_per_t: Amount = Field(0.0, description="Price of CO2.")
    contracted_kw: Amount | None = Field(None, description="Maximum of those means, kW.")
    contract_penalty_eur_per_kwh: Amount | None = Field(
        None, description="Price of energy above `contracted_kw`. Without one it must never be exceeded."
    )
    limits: list[LimitTable] = Field(
        default_factory=list, description="Spans in which the grid limits power, see below."
    )


class FacilityKeys(Table):
    """Top-level keys of platform files."""

    cooling: Text | None = Field(
        None,
        description="`air`, `hybrid` (modelled, see [metrics.md](metrics.md#power-and-money)), or the file of a"
        " [table](#pue-table). Without it cooling is not counted.",
    )
    cooling_rows: Annotated[RowChoice, BeforeValidator(_rows)] = Field(
        RowChoice.NEAREST, description="How a table answers between two of its rows: `nearest` or `interpolate`."
    )
    cooling_design_w: Above0 | None = Field(
        None,
        description="IT power in W for which a modelled plant was built. Without it: 1.175 × the machine's power with"
        " every core busy, rounded up to three figures.",
    )
    prices: Text | float | None = Field(
        None,
        description="A [file](#weather-prices-carbon), or one price per kWh. Without it, only income is known.",
    )
    weather: Text | float | None = Field(
        None, description="A file, or one outdoor temperature in °C. Without it, cooling is not counted."
    )
    carbon: Text | float | None = Field(
        None, description="A file, or one intensity in g CO2 per kWh. Without it, CO2 is not counted."
    )
    calendar_start: Moment | None = Field(
        None,
        description="UTC time of the trace's first submission. It ties the trace to the files, and to dates in the"
        " report. Default: the trace's own start date, if it states one.",
    )
    tariff: TariffTable = Field(
        default_factory=TariffTable,
        description="Charges of the contract besides energy. Default: none.",
    )


def facility_of(path: Path, keys: FacilityKeys) -> Facility:
    """Facility of the platform file at `path`, with files beside it. Raises InputError."""
    tariff = keys.tariff

    def found(key: str, value: str | float | None) -> str | float | None:
        if not isinstance(value, str) or (key == "cooling" and value in MODELLED_PLANTS):
            return value
        file = path.parent / value
        if not is_file(file):
            expected = (
                f"{', '.join(MODELLED_PLANTS)} or the file of a table" if key == "cooling" else "a number, or a file"
            )
            raise InputError(f"{path}: {key}", f"no file {value!r}", expected)
        return str(file.resolve())

    cooling = found("cooling", keys.cooling)
    return Facility(
        cooling=None if cooling is None else str(cooling),
        cooling_rows=keys.cooling_rows,
        cooling_design_w=keys.cooling_design_w,
        prices=found("prices", keys.prices),
        weather=found("weather", keys.weather),
        carbon=found("carbon", keys.carbon),
        calendar_start=keys.calendar_start,
        demand_per_kw=tariff.demand_eur_per_kw,
        co2_per_t=tariff.co2_eur_per_t,
        contracted_kw=tariff.contracted_kw,
        contract_penalty_per_kwh=tariff.contract_penalty_eur_per_kwh,
        limits=tuple(
            GridLimit(limit.start_utc, limit.end_utc, limit.most_kw, limit.penalty_eur_per_kwh)
            for limit in tariff.limits
        ),
    )
