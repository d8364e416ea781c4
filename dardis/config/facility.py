"""Decides what a platform file may say of cooling, prices, weather, contract and calendar."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator, Field, model_validator

from dardis.config.times import Moment
from dardis.config.toml_file import Table
from dardis.model.errors import InputError
from dardis.model.files import is_file
from dardis.model.limits import Above0, Amount, Text
from dardis.model.platform import MODELLED_PLANTS, Facility, GridLimit
from dardis.model.pue_table import Rows


def _rows(value: object) -> Rows:
    try:
        return Rows(str(value))
    except ValueError:
        raise ValueError(f"{value!r}; expected one of {', '.join(Rows)}") from None


class LimitTable(Table):
    """`[[tariff.limits]]`: what the grid asks for, for a time."""

    start_utc: Moment
    end_utc: Moment
    most_kw: Amount
    penalty_eur_per_kwh: Amount | None = None

    @model_validator(mode="after")
    def _has_length(self) -> LimitTable:
        if self.end_utc <= self.start_utc:
            raise ValueError("end_utc is not after start_utc")
        return self


class TariffTable(Table):
    """`[tariff]`: what a contract charges besides energy."""

    demand_eur_per_kw: Amount = 0.0
    co2_eur_per_t: Amount = 0.0
    contracted_kw: Amount | None = None
    contract_penalty_eur_per_kwh: Amount | None = None
    limits: list[LimitTable] = Field(default_factory=list)


class FacilityKeys(Table):
    """Keys at the top of a platform file."""

    cooling: Text | None = None
    cooling_rows: Annotated[Rows, BeforeValidator(_rows)] = Rows.NEAREST
    cooling_design_w: Above0 | None = None
    prices: Text | float | None = None
    weather: Text | float | None = None
    carbon: Text | float | None = None
    calendar_start: Moment | None = None
    tariff: TariffTable = Field(default_factory=TariffTable)


def facility_of(path: Path, keys: FacilityKeys) -> Facility:
    """What the platform file at `path` says; files are looked for beside it. Raises InputError for one that lacks."""
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
