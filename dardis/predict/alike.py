"""Predicts that a job runs as long as the last one alike (Galleguillos et al., MOD 2017; the heuristic of PCP'19, 5).

Alike is first who has the same user, name, queue, walltime and request, then who shares ever fewer of these; users
often number the names of jobs that run equally long, so a name without its number stands for it where it fails itself.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from string import digits

from dardis.model.job import Job
from dardis.predict.base import Prediction, within
from dardis.predict.recent import Walltime

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
