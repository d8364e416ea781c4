"""What the texts of options mean where these are whole numbers; a text that is none is an InputError."""

from __future__ import annotations

from dardis.model.errors import InputError
from dardis.model.numbers import whole_number

LATEST_DAY = 10**6


def whole_of(option: str, text: str, least: int, most: int, expected: str, whole: str | None = None) -> int:
    """The whole number of `[least, most]` that an option says, or a part of the `whole` that it says."""
    try:
        return whole_number(text, least, most)
    except ValueError:
        raise InputError(option, repr(text if whole is None else whole), expected) from None


def days_of(text: str) -> tuple[int, int]:
    """What `--days` says: first and last day of `A-B`, or one day."""
    expected = "A-B, UTC days from 0, both included"
    first, dash, last = text.partition("-")
    low = whole_of("--days", first, 0, LATEST_DAY, expected, text)
    return low, whole_of("--days", last, low, LATEST_DAY, expected, text) if dash else low
