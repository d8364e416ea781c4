"""The set-ups of the thesis by name, and every setting that can be chosen by hand instead."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields, replace
from enum import StrEnum
from typing import Any, get_type_hints

from dardis.model.errors import InputError
from dardis.model.target import Split


class Generator(StrEnum):
    """Which start times a node offers (thesis 5.3.3 to 5.3.5, 7.5)."""

    FIRST = "first"
    UNIFORM = "uniform"
    EXPONENTIAL = "exponential"


class Selection(StrEnum):
    """Which common start a task manager takes (thesis 7.5)."""

    MIN_START = "min-start"
    MAX_PROBABILITY = "max-probability"
    RANDOM = "random"


class NodeChoice(StrEnum):
    """Which of the nodes that offer the start it takes."""

    BEST_FIT = "best-fit"
    WORST_FIT = "worst-fit"
    RANDOM = "random"
    FIRST_FIT = "first-fit"
    CONTIGUOUS = "contiguous"


class UnitsPerNode(StrEnum):
    """Whether a node may take several units of a job."""

    DISTINCT = "distinct"
    PACK = "pack"


class ProfileRule(StrEnum):
    """What the desired profile means."""

    SOFT = "soft"
    HARD = "hard"
    OFF = "off"


class OfferRule(StrEnum):
    """Whether the first generator offers all its runs or the thesis's quota of start times."""

    RUNS = "runs"
    QUOTA = "quota"


class BackfillScope(StrEnum):
    """Who asks again after an early end: the next jobs on the freed nodes, or all that wait, of all nodes."""

    SAME_NODES = "same-nodes"
    ALL_NODES = "all-nodes"


class EventOrder(StrEnum):
    """At one instant: all ends, then arrivals; or arrivals, then each end by itself."""

    BATCHED = "batched"
    PER_EVENT = "per-event"


class Switch(StrEnum):
    """On or off."""

    ON = "on"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class SetUp:
    """What makes one DARDIS scheduler differ from another. Field names are the keys of `--set`."""

    generator: Generator
    selection: Selection
    node_choice: NodeChoice
    backfill: Switch
    deadlines: str
    """The deadline rule when none is asked for (not a key of `--set`: see `--deadlines`)."""
    start_grain_s: int = 60
    units_per_node: UnitsPerNode = UnitsPerNode.PACK
    profile: ProfileRule = ProfileRule.SOFT
    profile_split: Split = Split.PROPORTIONAL
    offers: OfferRule = OfferRule.RUNS
    backfill_depth: int = 0
    """Later jobs a node tells of an early end; 0: the node's cores (same-nodes) or all (all-nodes)."""
    backfill_scope: BackfillScope = BackfillScope.SAME_NODES
    event_order: EventOrder = EventOrder.BATCHED
    unit_cores: int = 0
    """Cores of a unit of a job that asks for processors; 0: as many units as it needs nodes."""

    @property
    def grain(self) -> int:
        """Distance of the start times it considers, in s: only drawn ones lie on a grid."""
        return 1 if self.generator is Generator.FIRST else self.start_grain_s

    @property
    def drawn(self) -> bool:
        """Whether nodes offer a quota of start times before they offer all."""
        return self.generator is not Generator.FIRST or self.offers is OfferRule.QUOTA

    def settings(self) -> dict[str, Any]:
        """The settings as plain values, by key."""
        plain = {key: value for key, value in asdict(self).items() if key != "deadlines"}
        return plain | {"unit_cores": self.unit_cores or "node"}


SETUPS: dict[str, SetUp] = {
    "dardis-throughput": SetUp(Generator.FIRST, Selection.MIN_START, NodeChoice.BEST_FIT, Switch.ON, deadlines="none"),
    "dardis-profile": SetUp(Generator.UNIFORM, Selection.RANDOM, NodeChoice.RANDOM, Switch.OFF, deadlines="factor:1"),
    "dardis-balance": SetUp(
        Generator.EXPONENTIAL, Selection.MAX_PROBABILITY, NodeChoice.WORST_FIT, Switch.OFF, deadlines="factor:1"
    ),
}

DESCRIPTIONS: dict[str, str] = {
    "dardis-throughput": "earliest common start, asks again after early ends (thesis 5.3.3)",
    "dardis-profile": "start times drawn in proportion to the room below the desired profile (thesis 5.3.4)",
    "dardis-balance": "drawn start times, early ones likelier; the emptiest start and nodes (thesis 5.3.5)",
}


def known_settings() -> dict[str, str]:
    """Every key of `--set` with the values it takes, for people."""
    hints = get_type_hints(SetUp)
    known = {
        f.name: "|".join(hints[f.name]) if issubclass(hints[f.name], StrEnum) else "N"
        for f in fields(SetUp)
        if f.name != "deadlines"
    }
    return known | {"unit_cores": "node|N"}


def with_settings(setup: SetUp, settings: Iterable[str]) -> SetUp:
    """Return the set-up with `KEY=VALUE` settings applied; InputError lists the known keys or values."""
    known = known_settings()
    hints = get_type_hints(SetUp)
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not equals or key not in known:
            choices = ", ".join(f"{k}={v}" for k, v in known.items())
            raise InputError(f"--set {setting}", "unknown setting" if equals else "no KEY=VALUE", f"one of {choices}")
        kind = hints[key]
        value: Any
        if issubclass(kind, StrEnum):
            if text not in list(kind):
                raise InputError(f"--set {setting}", f"unknown value {text!r}", known[key])
            value = kind(text)
        elif key == "unit_cores" and text == "node":
            value = 0
        else:
            least = 0 if key == "backfill_depth" else 1
            if not text.isascii() or not text.isdigit() or int(text) < least or int(text) >= 1 << 31:
                raise InputError(f"--set {setting}", f"{text!r} is out of range", f"a whole number from {least} on")
            value = int(text)
        setup = replace(setup, **{key: value})
    return setup
