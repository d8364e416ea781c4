"""Predicts by the last two jobs (Tsafrir et al. 2007) or the last similar job."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict, deque
from collections.abc import Collection, Hashable, Iterator, Mapping

import numpy as np

from dardis.model.addresses import JobId
from dardis.model.arrays import Ints
from dardis.model.job import Job
from dardis.predict.base import Prediction, clip_duration, name_stem

LAST = 2


def _by_recent(recent: Collection[int], walltime: int, share: float) -> int:
    return sum(recent) // len(recent) if recent else int(walltime * share)


class LastTwoRuntimes:
    """Runtimes of ended jobs: `finish` and `duration` in s, shape (jobs,).

    Jobs without user ("") share no history.
    """

    def __init__(self, finish: Ints, duration: Ints, user: list[str], walltime: Ints) -> None:
        order = np.argsort(finish, kind="stable")
        self._finish: dict[str, list[int]] = defaultdict(list)
        self._duration: dict[str, list[int]] = defaultdict(list)
        for place in (place for place in order.tolist() if user[place]):
            self._finish[user[place]].append(int(finish[place]))
            self._duration[user[place]].append(int(duration[place]))
        self._ended = finish[order]
        used = np.cumsum(duration[order]) / np.maximum(np.cumsum(walltime[order]), 1)
        self._share = np.concatenate([[1.0], used])
        """Share of walltimes used by ended jobs."""

    def runtime(self, user: str, walltime: int, now: int, elapsed: int = 0) -> int:
        """Expected runtime (s), at most the walltime.

        Mean of the user's last two jobs, else the usual share of the walltime. If exceeded by `elapsed` s, twice
        `elapsed`: for single queries, 11 to 32 % less error than published corrections on four of five traces
        (docs/planning.md).
        """
        known = bisect_right(self._finish.get(user, []), now)
        recent = self._duration[user][max(known - LAST, 0) : known] if known else []
        expected = _by_recent(recent, walltime, self._share[bisect_right(self._ended, now)])
        if elapsed >= expected:
            expected = 2 * elapsed
        return max(min(expected, walltime), 1, min(elapsed + 1, walltime))


class LastTwoPredictor:
    """`LastTwoRuntimes` for jobs as they arrive and end."""

    def __init__(self) -> None:
        self._recent: dict[str, deque[int]] = {}
        self._ran = self._asked = 0

    def predict(self, job: Job, now: int) -> Prediction:  # noqa: ARG002
        """Predict by the user's last two jobs, else usual walltime use; without user, the walltime."""
        if not job.user:
            return Prediction(job.walltime, "walltime")
        recent = self._recent.get(job.user, ())
        share = self._ran / self._asked if self._asked else 1.0
        which = ("share of all walltimes", "the user's last job", "the user's last two jobs")
        rule = which[len(recent)]
        return Prediction(clip_duration(job, _by_recent(recent, job.walltime, share)), rule)

    def observe(self, job: Job, ran: int, now: int) -> None:  # noqa: ARG002
        """Learn, if the user is known."""
        if not job.user:
            return
        self._recent.setdefault(job.user, deque(maxlen=LAST)).append(ran)
        self._ran += ran
        self._asked += job.walltime


class WalltimePredictor:
    """Predicts the walltime."""

    def predict(self, job: Job, now: int) -> Prediction:  # noqa: ARG002
        """Walltime."""
        return Prediction(job.walltime, "walltime")

    def observe(self, job: Job, ran: int, now: int) -> None:
        """Ignore the runtime."""


class RealRuntimePredictor:
    """Predicts the real runtime, unknown to schedulers."""

    def __init__(self, durations: Mapping[JobId, int]) -> None:
        self._durations = durations

    def predict(self, job: Job, now: int) -> Prediction:  # noqa: ARG002
        """Real runtime."""
        return Prediction(clip_duration(job, self._durations[job.number]), "real")

    def observe(self, job: Job, ran: int, now: int) -> None:
        """Ignore the runtime."""


_RULES = (
    ("user", "name", "queue", "walltime", "request"),
    ("user", "stem", "queue", "walltime", "request"),
    ("user", "name", "queue", "walltime"),
    ("user", "stem", "queue", "walltime"),
    ("user", "name"),
    ("user", "stem"),
)
"""Shared fields of similar jobs; `stem`: name without trailing digits."""
Kind = tuple[str, tuple[Hashable, ...]]
"""Rule, and shared values."""


class SimilarJobPredictor:
    """Predicts the last runtime of similar jobs; ignores unstated fields.

    Where users are stated, jobs without user share no history.
    """

    def __init__(self) -> None:
        self._last: dict[Kind, int] = {}
        self._walltime = WalltimePredictor()
        self._users_stated = False

    def has_history(self, job: Job) -> bool:
        """Whether the job can share history."""
        self._users_stated = self._users_stated or job.user != ""
        return job.user != "" or not self._users_stated

    def predict(self, job: Job, now: int) -> Prediction:
        """Predict by the most similar job, else the walltime."""
        for kind in _kinds(job) if self.has_history(job) else ():
            if (ran := self._last.get(kind)) is not None:
                return Prediction(clip_duration(job, ran), kind[0])
        return self._walltime.predict(job, now)

    def observe(self, job: Job, ran: int, now: int) -> None:  # noqa: ARG002
        """Record the runtime."""
        for kind in _kinds(job) if self.has_history(job) else ():
            self._last[kind] = ran


def _kinds(job: Job) -> Iterator[Kind]:
    stated: dict[str, Hashable] = {
        "user": job.user, "name": job.name, "stem": name_stem(job.name), "queue": job.queue,
        "walltime": job.walltime, "request": (job.units, *job.request),
    }  # fmt: skip
    known: set[str] = set()
    for rule in _RULES:
        fields = [field for field in rule if stated[field] != ""]
        words = " ".join(fields)
        if fields and words not in known:
            known.add(words)
            yield words, tuple(stated[field] for field in fields)
