"""Reads times as tables of others have them: stamps without a zone, which are taken for UTC, and parts of seconds."""

from __future__ import annotations

from datetime import UTC, datetime
from math import ceil


def whole_seconds(span: float) -> int:
    """Seconds rounded up, so that no job vanishes; a millionth above is no second more."""
    return ceil(span - 1e-6)


def utc_seconds(stamp: str) -> int:
    """Unix seconds of `2014-03-31 08:51:10`. ValueError for anything else."""
    if not stamp.isascii():  # strptime reads the digits of any script
        raise ValueError(f"{stamp!r} is no time")
    return int(datetime.strptime(stamp, "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC).timestamp())
