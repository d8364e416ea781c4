"""Predictor interface, and correction of exceeded predictions (Tsafrir et al. 2007)."""

from __future__ import annotations

from itertools import accumulate
from typing import NamedTuple, Protocol

from dardis.model.job import Job


class Prediction(NamedTuple):
    """Expected duration in s, from 1 to the walltime, and rule."""

    duration: int
    rule: str


class Predictor(Protocol):
    """Predicts runtimes from ended jobs."""

    def predict(self, job: Job, now: int) -> Prediction:
        """Predict the runtime of a job on arrival."""
        ...

    def observe(self, job: Job, ran: int, now: int) -> None:
        """Record a runtime (s); `predict` was called for the job."""
        ...


def within(job: Job, seconds: float) -> int:
    """Clip to whole seconds from 1 to the walltime."""
    return max(min(int(seconds), job.walltime), 1)


_MINUTE, _HOUR = 60, 3_600
STEPS = (
    *(minutes * _MINUTE for minutes in (1, 5, 15, 30)),
    *(hours * _HOUR for hours in (1, 2, 5, 10, 20, 50, 100)),
)
"""Seconds added by successive corrections; the walltime follows the last."""


def corrected(predicted: int, walltime: int, elapsed: int) -> int:
    """Expected duration in s after `elapsed` s, at most the walltime.

    Each expired prediction is raised by the next step at expiry, independent of the time of the call.
    """
    for duration in accumulate(STEPS, initial=predicted):
        if duration > elapsed:
            return min(duration, walltime)
    return walltime
