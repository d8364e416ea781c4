"""The interface of runtime predictors, and the correction of outlived predictions (Tsafrir et al. 2007)."""

from __future__ import annotations

from itertools import accumulate
from typing import NamedTuple, Protocol

from dardis.model.job import Job


class Prediction(NamedTuple):
    """How long a job is expected to run, in s, from 1 to its walltime, and by which rule."""

    duration: int
    rule: str


class Predictor(Protocol):
    """Says how long jobs will run, by what is known of those that have ended."""

    def predict(self, job: Job, now: int) -> Prediction:
        """How long a job will run that arrives now."""
        ...

    def observe(self, job: Job, ran: int, now: int) -> None:
        """A job has ended now, which it was asked about, that has run for `ran` s."""
        ...


def within(job: Job, seconds: float) -> int:
    """The seconds that it may run of these: whole, at least 1, at most its walltime."""
    return max(min(int(seconds), job.walltime), 1)


_MINUTE, _HOUR = 60, 3_600
STEPS = (
    *(minutes * _MINUTE for minutes in (1, 5, 15, 30)),
    *(hours * _HOUR for hours in (1, 2, 5, 10, 20, 50, 100)),
)
"""By how many seconds the first, the second, … correction raises a prediction; after the last the walltime stands."""


def corrected(predicted: int, walltime: int, elapsed: int) -> int:
    """How long a job is expected to run that has run for `elapsed` s, in s, at most its walltime.

    A prediction that has not expired stands. Each that has is raised by the next step at the instant at which it
    expired, so the answer does not depend on how often or when it is asked for.
    """
    for duration in accumulate(STEPS, initial=predicted):
        if duration > elapsed:
            return min(duration, walltime)
    return walltime
