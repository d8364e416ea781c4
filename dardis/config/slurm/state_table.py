"""Slurm node states and meanings."""

from __future__ import annotations

from enum import StrEnum
from typing import Final, NamedTuple


class StateMeaning(StrEnum):
    """Meaning of a state word."""

    NOTHING = "nothing"
    """Accepts jobs as before."""
    BUSY = "busy"
    """Has jobs."""
    CLOSED = "closed"
    """Accepts no jobs."""
    UNRESPONSIVE = "closed unless off, booting or shutting down"
    """Does not respond, as expected without power."""
    OFF = "off"
    SHUTTING_DOWN = "shutting down"
    BOOTING = "booting"


BASE_STATES: Final = {
    "IDLE": StateMeaning.NOTHING,
    "ALLOCATED": StateMeaning.BUSY,
    "MIXED": StateMeaning.BUSY,
    "DOWN": StateMeaning.CLOSED,
    "ERROR": StateMeaning.CLOSED,
    "FUTURE": StateMeaning.CLOSED,
    "UNKNOWN": StateMeaning.CLOSED,
    "INVAL": StateMeaning.CLOSED,
}
"""A node has exactly one."""

FLAGS: Final = {
    "CLOUD": StateMeaning.NOTHING,
    "DYNAMIC": StateMeaning.NOTHING,
    "DYNAMIC_FUTURE": StateMeaning.NOTHING,
    "DYNAMIC_NORM": StateMeaning.NOTHING,
    "EXTERNAL": StateMeaning.NOTHING,
    "PLANNED": StateMeaning.NOTHING,
    "BLOCKED": StateMeaning.NOTHING,
    "RESUME": StateMeaning.NOTHING,
    "UNDRAIN": StateMeaning.NOTHING,
    "REBOOT_REQUESTED": StateMeaning.NOTHING,
    "REBOOT_CANCEL": StateMeaning.NOTHING,
    "COMPLETING": StateMeaning.BUSY,
    "DRAIN": StateMeaning.CLOSED,
    "FAIL": StateMeaning.CLOSED,
    "MAINTENANCE": StateMeaning.CLOSED,
    "RESERVED": StateMeaning.CLOSED,
    "PERFCTRS": StateMeaning.CLOSED,
    "INVALID_REG": StateMeaning.CLOSED,
    "NOT_RESPONDING": StateMeaning.UNRESPONSIVE,
    "POWERED_DOWN": StateMeaning.OFF,
    "POWER_DOWN": StateMeaning.SHUTTING_DOWN,
    "POWER_DRAIN": StateMeaning.SHUTTING_DOWN,
    "POWERING_DOWN": StateMeaning.SHUTTING_DOWN,
    "POWER_UP": StateMeaning.BOOTING,
    "POWERING_UP": StateMeaning.BOOTING,
    "REBOOT_ISSUED": StateMeaning.BOOTING,
}
"""A node may have several."""

SPELLINGS: Final = {
    "ALLOC": "ALLOCATED", "MIX": "MIXED", "COMP": "COMPLETING", "ERR": "ERROR", "FUTR": "FUTURE", "UNK": "UNKNOWN",
    "DRAINED": "DRAIN", "DRAINING": "DRAIN", "DRNG": "DRAIN", "FAILING": "FAIL", "FAILG": "FAIL", "INVALID": "INVAL",
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


class SlurmState(NamedTuple):
    """State words, normalised; unknown words in capitals."""

    words: tuple[str, ...] = ()

    @property
    def unknown(self) -> tuple[str, ...]:
        """Unknown words, which close the node."""
        return tuple(word for word in self.words if word not in MEANINGS)

    @property
    def closing(self) -> tuple[str, ...]:
        """Words that close the node, unless a boot suffices."""
        silent = StateMeaning.UNRESPONSIVE if self.power == "on" else StateMeaning.CLOSED
        return tuple(
            word for word in self.words if MEANINGS.get(word, StateMeaning.CLOSED) in {StateMeaning.CLOSED, silent}
        )

    @property
    def is_busy(self) -> bool:
        """Whether jobs hold the node."""
        return StateMeaning.BUSY in self._meanings

    @property
    def power(self) -> StateMeaning | str:
        """BOOTING, SHUTTING_DOWN, OFF or "on"; orders to boot come first, then actions, then states before."""
        for meaning in (StateMeaning.BOOTING, StateMeaning.SHUTTING_DOWN, StateMeaning.OFF):
            if meaning in self._meanings:
                return meaning
        return "on"

    @property
    def _meanings(self) -> set[StateMeaning]:
        return {MEANINGS[word] for word in self.words if word in MEANINGS}


def state_of(text: str) -> SlurmState:
    """Parse a text such as `IDLE*+DRAIN`."""
    words: dict[str, None] = {}
    for part in text.upper().split("+"):
        word = part.strip().rstrip("".join(SIGNS))
        signs = part.strip()[len(word) :]
        words |= dict.fromkeys(filter(None, (SPELLINGS.get(word, word), *(SIGNS[sign] for sign in signs))))
    return SlurmState(tuple(words))
