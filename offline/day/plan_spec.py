"""Options of `dardis plan`, and switching rules."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from pydantic import Field

from dardis.config import option_texts
from dardis.config.option import FILE, Option, enum_reader, reader_of
from dardis.config.option_texts import LARGEST_SEED
from dardis.config.toml_file import Table
from dardis.model.errors import InputError
from dardis.model.numbers import whole_number
from offline.forecast import DEFAULT
from offline.site.site_spec import SiteSpec

REACTIVE = "reactive"
MOST_S = 1_000_000
"""Upper limit of idle seconds and spares."""


class SwitchingRule(StrEnum):
    """How nodes are switched."""

    SPARE = "spare"
    """Default: learned numbers of spare nodes stay on; other idle nodes are off."""
    ALGORITHM8 = "algorithm8"
    """Thesis: a share of the cores unused in the last 24 hours stays on."""
    OFF = "off"
    """All nodes are always on."""


@dataclass(frozen=True, slots=True)
class Reactive:
    """Slurm's own rule: nodes are off after `idle_s` of idleness, except `spares`."""

    idle_s: int
    spares: int = 0

    def __str__(self) -> str:
        return f"{REACTIVE}:{self.idle_s}" + (f",{self.spares}" if self.spares else "")


def loop_switching(text: str) -> tuple[SwitchingRule, Reactive | None]:
    """Rule for planning, and a reactive rule (`reactive:SECONDS[,SPARES]`) in its place. Raises InputError."""
    name, colon, rest = text.partition(":")
    if name != REACTIVE:
        try:
            return SwitchingRule(text), None
        except ValueError:
            expected = f"{'|'.join(SwitchingRule)}|{REACTIVE}:SECONDS[,SPARES]"
            raise InputError("--switching", repr(text), expected) from None
    try:
        numbers = [whole_number(part, 0, MOST_S) for part in rest.split(",")] if colon else []
        return SwitchingRule.OFF, Reactive(*numbers)
    except (TypeError, ValueError):
        expected = f"{REACTIVE}:SECONDS or {REACTIVE}:SECONDS,SPARES, whole numbers from 0 to {MOST_S}"
        raise InputError("--switching", repr(text), expected) from None


def wait_cost(price: float, seconds: float) -> float:
    """Cost of wait seconds, at a price for an hour."""
    return price * seconds / 3600


def _hours(text: str) -> int:
    if text not in {"24", "48"}:
        raise ValueError(f"{text!r}; expected 24 or 48")
    return int(text)


class DayRule(Table):
    """Options of planning without the switching rule."""

    offset: Annotated[
        int, Field(ge=0, le=100), Option("algorithm8: share of the unused nodes that stay on.", "PERCENT")
    ] = 70
    forecast_method: Annotated[
        str, Field(serialization_alias="method"), Option("Forecast method (see dardis forecast).", "NAME")
    ] = DEFAULT
    time_limit: Annotated[float, Field(ge=0), Option("Limit on the wall clock of a day's plan, s.", "S")] = 120.0
    seed: Annotated[int, Field(ge=0, le=LARGEST_SEED), Option(option_texts.SEED, "N")] = 1
    wait_price: Annotated[
        float, Field(ge=0), Option("Cost of an hour of waiting of a job, in the platform's currency.", "EUR")
    ] = 0.0


class DaySpec(DayRule):
    """Options of planning a day."""

    switching: Annotated[SwitchingRule, enum_reader(SwitchingRule), Option("spare, algorithm8 or off.", "RULE")] = (
        SwitchingRule.SPARE
    )
    hours: Annotated[int, reader_of(_hours), Option("Hours of the forecast.", "24|48")] = 24


def _date(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r}; expected a UTC day such as 2023-07-15") from None


class PlanSpec(DaySpec, SiteSpec):
    """Options of `dardis plan`."""

    out: Annotated[Path, FILE, Option("Folder for the plan.", "DIR")]
    day: Annotated[
        int | None,
        Field(ge=0, le=option_texts.LATEST_DAY),
        Option("Number of the UTC day to plan, from 0.", "N"),
    ] = None
    date_: Annotated[date | None, reader_of(_date), Option("Date of the day, such as 2023-07-15.", "DATE")] = None
    now: Annotated[
        str | None, Option("UTC time; later jobs are forecast (default: the history's last event).", "TIME")
    ] = None
    state: Annotated[Path | None, FILE, Option("Present states of nodes: scontrol show node, or a CSV.", "FILE")] = None
    names: Annotated[Path | None, FILE, Option(option_texts.NODE_NAMES, "FILE")] = None
    after: Annotated[
        Path | None,
        FILE,
        Option("Plan of the previous day, for nodes that are off at first.", "PLAN_DIR"),
    ] = None
    cap: Annotated[bool, Option("Also write the target of cores into target.json.")] = False
    force: Annotated[bool, Option("Replace the plan in DIR; accept a stale history.")] = False
    accept_stale: Annotated[bool, Option("Plan even if the history may end too early.")] = False
    what_if: Annotated[str | None, Option("Show the cost of a limit on power: 80kW 17-19 (UTC).", "LIMIT")] = None
    no_report: Annotated[bool, Option(option_texts.NO_REPORT)] = False

    @property
    def wanted_day(self) -> int | date:
        """Day by number or date. Raises InputError unless exactly one is stated."""
        if self.day is not None and self.date_ is not None:
            raise InputError("--date", f"beside --day {self.day}", "one of the two")
        if self.day is not None:
            return self.day
        if self.date_ is None:
            raise InputError("dardis plan", "neither --day nor --date", "one of the two")
        return self.date_
