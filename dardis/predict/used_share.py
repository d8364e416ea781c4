"""Predicts by the share of their walltimes that similar jobs used."""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from dardis.model.job import Job
from dardis.predict.base import Prediction, clip_duration, name_stem

DECAY = 0.6
"""Weight of a job relative to the next ended job of its kind."""
PRIOR = 0.7
"""Weight of a kind's mean share among jobs of the next finer kind."""
MOST_KINDS = 100_000
"""Kinds that are kept: those with the latest ends."""


class UsedSharePredictor:
    """Walltime times the mean used share of similar ended jobs, the latest with most weight.

    Kinds: all jobs, those of the user, and of these in turn those with the same walltime, request, and name without
    final digits. Each kind's mean counts as `PRIOR` jobs of the next finer kind. A job without user takes the share of
    all, and is not learned from.
    """

    def __init__(self) -> None:
        self._sums: dict[tuple[Hashable, ...], tuple[float, float]] = {}
        """By kind: weight of its ended jobs, and their weighted shares."""

    def predict(self, job: Job, now: int) -> Prediction:  # noqa: ARG002
        """Predict by the finest kinds that have ended jobs; without any, by walltime."""
        share, prior, rule = 1.0, 1.0, "walltime"
        for name, kind in _kinds(job):
            known = self._sums.get(kind)
            if known is not None:
                weight, shares = known
                share, rule = (shares + prior * share) / (weight + prior), name
            prior = PRIOR
        return Prediction(clip_duration(job, share * job.walltime), rule)

    def observe(self, job: Job, ran: int, now: int) -> None:  # noqa: ARG002
        """Learn, if the user is known."""
        if not job.user:
            return
        share = min(ran / job.walltime, 1.0)
        for _, kind in _kinds(job):
            weight, shares = self._sums.pop(kind, (0.0, 0.0))
            self._sums[kind] = weight * DECAY + 1.0, shares * DECAY + share
        while len(self._sums) > MOST_KINDS:
            del self._sums[next(iter(self._sums))]


def _kinds(job: Job) -> Iterator[tuple[str, tuple[Hashable, ...]]]:
    yield "all jobs", ()
    if job.user:
        yield "user", (job.user,)
        yield "user, walltime", (job.user, job.walltime)
        yield "user, walltime, request", (job.user, job.walltime, job.amounts)
        if job.name:
            yield "user, walltime, request, name", (job.user, job.walltime, job.amounts, name_stem(job.name))
