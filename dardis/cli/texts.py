"""What the texts of options mean where these are days; a text that is none is an InputError."""

from __future__ import annotations

from dardis.config.option_texts import whole_of

LATEST_DAY = 10**6


def days_of(text: str) -> tuple[int, int]:
    """What `--days` says: first and last day of `A-B`, or one day."""
    expected = "A-B, UTC days from 0, both included"
    first, dash, last = text.partition("-")
    low = whole_of("--days", first, 0, LATEST_DAY, expected, text)
    return low, whole_of("--days", last, low, LATEST_DAY, expected, text) if dash else low
