"""Predicts by a forest of trees over what a job asks for and what jobs alike have done; scikit-learn grows it.

It is grown anew whenever a fifth more jobs have ended than it has seen, and only from those that have ended.
"""

from __future__ import annotations

from collections import deque
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from dardis.model.addresses import JobId
from dardis.model.arrays import Floats
from dardis.model.job import Job
from dardis.predict.base import Prediction, within
from dardis.predict.recent import LastAlike, LastTwoOnline

if TYPE_CHECKING:
    from sklearn.ensemble import ExtraTreesRegressor

FEWEST, MOST = 100, 10_000
"""Jobs that a forest is grown from: at least, and the last of so many."""
GROWTH = 1.2
"""How many times as many must have ended before it is grown anew."""
TREES, LEAF = 20, 3
"""Trees, and the fewest jobs in a leaf."""
_DAY, _HOUR = 86_400, 3_600


class Learned:
    """A forest that guesses the root of a runtime; before the first has grown, the last job alike.

    A mean of runtimes is what few long jobs make of it, one of logarithms is less than most jobs run. Of 5,000 jobs
    each of HPC2N and KTH 43 and 61 % ran longer than those; 50 % than by roots, whose ratios were the least far from 1.
    """

    def __init__(self, seed: int) -> None:
        """Nothing has ended; `seed` draws the splits that are tried."""
        from sklearn.ensemble import ExtraTreesRegressor  # here, so that to load it is part of no prediction

        self._new_forest = partial(
            ExtraTreesRegressor, TREES, min_samples_leaf=LEAF, random_state=seed % (1 << 32), n_jobs=1
        )
        self._alike, self._recent = LastAlike(), LastTwoOnline()
        self._codes: dict[str, dict[str, int]] = {"user": {}, "name": {}, "queue": {}}
        self._asked: dict[JobId, list[float]] = {}
        """What was known of each job when it arrived, until it ends."""
        self._known: deque[list[float]] = deque(maxlen=MOST)
        self._ran: deque[float] = deque(maxlen=MOST)
        self._ended, self._next = 0, FEWEST
        self._forest: ExtraTreesRegressor | None = None

    def predict(self, job: Job, now: int) -> Prediction:
        """As the forest guesses; a job that shares no history, by its walltime."""
        alike = self._alike.predict(job, now)
        if not self._alike.shares(job):
            return alike
        known = self._asked[job.number] = self._features(job, alike.duration, now)
        if self._forest is None:
            return alike
        row = np.array([known], dtype=np.float32)
        # A tree by itself: the forest's own method takes 860 µs for one job, this 47.
        guess = np.mean([tree.tree_.predict(row)[0, 0] for tree in self._forest.estimators_])
        return Prediction(within(job, round(float(guess) ** 2)), "forest")

    def observe(self, job: Job, ran: int, now: int) -> None:
        """One more to learn from, if it shares its history."""
        known = self._asked.pop(job.number, None)
        if known is None or not self._alike.shares(job):
            return
        self._alike.observe(job, ran, now)
        self._recent.observe(job, ran, now)
        self._known.append(known)
        self._ran.append(ran**0.5)
        self._ended += 1
        if self._ended >= self._next:
            self._next = int(self._ended * GROWTH)
            self._forest = self._grown()

    def _grown(self) -> ExtraTreesRegressor:
        return self._new_forest().fit(np.array(self._known, dtype=np.float32), np.array(self._ran))

    def _features(self, job: Job, alike: int, now: int) -> list[float]:
        """What is known of a job when it arrives, as numbers; names by when they were first seen."""
        codes = [self._code("user", job.user), self._code("name", job.name), self._code("queue", job.queue)]
        amounts: Floats = np.log1p(
            [job.walltime, job.units, *job.request, alike, self._recent.predict(job, now).duration]
        )
        return [*codes, *amounts.tolist(), now % _DAY // _HOUR, now // _DAY % 7]

    def _code(self, field: str, text: str) -> float:
        codes = self._codes[field]
        return codes.setdefault(text, len(codes))
