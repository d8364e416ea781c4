"""Resource kinds and amounts, and the limits of numbers and texts that files state, as types of fields.

A resource vector is a tuple of integers in the order of a platform's `kinds`; memory counts MiB.
"""

from __future__ import annotations

import math
import re
from typing import Annotated

from annotated_types import Ge, Gt, Le, MinLen

from dardis.model.numbers import whole_number

CORES = "cores"
MEMORY = "memory"
POWER = "power"
"""A resource kind like any other when jobs state watts; one unit is 1 W."""

_MEBIBYTES = {
    "": 1.0,
    "k": 1e3 / 2**20, "m": 1e6 / 2**20, "g": 1e9 / 2**20, "t": 1e12 / 2**20,
    "ki": 2.0**-10, "mi": 1.0, "gi": 2.0**10, "ti": 2.0**20,
}  # fmt: skip
_QUANTITY = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(?:([kmgt]i?)?b)?\s*", re.IGNORECASE | re.ASCII)
KIND_NAME = re.compile(r"[a-z][a-z0-9_]*")


def kind_of_gres(name: str) -> str | None:
    """The kind by which Slurm's generic resource of a name is called, `nic_ib` for `NIC-ib`; None where it can't be."""
    kind = name.lower().replace("-", "_").replace(".", "_")
    return kind if KIND_NAME.fullmatch(kind) and kind not in {CORES, MEMORY, POWER} else None


def kind_of_type(kind: str, type_: str) -> str | None:
    """The kind by which one type of a generic resource is called, `gpu_a100`; None where it can't be."""
    return kind_of_gres(f"{kind}_{type_}")


def parse_amount(kind: str, value: int | str, *, round_up: bool = False) -> int:
    """Return the amount of `kind` as an integer; memory may say its unit (`"16GiB"`) and becomes MiB.

    A part of a MiB is dropped, or counts as a whole one with `round_up` (for what is asked, not what is there).

    Raises ValueError when the value is no amount, is negative, or has a unit and is no memory.
    """
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise ValueError(f"{value!r} is not a whole number")
    if isinstance(value, int):
        if value < 0:
            raise ValueError(f"{value} is negative")
        return value
    match = _QUANTITY.fullmatch(value)
    if match is None:
        raise ValueError(f"{value!r} is not an amount")
    number, unit = match.groups()
    if kind != MEMORY:
        if unit is not None or "b" in value.lower() or "." in number:
            raise ValueError(f"{value!r} is not a whole number")
        return whole_number(number)
    bytes_alone = unit is None and "b" in value.lower()
    amount = float(number) * (2.0**-20 if bytes_alone else _MEBIBYTES[(unit or "").lower()])
    if amount >= 2**53:
        raise ValueError(f"{value!r} is more memory than there is")
    return math.ceil(amount) if round_up else int(amount)


def amount_in_words(kind: str, amount: int) -> str:
    """The amount for people: `16 cores`, `32 GiB memory`."""
    if kind != MEMORY:
        return f"{amount} {'W power' if kind == POWER else kind}"
    return f"{amount / 1024:g} GiB memory" if amount >= 1024 else f"{amount} MiB memory"


LATEST = 1 << 40
"""Times lie within this many seconds of 0."""
BEFORE_ALL = -(1 << 41)
"""Before every time that a file may state."""
NOBODY_KNOWS = 1 << 50
"""When something ends of which nobody has said so: later than all times that files may state."""
MAX_GROUPS = 1 << 14
"""Node groups a platform may have."""
MOST_NODES = 10_000_000
LARGEST_AMOUNT = (1 << 31) - 1
"""Of one kind on one node: the fixed-point fitting index (2^20 a unit) then fits 64 bits."""
LARGEST_CORES = 1 << 20

Time = Annotated[int, Ge(-LATEST), Le(LATEST)]
Seconds = Annotated[int, Ge(0), Le(LATEST)]
Edge = Annotated[int, Ge(BEFORE_ALL), Le(NOBODY_KNOWS)]
"""When a span begins or ends: at a time, before all of them, or nobody knows when."""
Count = Annotated[int, Ge(0), Le(LATEST)]
Limit = Annotated[int, Ge(1), Le(LATEST)]
"""The most of something, which is at least 1."""
Priority = Annotated[int, Ge(-1_000_000), Le(1_000_000)]
Amount = Annotated[float, Ge(0)]
Above0 = Annotated[float, Gt(0)]
Watts = Annotated[float, Ge(0), Le(1e9)]
Text = Annotated[str, MinLen(1)]
