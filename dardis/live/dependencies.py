"""Obstacles of jobs: dependencies, array limits, earlier runs. Pure."""

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
    """A submission with unfinished jobs."""

    submission: Submission
    jobs: list[LiveJob]
    waits_for: set[int] = field(default_factory=set)
    """Unfinished dependencies; the first job stands for an array."""
    admitted: int = 0
    behind: deque[LiveJob] = field(default_factory=deque)
    """Jobs behind the array limit."""
    left: int = 0

    @property
    def is_full(self) -> bool:
        """Whether the array limit is reached."""
        array = self.submission.asked.array
        return array is not None and array.most is not None and self.admitted >= array.most

    @property
    def waits_in_words(self) -> str:
        """Text about pending dependencies, or empty."""
        if not self.waits_for:
            return ""
        return "waits for the end of " + ", ".join(f"job {number}" for number in sorted(self.waits_for))


class Dependencies:
    """Dependencies between open submissions."""

    def __init__(self, submissions: Mapping[int, Open], jobs: Mapping[JobId, LiveJob]) -> None:
        """Start empty. The caller updates both mappings."""
        self._submissions, self._jobs = submissions, jobs
        self._dependents: dict[int, list[Open]] = {}

    def see(self, one: Open, how: Callable[[int], list[State]]) -> None:
        """Add the dependencies of a new submission. `how` returns end states of finished jobs.

        Raises InputError for an unknown job or a start ruled out.
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
        """Restore the pending dependencies of a submission."""
        for after in one.submission.asked.after:
            if not all(state.is_over for state in self._states(after.id)):
                one.waits_for.add(after.id)
                self._dependents.setdefault(after.id, []).append(one)

    def _states(self, number: int) -> list[State]:
        """States of an open job or array; []: not open."""
        job = self._jobs.get(JobId(number))
        if job is None:
            return []
        jobs = self._submissions[job.of.first].jobs
        return [one.state for one in (jobs if number == job.of.first else [job])]

    def met_by(self, job: LiveJob) -> list[int]:
        """Dependency numbers met by the end of a job."""
        met: list[int] = [] if job.number == job.of.first else [job.number]
        if self._submissions[job.of.first].left == 0:
            met.append(job.of.first)
        return [number for number in met if number in self._dependents]

    def met(self, number: int) -> tuple[list[LiveJob], list[LiveJob]]:
        """Meet a dependency. Return jobs that can never start, and jobs with fewer dependencies."""
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
    """Whether end states meet a dependency."""
    match kind:
        case "ok":
            return all(state is State.COMPLETED for state in states)
        case "fail":
            return any(state is not State.COMPLETED for state in states)
    return True


class Reruns:
    """Jobs to rerun once no host can still run their last run."""

    def __init__(self, strays: Strays, hearing: Hearing, forgotten: str) -> None:
        """`forgotten`: reason of runs unknown to a reachable host; such jobs do not rerun."""
        self._strays, self._hearing, self._forgotten = strays, hearing, forgotten
        self._jobs: dict[JobId, LiveJob] = {}
        self._over: set[str] = set()
        """Unreachable hosts without valid leases."""

    def add(self, job: LiveJob) -> None:
        """Add a job."""
        job.rests = True
        self._jobs[job.number] = job

    def leases_are_over(self, host: str) -> None:
        """Report that all leases of a host are over."""
        self._over.add(host)

    def heard(self, host: str) -> None:
        """Report that a host is reachable."""
        self._over.discard(host)

    def hosts(self) -> set[str]:
        """Hosts of remaining runs."""
        return {host for job in self._jobs.values() for host in job.hosts}

    def waiting(self) -> list[LiveJob]:
        """All jobs to rerun."""
        return list(self._jobs.values())

    def looked_at(self) -> Iterator[tuple[LiveJob, str]]:
        """Yield waiting jobs with reasons. Empty: may start; removed."""
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
