"""Slurm node states and meanings."""

from __future__ import annotations

from enum import StrEnum
from typing import Final, NamedTuple


class Meaning(StrEnum):
    """Meaning of a state word."""

    NOTHING = "nothing"
    """Accepts jobs as before."""
    BUSY = "busy"
    """Has jobs."""
    CLOSED = "closed"
    """Accepts no jobs."""
    SILENT = "closed unless off, booting or shutting down"
    """Does not respond, as expected without power."""
    OFF = "off"
    SHUTTING_DOWN = "shutting down"
    BOOTING = "booting"


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
"""A node has exactly one."""

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
"""A node may have several."""

SPELLINGS: Final = {
    "ALLOC": "ALLOCATED", "MIX": "MIXED", "COMP": "COMPLETING", "ERR": "ERROR", "FUTR": "FUTURE", "UNK": "UNKNOWN",
    "DRAINED": "DRAIN", "DRAINING": "DRAIN", "DRNG": "DRAIN", "FAILING": "FAIL", "FAILG": "FAIL",
    "MAINT": "MAINTENANCE", "RES": "RESERVED", "RESV": "RESERVED",
    "NO_RESPOND": "NOT_RESPONDING", "PLND": "PLANNED", "NPC": "PERFCTRS",
    "NET": "PERFCTRS", "POWER": "POWERED_DOWN", "POWER_SAVE": "POWERED_DOWN", "POWER_SAVING": "POWERED_DOWN",
    "POW_DN": "POWERING_DOWN", "POW_UP": "POWERING_UP", "REBOOT": "REBOOT_REQUESTED",
    "REBOOT_CANCELED": "REBOOT_CANCEL", "BOOT": "REBOOT_ISSUED", "BLOCK": "BLOCKED",
}  # fmt: skip
"""Spellings of old versions, `sinfo` and REST."""

SIGNS: Final = {
    "*": "NOT_RESPONDING", "~": "POWERED_DOWN", "#": "POWERING_UP", "!": "POWER_DOWN", "%": "POWERING_DOWN",
    "$": "MAINTENANCE", "@": "REBOOT_REQUESTED", "^": "REBOOT_ISSUED", "-": "PLANNED",
}  # fmt: skip
"""State suffixes of `sinfo` and old versions."""

MEANINGS: Final = BASE_STATES | FLAGS


class State(NamedTuple):
    """State words, normalised; unknown words in capitals."""

    words: tuple[str, ...] = ()

    @property
    def unknown(self) -> tuple[str, ...]:
        """Unknown words, which close the node."""
        return tuple(word for word in self.words if word not in MEANINGS)

    @property
    def closing(self) -> tuple[str, ...]:
        """Words that close the node, unless a boot suffices."""
        silent = Meaning.SILENT if self.power == "on" else Meaning.CLOSED
        return tuple(word for word in self.words if MEANINGS.get(word, Meaning.CLOSED) in {Meaning.CLOSED, silent})

    @property
    def is_busy(self) -> bool:
        """Whether jobs hold the node."""
        return Meaning.BUSY in self._meanings

    @property
    def power(self) -> Meaning | str:
        """BOOTING, SHUTTING_DOWN, OFF or "on". Orders to boot take precedence, then actions over the state before."""
        for meaning in (Meaning.BOOTING, Meaning.SHUTTING_DOWN, Meaning.OFF):
            if meaning in self._meanings:
                return meaning
        return "on"

    @property
    def _meanings(self) -> set[Meaning]:
        return {MEANINGS[word] for word in self.words if word in MEANINGS}


def state_of(text: str) -> State:
    """Parse a text such as `IDLE*+DRAIN`."""
    words: dict[str, None] = {}
    for part in text.upper().split("+"):
        word = part.strip().rstrip("".join(SIGNS))
        signs = part.strip()[len(word) :]
        words |= dict.fromkeys(filter(None, (SPELLINGS.get(word, word), *(SIGNS[sign] for sign in signs))))
    return State(tuple(words))
