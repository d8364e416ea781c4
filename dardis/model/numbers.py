"""Strict parsing: ASCII digits only, unlike Python and NumPy."""

from __future__ import annotations

import math
import re

_WHOLE = re.compile(r"[+-]?[0-9]{1,400}").fullmatch
_WHOLES = re.compile(r"[+-]?[0-9]{1,400}(?:,[+-]?[0-9]{1,400})*+").fullmatch
_DECIMAL = re.compile(r"[+-]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)?").fullmatch
_LONGEST = 400
"""Longest text; the largest float has 309 digits."""
LEAST_INT64, LARGEST_INT64 = -(1 << 63), (1 << 63) - 1


def whole_number(text: str, least: int = LEAST_INT64, most: int = LARGEST_INT64) -> int:
    """Parse a whole number of `[least, most]`. Raises ValueError."""
    if _WHOLE(text) is None:
        raise ValueError(f"{text!r} is not a whole number")
    number = int(text)
    if not least <= number <= most:
        raise ValueError(f"{text!r} is out of range")
    return number


def whole_numbers(texts: list[str], least: int = LEAST_INT64, most: int = LARGEST_INT64) -> list[int] | None:
    """Parse many texts fast; None if any is refused."""
    if not texts:
        return []
    together = ",".join(texts)
    if together.count(",") != len(texts) - 1 or _WHOLES(together) is None:
        return None
    numbers = list(map(int, texts))
    return numbers if least <= min(numbers) and max(numbers) <= most else None


def decimal_number(text: str) -> float:
    """Parse a finite number. Raises ValueError."""
    if len(text) > _LONGEST or _DECIMAL(text) is None or not math.isfinite(number := float(text)):
        raise ValueError(f"{text!r} is not a number")
    return number
