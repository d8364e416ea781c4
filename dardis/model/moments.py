"""UTC moments and time spans `[start, end)`."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime


def utc_text(unix_s: int, *, seconds: bool = False) -> str:
    """Format a moment as `2023-07-03T00:00Z`, optionally with seconds."""
    return datetime.fromtimestamp(unix_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ" if seconds else "%Y-%m-%dT%H:%MZ")


def parse_utc(text: str) -> int:
    """Unix seconds of an ISO 8601 moment since 1970, UTC by default. Raises ValueError."""
    moment = datetime.fromisoformat(text)
    unix = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    if unix < 0 or unix != int(unix):
        raise ValueError(f"{text!r} is not a time since 1970 in whole seconds")
    return int(unix)


def states_offset(text: str) -> bool:
    """Whether an ISO 8601 moment states a UTC offset."""
    return datetime.fromisoformat(text).utcoffset() is not None


def united(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Merge spans: ascending and separate."""
    found: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((start, end))
    return found
