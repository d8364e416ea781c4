"""Limits on unfinished jobs of a user."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Final

from dardis.live.live_jobs import LiveJob, Submission
from dardis.model.errors import InputError

DEFAULT_JOBS: Final = 10_000
MOST_BYTES: Final = 64 << 20
"""Bytes of texts of unfinished jobs."""
_BYTES_EACH: Final = 100


class UserLimits:
    """Usage per user, exact only near a limit."""

    def __init__(self, most_jobs: int, open_jobs: Callable[[], Iterable[LiveJob]]) -> None:
        self._most_jobs, self._open_jobs = most_jobs, open_jobs
        self._jobs: Counter[int] = Counter()
        self._bytes: Counter[int] = Counter()
        self._counted: set[int] = set()

    def add(self, submission: Submission) -> None:
        """Add a submission. Raises InputError above a limit."""
        user, more = submission.user.uid, _bytes_of(submission)
        if not (user in self._counted and self._fits(user, submission.count, more)):
            self._count(user)
            if not self._fits(user, submission.count, more):
                has = f"you would have {self._jobs[user] + submission.count} unfinished jobs"
                has += f", of {(self._bytes[user] + more) >> 20} MiB"
                raise InputError("submit", has, f"at most {self._most_jobs} jobs, of {MOST_BYTES >> 20} MiB")
        self._jobs[user] += submission.count
        self._bytes[user] += more

    def _fits(self, user: int, jobs: int, more: int) -> bool:
        return self._jobs[user] + jobs <= self._most_jobs and self._bytes[user] + more <= MOST_BYTES

    def _count(self, user: int) -> None:
        jobs = [job for job in self._open_jobs() if job.submission.user.uid == user]
        self._counted.add(user)
        self._jobs[user] = len(jobs)
        self._bytes[user] = sum(map(_bytes_of, {job.submission.first: job.submission for job in jobs}.values()))


def _bytes_of(submission: Submission) -> int:
    asked = submission.request
    export = () if isinstance(asked.export, str) else asked.export
    texts = (
        submission.cwd,
        asked.name,
        asked.output,
        asked.error,
        asked.chdir or "",
        asked.stdin or "",
        asked.comment,
        asked.partition,
        *submission.items,
        *export,
    )
    return submission.size + sum(len(text.encode()) for text in texts) + _BYTES_EACH * len(asked.after)
