"""Predictors that look at no other job: by what the job asks for, and by the truth, against which others are judged."""

from __future__ import annotations

from collections.abc import Mapping

from dardis.model.addresses import JobId
from dardis.model.job import Job
from dardis.predict.base import Prediction, within


class Walltime:
    """Every job runs until its walltime."""

    def predict(self, job: Job, now: int) -> Prediction:  # noqa: ARG002
        """Its walltime."""
        return Prediction(job.walltime, "walltime")

    def observe(self, job: Job, ran: int, now: int) -> None:
        """Nothing is learned."""


class Real:
    """Every job runs as long as it does: no scheduler can have it."""

    def __init__(self, durations: Mapping[JobId, int]) -> None:
        """Know how long each job will run, in s."""
        self._durations = durations

    def predict(self, job: Job, now: int) -> Prediction:  # noqa: ARG002
        """The truth."""
        return Prediction(within(job, self._durations[job.number]), "real")

    def observe(self, job: Job, ran: int, now: int) -> None:
        """It was known."""
