"""Table of Slurm's node states: what each base state and flag means for a plan, and how they combine."""

from __future__ import annotations

from enum import StrEnum
from typing import Final, NamedTuple


class Meaning(StrEnum):
    """What one word of a node's state says."""

    NOTHING = "nothing"
    """Takes jobs as before."""
    BUSY = "busy"
    """Holds jobs."""
    CLOSED = "closed"
    """Takes no jobs until an administrator or the end of a reservation changes that."""
    SILENT = "closed unless off, booting or shutting down"
    """Does not answer, as a node without power does not."""
    OFF = "off"
    SHUTTING_DOWN = "shutting down"
    """On its way to off, or ordered to go there."""
    BOOTING = "booting"
    """On its way up, or ordered to come up."""


BASE_STATES: Final = {
    "IDLE": Meaning.NOTHING,
    "ALLOCATED": Meaning.BUSY,
    "MIXED": Meaning.BUSY,
    "DOWN": Meaning.CLOSED,
    "ERROR": Meaning.CLOSED,
    "FUTURE": Meaning.CLOSED,
    "UNKNOWN": Meaning.CLOSED,
    "INVAL": Meaning.CLOSED,
}
"""Base states, of which a node has one."""

FLAGS: Final = {
    "CLOUD": Meaning.NOTHING,
    "DYNAMIC": Meaning.NOTHING,
    "DYNAMIC_FUTURE": Meaning.NOTHING,
    "DYNAMIC_NORM": Meaning.NOTHING,
    "EXTERNAL": Meaning.NOTHING,
    "PLANNED": Meaning.NOTHING,
    "BLOCKED": Meaning.NOTHING,
    "RESUME": Meaning.NOTHING,
    "UNDRAIN": Meaning.NOTHING,
    "REBOOT_REQUESTED": Meaning.NOTHING,
    "REBOOT_CANCEL": Meaning.NOTHING,
    "COMPLETING": Meaning.BUSY,
    "DRAIN": Meaning.CLOSED,
    "FAIL": Meaning.CLOSED,
    "MAINTENANCE": Meaning.CLOSED,
    "RESERVED": Meaning.CLOSED,
    "PERFCTRS": Meaning.CLOSED,
    "INVALID_REG": Meaning.CLOSED,
    "NOT_RESPONDING": Meaning.SILENT,
    "POWERED_DOWN": Meaning.OFF,
    "POWER_DOWN": Meaning.SHUTTING_DOWN,
    "POWER_DRAIN": Meaning.SHUTTING_DOWN,
    "POWERING_DOWN": Meaning.SHUTTING_DOWN,
    "POWER_UP": Meaning.BOOTING,
    "POWERING_UP": Meaning.BOOTING,
    "REBOOT_ISSUED": Meaning.BOOTING,
}
"""Flags, of which a node has any number."""

SPELLINGS: Final = {
    "ALLOC": "ALLOCATED", "MIX": "MIXED", "COMP": "COMPLETING", "ERR": "ERROR", "FUTR": "FUTURE", "UNK": "UNKNOWN",
    "DRAINED": "DRAIN", "DRAINING": "DRAIN", "DRNG": "DRAIN", "FAILING": "FAIL", "FAILG": "FAIL",
    "MAINT": "MAINTENANCE", "RES": "RESERVED", "RESV": "RESERVED",
    "NO_RESPOND": "NOT_RESPONDING", "PLND": "PLANNED", "NPC": "PERFCTRS",
    "NET": "PERFCTRS", "POWER": "POWERED_DOWN", "POWER_SAVE": "POWERED_DOWN", "POWER_SAVING": "POWERED_DOWN",
    "POW_DN": "POWERING_DOWN", "POW_UP": "POWERING_UP", "REBOOT": "REBOOT_REQUESTED",
    "REBOOT_CANCELED": "REBOOT_CANCEL", "BOOT": "REBOOT_ISSUED", "BLOCK": "BLOCKED",
}  # fmt: skip
"""Other spellings: of old versions, of `sinfo`, and of the REST interface."""

SIGNS: Final = {
    "*": "NOT_RESPONDING", "~": "POWERED_DOWN", "#": "POWERING_UP", "!": "POWER_DOWN", "%": "POWERING_DOWN",
    "$": "MAINTENANCE", "@": "REBOOT_REQUESTED", "^": "REBOOT_ISSUED", "-": "PLANNED",
}  # fmt: skip
"""Characters behind a state, as `sinfo` and old versions print them."""

MEANINGS: Final = BASE_STATES | FLAGS


class State(NamedTuple):
    """Words of a node's state in the table's spelling, unknown ones as they are written in capitals."""

    words: tuple[str, ...] = ()

    @property
    def unknown(self) -> tuple[str, ...]:
        """Words that the table does not have; a node with one is closed."""
        return tuple(word for word in self.words if word not in MEANINGS)

    @property
    def closing(self) -> tuple[str, ...]:
        """Words because of which the node takes no jobs; none if it takes jobs, if need be after a boot."""
        silent = Meaning.SILENT if self.power == "on" else Meaning.CLOSED
        return tuple(word for word in self.words if MEANINGS.get(word, Meaning.CLOSED) in {Meaning.CLOSED, silent})

    @property
    def is_busy(self) -> bool:
        """Whether jobs hold the node."""
        return Meaning.BUSY in self._meanings

    @property
    def power(self) -> Meaning | str:
        """BOOTING, SHUTTING_DOWN, OFF or "on". An order to boot beats all else, an action beats the state it ends."""
        for meaning in (Meaning.BOOTING, Meaning.SHUTTING_DOWN, Meaning.OFF):
            if meaning in self._meanings:
                return meaning
        return "on"

    @property
    def _meanings(self) -> set[Meaning]:
        return {MEANINGS[word] for word in self.words if word in MEANINGS}


def state_of(text: str) -> State:
    """Words of a text such as `IDLE*+DRAIN`."""
    words: dict[str, None] = {}
    for part in text.upper().split("+"):
        word = part.strip().rstrip("".join(SIGNS))
        signs = part.strip()[len(word) :]
        words |= dict.fromkeys(filter(None, (SPELLINGS.get(word, word), *(SIGNS[sign] for sign in signs))))
    return State(tuple(words))
