"""Reads stamps without a zone, as two tables have them, and takes them for UTC."""

from __future__ import annotations

from datetime import UTC, datetime


def utc_seconds(stamp: str) -> int:
    """Unix seconds of `2014-03-31 08:51:10`. ValueError for anything else."""
    if not stamp.isascii():  # strptime reads the digits of any script
        raise ValueError(f"{stamp!r} is no time")
    return int(datetime.strptime(stamp, "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC).timestamp())
