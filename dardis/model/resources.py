"""Resource kinds and amounts, and limits of numbers and texts in files.

Vectors are integers in the order of a platform's `kinds`. Memory is in MiB.
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
"""One unit is 1 W."""

_MEBIBYTES = {
    "": 1.0,
    "k": 1e3 / 2**20, "m": 1e6 / 2**20, "g": 1e9 / 2**20, "t": 1e12 / 2**20,
    "ki": 2.0**-10, "mi": 1.0, "gi": 2.0**10, "ti": 2.0**20,
}  # fmt: skip
_QUANTITY = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(?:([kmgt]i?)?b)?\s*", re.IGNORECASE | re.ASCII)
KIND_NAME = re.compile(r"[a-z][a-z0-9_]*")


def kind_of_gres(name: str) -> str | None:
    """Kind of a Slurm generic resource (`nic_ib` for `NIC-ib`), or None."""
    kind = name.lower().replace("-", "_").replace(".", "_")
    return kind if KIND_NAME.fullmatch(kind) and kind not in {CORES, MEMORY, POWER} else None


def kind_of_type(kind: str, type_: str) -> str | None:
    """Kind of a generic resource type, such as `gpu_a100`, or None."""
    return kind_of_gres(f"{kind}_{type_}")


def parse_amount(kind: str, value: int | str, *, round_up: bool = False) -> int:
    """Parse an integer amount; memory may have a unit (`"16GiB"`) and becomes MiB. Raises ValueError.

    Fractions of a MiB are dropped, or rounded up with `round_up`.
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
        raise ValueError(f"{value!r} is too large")
    return math.ceil(amount) if round_up else int(amount)


def amount_in_words(kind: str, amount: int) -> str:
    """Format an amount: `16 cores`, `32 GiB memory`."""
    if kind != MEMORY:
        return f"{amount} {'W power' if kind == POWER else kind}"
    return f"{amount / 1024:g} GiB memory" if amount >= 1024 else f"{amount} MiB memory"


LATEST = 1 << 40
"""Maximum distance of times from 0, in s."""
BEFORE_ALL = -(1 << 41)
"""Before every time in files."""
UNKNOWN_END = 1 << 50
"""Later than all times in files."""
MAX_GROUPS = 1 << 14
MOST_NODES = 10_000_000
LARGEST_AMOUNT = (1 << 31) - 1
"""Fitting indices (2^20 per unit) then fit 64 bits."""
MOST_WATTS = 1 << 40
LARGEST_CORES = 1 << 20

Time = Annotated[int, Ge(-LATEST), Le(LATEST)]
Seconds = Annotated[int, Ge(0), Le(LATEST)]
Edge = Annotated[int, Ge(BEFORE_ALL), Le(UNKNOWN_END)]
Count = Annotated[int, Ge(0), Le(LATEST)]
Limit = Annotated[int, Ge(1), Le(LATEST)]
Priority = Annotated[int, Ge(-1_000_000), Le(1_000_000)]
Amount = Annotated[float, Ge(0)]
Above0 = Annotated[float, Gt(0)]
Watts = Annotated[float, Ge(0), Le(1e9)]
Text = Annotated[str, MinLen(1)]
