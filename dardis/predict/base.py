"""Predictor interface, and correction of exceeded predictions (Tsafrir et al. 2007)."""

from __future__ import annotations

from itertools import accumulate
from string import digits
from typing import NamedTuple, Protocol

from dardis.model.job import Job


class Prediction(NamedTuple):
    """Expected duration (s, at most the walltime) and rule."""

    duration: int
    rule: str


class Predictor(Protocol):
    """Predicts runtimes from ended jobs."""

    def predict(self, job: Job, now: int) -> Prediction:
        """Predict a runtime on arrival."""
        ...

    def observe(self, job: Job, ran: int, now: int) -> None:
        """Record a runtime (s) at the job's end."""
        ...


def clip_duration(job: Job, seconds: float) -> int:
    """Clip to 1 s … walltime."""
    return max(min(int(seconds), job.walltime), 1)


def name_stem(name: str) -> str:
    """Name without final digits, if anything is left."""
    return name.rstrip(digits) or name


_MINUTE, _HOUR = 60, 3_600
STEPS = (
    *(minutes * _MINUTE for minutes in (1, 5, 15, 30)),
    *(hours * _HOUR for hours in (1, 2, 5, 10, 20, 50, 100)),
)
"""Seconds added by successive corrections; then the walltime holds."""


def raise_prediction(predicted: int, walltime: int, elapsed: int) -> int:
    """Expected duration (s) after `elapsed` s.

    Predictions rise at expiry, independent of calls.
    """
    for duration in accumulate(STEPS, initial=predicted):
        if duration > elapsed:
            return min(duration, walltime)
    return walltime
