"""Predicts runtimes by each user's last two jobs (Tsafrir, Etsion and Feitelson 2007), and only by the past."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict

import numpy as np

from dardis.model.arrays import Ints

LAST = 2


class LastTwo:
    """What is known of jobs once they have ended: `finish` and `duration` in s, shape (jobs,), and whose they were."""

    def __init__(self, finish: Ints, duration: Ints, user: list[str], walltime: Ints) -> None:
        """Take the jobs of the past in any order; those that end later are not looked at until then."""
        order = np.argsort(finish, kind="stable")
        self._finish: dict[str, list[int]] = defaultdict(list)
        self._duration: dict[str, list[int]] = defaultdict(list)
        for place in order.tolist():
            self._finish[user[place]].append(int(finish[place]))
            self._duration[user[place]].append(int(duration[place]))
        self._ended = finish[order]
        used = np.cumsum(duration[order]) / np.maximum(np.cumsum(walltime[order]), 1)
        self._share = np.concatenate([[1.0], used])
        """Of the walltimes of all jobs that had ended: what they used."""

    def runtime(self, user: str, walltime: int, now: int, elapsed: int = 0) -> int:
        """Expected runtime in s of a job of this user, from 1 to its walltime.

        The mean of his last two; without any, the share of their walltimes that all jobs have used. A job that has run
        for `elapsed` s and longer than that is expected to run as long again.
        """
        known = bisect_right(self._finish.get(user, []), now)
        if known:
            recent = self._duration[user][max(known - LAST, 0) : known]
            expected = sum(recent) // len(recent)
        else:
            expected = int(walltime * self._share[bisect_right(self._ended, now)])
        if elapsed >= expected:
            expected = 2 * elapsed
        return max(min(expected, walltime), 1, min(elapsed + 1, walltime))
