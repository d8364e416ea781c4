"""How a day is to be planned, as a user says it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from dardis.model.errors import InputError
from dardis.model.numbers import whole_number
from offline.forecast.donors import DEFAULT

REACTIVE = "reactive"
MOST_S = 1_000_000
"""The longest that a node is to idle, and the most spares, that may be asked for."""


class SwitchingRule(StrEnum):
    """How nodes are switched."""

    SPARE = "spare"
    """A few spare nodes stay on, learned by hour; everything else is off when idle (the default)."""
    ALGORITHM8 = "algorithm8"
    """The thesis's: a share of what was unused in the last 24 hours stays on."""
    OFF = "off"
    """All nodes are always on."""


@dataclass(frozen=True, slots=True)
class Reactive:
    """What Slurm does by itself: nodes that idled for so long are off, but for so many idle ones that stay on."""

    idle_s: int
    spares: int = 0

    def __str__(self) -> str:
        """As it is asked for."""
        return f"{REACTIVE}:{self.idle_s}" + (f",{self.spares}" if self.spares else "")


def loop_switching(text: str) -> tuple[SwitchingRule, Reactive | None]:
    """The rule by which days are planned, and the one that switches in its place. Raises InputError.

    The second is asked for as `reactive:SECONDS`, with or without `,SPARES`; then nothing is planned to be switched.
    """
    name, colon, rest = text.partition(":")
    if name != REACTIVE:
        return switching_rule(text, more=f", {REACTIVE}:SECONDS, {REACTIVE}:SECONDS,SPARES"), None
    try:
        numbers = [whole_number(part, 0, MOST_S) for part in rest.split(",")] if colon else []
        return SwitchingRule.OFF, Reactive(*numbers)
    except (TypeError, ValueError):
        expected = f"{REACTIVE}:SECONDS or {REACTIVE}:SECONDS,SPARES, whole numbers from 0 to {MOST_S}"
        raise InputError("--switching", repr(text), expected) from None


def switching_rule(text: str, more: str = "") -> SwitchingRule:
    """The rule of that name. Raises InputError."""
    try:
        return SwitchingRule(text)
    except ValueError:
        raise InputError("--switching", repr(text), ", ".join(SwitchingRule) + more) from None


def wait_cost(price: float, seconds: float) -> float:
    """What it costs that jobs wait for so many seconds in all."""
    return price * seconds / 3600


@dataclass(frozen=True)
class DayOptions:
    """How to plan; `offset` is algorithm 8's in percent, `hours` how far the forecast reaches."""

    switching: SwitchingRule = SwitchingRule.SPARE
    offset: int = 70
    hours: int = 24
    method: str = DEFAULT
    time_limit: float = 120.0
    seed: int = 1
    wait_price: float = 0.0
    """What an hour costs that a job waits, in the platform's currency."""
