"""Exit codes of commands that wait for jobs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

TIMED_OUT: Final = 124
UNKNOWN: Final = 125
NOT_STARTED: Final = 126
CANCELLED: Final = 143
_OF_STATES: Final = {"completed": 0, "timeout": TIMED_OUT, "cancelled": CANCELLED, "unknown": UNKNOWN}


def exit_code_of(job: Mapping[str, Any]) -> int:
    """Exit code of a finished job: its own, 128 + signal, or its state's."""
    if (code := _OF_STATES.get(job["state"])) is not None:
        return code
    if job["code"] is not None:
        return int(job["code"]) or 1
    return NOT_STARTED if job["signal"] is None else 128 + int(job["signal"])
