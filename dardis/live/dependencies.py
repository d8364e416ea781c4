"""Obstacles of jobs: dependencies, array limits, earlier runs. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from dardis.live.host_liveness import HostLiveness
from dardis.live.live_jobs import LiveJob, LiveJobState, Submission
from dardis.live.orphaned_runs import OrphanedRuns
from dardis.model.addresses import JobId
from dardis.model.errors import InputError


@dataclass(slots=True)
class OpenSubmission:
    """A submission with unfinished jobs."""

    submission: Submission
    jobs: list[LiveJob]
    pending_dependencies: set[int] = field(default_factory=set)
    """Unfinished dependencies; the first job stands for an array."""
    admitted: int = 0
    throttled_jobs: deque[LiveJob] = field(default_factory=deque)
    """Jobs behind the array limit."""
    unfinished_count: int = 0

    @property
    def is_full(self) -> bool:
        """Whether the array limit is reached."""
        array = self.submission.request.array
        return array is not None and array.most is not None and self.admitted >= array.most

    @property
    def wait_reason(self) -> str:
        """Text about pending dependencies, or empty."""
        if not self.pending_dependencies:
            return ""
        return "waits for the end of " + ", ".join(f"job {number}" for number in sorted(self.pending_dependencies))


class Dependencies:
    """Dependencies between open submissions."""

    def __init__(self, submissions: Mapping[int, OpenSubmission], jobs: Mapping[JobId, LiveJob]) -> None:
        """Start empty. The caller updates both mappings."""
        self._submissions, self._jobs = submissions, jobs
        self._dependents: dict[int, list[OpenSubmission]] = {}

    def add(self, one: OpenSubmission, how: Callable[[int], list[LiveJobState]]) -> None:
        """Add the dependencies of a new submission. `how` returns end states of finished jobs.

        Raises InputError for an unknown job or a start ruled out.
        """
        for after in one.submission.request.after:
            states = self._states(after.id) or how(after.id)
            if not states:
                raise InputError("--after", f"there is no job {after.id}", "the number of a job of this service")
            if not all(state.is_over for state in states):
                one.pending_dependencies.add(after.id)
            elif not is_satisfied(after.kind, states):
                raise InputError("--after", f"the end of job {after.id} rules out the new job, which would never start")
        for number in one.pending_dependencies:
            self._dependents.setdefault(number, []).append(one)
        for job in one.jobs if one.pending_dependencies else ():
            job.why = job.why or one.wait_reason

    def restore(self, one: OpenSubmission) -> None:
        """Restore the pending dependencies of a submission."""
        for after in one.submission.request.after:
            if not all(state.is_over for state in self._states(after.id)):
                one.pending_dependencies.add(after.id)
                self._dependents.setdefault(after.id, []).append(one)

    def _states(self, number: int) -> list[LiveJobState]:
        """States of an open job or array; []: not open."""
        job = self._jobs.get(JobId(number))
        if job is None:
            return []
        jobs = self._submissions[job.submission.first].jobs
        return [one.state for one in (jobs if number == job.submission.first else [job])]

    def ended_dependencies(self, job: LiveJob) -> list[int]:
        """Dependency numbers met by the end of a job."""
        met: list[int] = [] if job.number == job.submission.first else [job.number]
        if self._submissions[job.submission.first].unfinished_count == 0:
            met.append(job.submission.first)
        return [number for number in met if number in self._dependents]

    def on_dependency_end(self, number: int) -> tuple[list[LiveJob], list[LiveJob]]:
        """Meet a dependency. Return jobs that can never start, and jobs with fewer dependencies."""
        in_vain: list[LiveJob] = []
        free: list[LiveJob] = []
        states = self._states(number)
        for one in self._dependents.pop(number, []):
            one.pending_dependencies.discard(number)
            kinds = [after.kind for after in one.submission.request.after if after.id == number]
            if not all(is_satisfied(kind, states) for kind in kinds):
                in_vain += [job for job in one.jobs if not job.state.is_over]
                continue
            for job in one.jobs:
                if job.state is LiveJobState.WAITING:
                    job.why = one.wait_reason
                    free.append(job)
        return in_vain, free


def is_satisfied(kind: str, states: Iterable[LiveJobState]) -> bool:
    """Whether end states meet a dependency."""
    match kind:
        case "ok":
            return all(state is LiveJobState.COMPLETED for state in states)
        case "fail":
            return any(state is not LiveJobState.COMPLETED for state in states)
    return True


class Reruns:
    """Jobs to rerun once no host can still run their last run."""

    def __init__(self, strays: OrphanedRuns, hearing: HostLiveness, forgotten: str) -> None:
        """`forgotten`: reason of runs unknown to a reachable host; such jobs do not rerun."""
        self._strays, self._hearing, self._forgotten = strays, hearing, forgotten
        self._jobs: dict[JobId, LiveJob] = {}
        self._over: set[str] = set()
        """Unreachable hosts without valid leases."""

    def add(self, job: LiveJob) -> None:
        """Add a job."""
        job.is_pending_rerun = True
        self._jobs[job.number] = job

    def on_leases_expired(self, host: str) -> None:
        """Report that all leases of a host are over."""
        self._over.add(host)

    def on_host_back(self, host: str) -> None:
        """Report that a host is reachable."""
        self._over.discard(host)

    def hosts(self) -> set[str]:
        """Hosts of remaining runs."""
        return {host for job in self._jobs.values() for host in job.hosts}

    def waiting(self) -> list[LiveJob]:
        """All jobs to rerun."""
        return list(self._jobs.values())

    def check_jobs(self) -> Iterator[tuple[LiveJob, str]]:
        """Yield waiting jobs with reasons. Empty: may start; removed."""
        for job in self.waiting():
            why = self._wait_reason(job) if job.state is LiveJobState.WAITING else ""
            if not why or why == self._forgotten:
                del self._jobs[job.number]
                job.is_pending_rerun = False
            if job.state is LiveJobState.WAITING:
                yield job, why

    def _wait_reason(self, job: LiveJob) -> str:
        hosts = set()
        for host, led in job.hosts.items():
            if self._hearing.is_reachable(host):
                if led.incarnation not in self._hearing.incarnations[host]:
                    return self._forgotten
            elif not (led.leased and host in self._over):
                hosts.add(host)
        hosts |= {host for host in self._strays.hosts_of(job) if self._hearing.is_reachable(host)}
        return f"waits for the end of its last run on {', '.join(sorted(hosts))}" if hosts else ""
