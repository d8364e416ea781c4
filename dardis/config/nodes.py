"""Decides how files name nodes."""

from __future__ import annotations

from dardis.model.limits import MOST_NODES
from dardis.model.numbers import whole_number


def node_numbers(value: object) -> list[int]:
    """Read `"0-3 7"` or `[0, 1, 2, 3, 7]`."""
    expected = 'an interval set such as "0-3 7" or a list of node numbers'
    if isinstance(value, list) and all(type(number) is int and number >= 0 for number in value) and value:
        return sorted(set(value))
    if not isinstance(value, str) or not value.split():
        raise ValueError(f"{value!r}; expected {expected}")
    numbers: set[int] = set()
    for part in value.split():
        first, dash, last = part.partition("-")
        try:
            low = whole_number(first, 0, MOST_NODES - 1)
            high = whole_number(last, low, MOST_NODES - 1) if dash else low
        except ValueError:
            raise ValueError(f"{part!r}; expected {expected}") from None
        numbers.update(range(low, high + 1))
    return sorted(numbers)
