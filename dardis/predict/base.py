"""What a predictor is: asked when a job arrives, told when one has ended, and pure: it knows nothing else."""

from __future__ import annotations

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
