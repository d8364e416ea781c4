"""Limits of Slurm, learned from failed attempts. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from dardis.slurm.steered_job import SteeredJob

RETRY_S: Final = 60
"""Pause after a failed attempt; it doubles each time."""
LONGEST_RETRY_S: Final = 960
_LIMITS: Final = ("QOS", "Assoc", "Licenses", "Max")
_OF_JOB: Final = ("PerJob", "WallDuration")
_MOST_TRIES: Final = 64
"""More starts at once: the limit is forgotten."""


@dataclass(slots=True)
class _Limit:
    """`until`: its jobs wait; then `tries` at once."""

    until: int = 0
    pause: int = RETRY_S
    tries: int = 1


class LearnedLimits:
    """Known limits by name."""

    def __init__(self) -> None:
        self._limits: dict[str, _Limit] = {}
        self._limited: dict[str, str] = {}

    def on_wait(self, label: str, one: SteeredJob) -> None:
        """Note the limit of a job's reason."""
        self._limited[label] = _limits_of(one)[one.job.reason.startswith("Licenses")]

    def on_failure(self, label: str, reason: str, now: int) -> bool:
        """Whether a limit of several jobs kept the job from starting; they all wait."""
        name = self._limited.pop(label, "")
        if not name or not reason.startswith(_LIMITS) or any(part in reason for part in _OF_JOB):
            return False
        limit = self._limits.setdefault(name, _Limit())
        if limit.until <= now:
            limit.until, limit.pause = now + limit.pause, min(2 * limit.pause, LONGEST_RETRY_S)
            limit.tries = 1
        return True

    def on_success(self, label: str, now: int) -> None:
        """Twice as many may try."""
        limit = self._limits.get(name := self._limited.pop(label, ""))
        if limit is not None:
            limit.until, limit.pause, limit.tries = now, RETRY_S, 2 * limit.tries
            if limit.tries > _MOST_TRIES:
                del self._limits[name]

    def delays(self, one: SteeredJob, now: int) -> bool:
        """Whether a known limit delays the job."""
        return any(self._limits[name].until > now for name in _limits_of(one) if name in self._limits)

    def permitted(
        self, starts: Iterable[tuple[str, SteeredJob]], pins: Iterable[str], retry: Mapping[str, tuple[int, int]]
    ) -> set[str]:  # fmt: skip
        """Few starts under each limit, first of jobs that failed least; `pins` try already."""
        tried = Counter(self._limited[label] for label in pins if label in self._limited)
        permitted = set()
        for label, one in sorted(starts, key=lambda start: retry.get(start[0], (0, 0))[1]):
            names = [name for name in _limits_of(one) if name in self._limits]
            if all(tried[name] < self._limits[name].tries for name in names):
                permitted.add(label)
                tried.update(names)
                self._limited |= dict.fromkeys([label], names[-1]) if names else {}
        return permitted

    def keep(self, labels: set[str]) -> None:
        """Forget jobs other than these."""
        for label in self._limited.keys() - labels:
            del self._limited[label]


def _limits_of(one: SteeredJob) -> tuple[str, str]:
    return f"limits of {one.job.user}, {one.account}, {one.job.qos}", f"licences {one.licences}"
