"""What keeps the jobs of a submission from starting: ends of others, and how many of an array may run at once."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from dardis.live.jobs import LiveJob, State, Submission
from dardis.model.addresses import JobId
from dardis.model.errors import InputError


@dataclass(slots=True)
class Open:
    """A submission not all of whose jobs are over."""

    submission: Submission
    jobs: list[LiveJob]
    waits_for: set[int] = field(default_factory=set)
    """Numbers of the jobs on whose end it depends; an array's first stands for all of it."""
    admitted: int = 0
    """How many of its jobs are with those who decide, or run."""
    behind: deque[LiveJob] = field(default_factory=deque)
    """Those of an array that wait until fewer of it run."""
    left: int = 0
    """How many are not over."""

    @property
    def is_full(self) -> bool:
        """Whether as many of it as may run at once are with those who decide."""
        array = self.submission.asked.array
        return array is not None and array.most is not None and self.admitted >= array.most

    @property
    def waits_in_words(self) -> str:
        """What it waits for; empty: for nobody's end."""
        if not self.waits_for:
            return ""
        return "waits for the end of " + ", ".join(f"job {number}" for number in sorted(self.waits_for))


class Dependencies:
    """Who waits for whose end, of what is open."""

    def __init__(self, submissions: Mapping[int, Open], jobs: Mapping[JobId, LiveJob]) -> None:
        """Nobody yet. Both are the caller's, and tell all that is open."""
        self._submissions, self._jobs = submissions, jobs
        self._dependents: dict[int, list[Open]] = {}

    def see(self, one: Open, how: Callable[[int], list[State]]) -> None:
        """Let a new submission wait for what it depends on; `how` says how others ended.

        Raises InputError where there is no such job, or where it has ended otherwise.
        """
        for after in one.submission.asked.after:
            states = self._states(after.id) or how(after.id)
            if not states:
                raise InputError("--after", f"there is no job {after.id}", "the number of a job of this service")
            if not all(state.is_over for state in states):
                one.waits_for.add(after.id)
            elif not meets(after.kind, states):
                raise InputError("--after", f"job {after.id} has ended otherwise: the new job would never start")
        for number in one.waits_for:
            self._dependents.setdefault(number, []).append(one)
        for job in one.jobs if one.waits_for else ():
            job.why = job.why or one.waits_in_words

    def recall(self, one: Open) -> None:
        """Let one that was taken in before wait for what of it is open."""
        for after in one.submission.asked.after:
            if not all(state.is_over for state in self._states(after.id)):
                one.waits_for.add(after.id)
                self._dependents.setdefault(after.id, []).append(one)

    def _states(self, number: int) -> list[State]:
        """Those of the jobs that a dependency on this number means: of an array's first, all; []: they are not open."""
        job = self._jobs.get(JobId(number))
        if job is None:
            return []
        jobs = self._submissions[job.of.first].jobs
        return [one.state for one in (jobs if number == job.of.first else [job])]

    def met_by(self, job: LiveJob) -> list[int]:
        """The numbers on which others depend that are over by the end of a job."""
        met: list[int] = [] if job.number == job.of.first else [job.number]
        if self._submissions[job.of.first].left == 0:
            met.append(job.of.first)
        return [number for number in met if number in self._dependents]

    def met(self, number: int) -> tuple[list[LiveJob], list[LiveJob]]:
        """What others depend on is over; those of them that can't begin any more, and those that wait for less now."""
        in_vain: list[LiveJob] = []
        free: list[LiveJob] = []
        states = self._states(number)
        for one in self._dependents.pop(number, []):
            one.waits_for.discard(number)
            kinds = [after.kind for after in one.submission.asked.after if after.id == number]
            if not all(meets(kind, states) for kind in kinds):
                in_vain += [job for job in one.jobs if not job.state.is_over]
                continue
            for job in one.jobs:
                if job.state is State.WAITING:
                    job.why = one.waits_in_words
                    free.append(job)
        return in_vain, free


def meets(kind: str, states: Iterable[State]) -> bool:
    """Whether those that depend so on jobs may begin, as these have ended."""
    match kind:
        case "ok":
            return all(state is State.COMPLETED for state in states)
        case "fail":
            return any(state is not State.COMPLETED for state in states)
    return True
