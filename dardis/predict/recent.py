"""Predicts runtimes by earlier jobs: a user's last two (Tsafrir et al. 2007), or the last one alike."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict, deque
from collections.abc import Collection, Hashable, Iterator, Mapping
from string import digits

import numpy as np

from dardis.model.addresses import JobId
from dardis.model.arrays import Ints
from dardis.model.job import Job
from dardis.predict.base import Prediction, within

LAST = 2


def _by_recent(recent: Collection[int], walltime: int, share: float) -> int:
    """The mean of a user's last jobs; without any, that share of the walltime."""
    return sum(recent) // len(recent) if recent else int(walltime * share)


class LastTwo:
    """What is known of jobs once they have ended: `finish` and `duration` in s, shape (jobs,), and whose they were.

    A job whose user is unknown ("") shares no history with any other.
    """

    def __init__(self, finish: Ints, duration: Ints, user: list[str], walltime: Ints) -> None:
        """Take the jobs of the past in any order; those that end later are not looked at until then."""
        order = np.argsort(finish, kind="stable")
        self._finish: dict[str, list[int]] = defaultdict(list)
        self._duration: dict[str, list[int]] = defaultdict(list)
        for place in (place for place in order.tolist() if user[place]):
            self._finish[user[place]].append(int(finish[place]))
            self._duration[user[place]].append(int(duration[place]))
        self._ended = finish[order]
        used = np.cumsum(duration[order]) / np.maximum(np.cumsum(walltime[order]), 1)
        self._share = np.concatenate([[1.0], used])
        """Of the walltimes of all jobs that had ended: what they used."""

    def runtime(self, user: str, walltime: int, now: int, elapsed: int = 0) -> int:
        """Expected runtime in s of a job of this user, from 1 to its walltime.

        The mean of his last two; without any, the share of their walltimes that all jobs have used. A job that has run
        for `elapsed` s and longer than that is expected to run as long again. A planner asks once: at a random moment
        this errs less than the published correction steps, by 11 to 32 % on four of five traces (docs/planning.md).
        """
        known = bisect_right(self._finish.get(user, []), now)
        recent = self._duration[user][max(known - LAST, 0) : known] if known else []
        expected = _by_recent(recent, walltime, self._share[bisect_right(self._ended, now)])
        if elapsed >= expected:
            expected = 2 * elapsed
        return max(min(expected, walltime), 1, min(elapsed + 1, walltime))


class LastTwoOnline:
    """The same of jobs as they arrive and end; one whose user is unknown shares no history with any other."""

    def __init__(self) -> None:
        """Nothing has ended."""
        self._recent: dict[str, deque[int]] = {}
        self._ran = self._asked = 0

    def predict(self, job: Job, now: int) -> Prediction:  # noqa: ARG002
        """By the user's last two jobs, or by what all have used of their walltimes; its walltime without a user."""
        if not job.user:
            return Prediction(job.walltime, "walltime")
        recent = self._recent.get(job.user, ())
        share = self._ran / self._asked if self._asked else 1.0
        which = ("share of all walltimes", "the user's last job", "the user's last two jobs")
        rule = which[len(recent)]
        return Prediction(within(job, _by_recent(recent, job.walltime, share)), rule)

    def observe(self, job: Job, ran: int, now: int) -> None:  # noqa: ARG002
        """One more, if its user is known."""
        if not job.user:
            return
        self._recent.setdefault(job.user, deque(maxlen=LAST)).append(ran)
        self._ran += ran
        self._asked += job.walltime


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


_RULES = (
    ("user", "name", "queue", "walltime", "request"),
    ("user", "stem", "queue", "walltime", "request"),
    ("user", "name", "queue", "walltime"),
    ("user", "stem", "queue", "walltime"),
    ("user", "name"),
    ("user", "stem"),
)
"""What two jobs must share to be alike; `stem` is a name without the number at its end."""
Kind = tuple[str, tuple[Hashable, ...]]
"""The rule, in words, and what jobs of this kind share."""


class LastAlike:
    """How long the last job ran of each kind. What a job does not state drops out of what makes it alike.

    But where others state their users, a job whose user is unknown shares no history with any other.
    """

    def __init__(self) -> None:
        """Nothing has ended."""
        self._last: dict[Kind, int] = {}
        self._walltime = Walltime()
        self._users_stated = False
        """Whether any job that was asked about has stated its user."""

    def shares(self, job: Job) -> bool:
        """Whether the job has a history in common with others."""
        self._users_stated = self._users_stated or job.user != ""
        return job.user != "" or not self._users_stated

    def predict(self, job: Job, now: int) -> Prediction:
        """As the last one ran that is most alike; without any, its walltime."""
        for kind in _kinds(job) if self.shares(job) else ():
            if (ran := self._last.get(kind)) is not None:
                return Prediction(within(job, ran), kind[0])
        return self._walltime.predict(job, now)

    def observe(self, job: Job, ran: int, now: int) -> None:  # noqa: ARG002
        """One more of its kinds."""
        for kind in _kinds(job) if self.shares(job) else ():
            self._last[kind] = ran


def _kinds(job: Job) -> Iterator[Kind]:
    """The kinds that a job is of, those first that share most."""
    stated: dict[str, Hashable] = {
        "user": job.user, "name": job.name, "stem": job.name.rstrip(digits) or job.name, "queue": job.queue,
        "walltime": job.walltime, "request": (job.units, *job.request),
    }  # fmt: skip
    known: set[str] = set()
    for rule in _RULES:
        fields = [field for field in rule if stated[field] != ""]
        words = " ".join(fields)
        if fields and words not in known:
            known.add(words)
            yield words, tuple(stated[field] for field in fields)
