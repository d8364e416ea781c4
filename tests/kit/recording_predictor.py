"""A predictor for tests: it says what it is told, and keeps what it hears."""

from __future__ import annotations

from collections.abc import Mapping

from dardis.model.job import Job
from dardis.predict import Prediction


class Foreseen:
    """Predicts these durations, by job number; of others their walltimes."""

    def __init__(self, expected: Mapping[int, int]) -> None:
        self._expected = expected
        self.heard: list[tuple[str, int, int]] = []
        """Asked or ended, which job, and when."""

    def predict(self, job: Job, now: int) -> Prediction:
        self.heard.append(("asked", job.number, now))
        return Prediction(self._expected.get(job.number, job.walltime), "foreseen")

    def observe(self, job: Job, ran: int, now: int) -> None:
        assert ran <= job.walltime
        self.heard.append(("ended", job.number, now))
