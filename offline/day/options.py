"""How a day is to be planned, as a user says it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from dardis.model.errors import InputError
from offline.forecast.donors import DEFAULT


class SwitchingRule(StrEnum):
    """How nodes are switched."""

    SPARE = "spare"
    """A few spare nodes stay on, learned by hour; everything else is off when idle (the default)."""
    ALGORITHM8 = "algorithm8"
    """The thesis's: a share of what was unused in the last 24 hours stays on."""
    OFF = "off"
    """All nodes are always on."""


def switching_rule(text: str) -> SwitchingRule:
    """The rule of that name. Raises InputError."""
    try:
        return SwitchingRule(text)
    except ValueError:
        raise InputError("--switching", repr(text), ", ".join(SwitchingRule)) from None


@dataclass(frozen=True)
class DayOptions:
    """How to plan; `offset` is algorithm 8's in percent, `hours` how far the forecast reaches."""

    switching: SwitchingRule = SwitchingRule.SPARE
    offset: int = 70
    hours: int = 24
    method: str = DEFAULT
    time_limit: float = 120.0
    seed: int = 1
