"""What keeps jobs from starting: ends of others, limits of arrays, parts of an earlier run. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from dardis.live.host_liveness import Hearing
from dardis.live.live_jobs import LiveJob, State, Submission
from dardis.live.orphaned_runs import Strays
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


class Reruns:
    """They begin when all hosts where that may be are heard, and have nothing of it, or can't have it any more."""

    def __init__(self, strays: Strays, hearing: Hearing, forgotten: str) -> None:
        """There are none. `forgotten` is said of what a host doesn't know any more that is heard; it is not begun."""
        self._strays, self._hearing, self._forgotten = strays, hearing, forgotten
        self._jobs: dict[JobId, LiveJob] = {}
        self._over: set[str] = set()
        """Silent hosts on which all leases are over."""

    def add(self, job: LiveJob) -> None:
        """One waits again."""
        job.rests = True
        self._jobs[job.number] = job

    def leases_are_over(self, host: str) -> None:
        """Nothing with a lease goes on there."""
        self._over.add(host)

    def heard(self, host: str) -> None:
        """It may have new leases from now on."""
        self._over.discard(host)

    def hosts(self) -> set[str]:
        """Of which something may be waited for."""
        return {host for job in self._jobs.values() for host in job.hosts}

    def waiting(self) -> list[LiveJob]:
        """All that wait."""
        return list(self._jobs.values())

    def looked_at(self) -> Iterator[tuple[LiveJob, str]]:
        """Each that still waits, and why; empty: it may begin, and is none of these any more."""
        for job in self.waiting():
            why = self._why(job) if job.state is State.WAITING else ""
            if not why or why == self._forgotten:
                del self._jobs[job.number]
                job.rests = False
            if job.state is State.WAITING:
                yield job, why

    def _why(self, job: LiveJob) -> str:
        hosts = set()
        for host, led in job.hosts.items():
            if self._hearing.is_heard(host):
                if led.mark not in self._hearing.marks[host]:
                    return self._forgotten
            elif not (led.leased and host in self._over):
                hosts.add(host)
        hosts |= {host for host in self._strays.hosts_of(job) if self._hearing.is_heard(host)}
        return f"waits until what its last run had begun on {', '.join(sorted(hosts))} is over" if hosts else ""
