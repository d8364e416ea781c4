"""Obstacles of jobs: dependencies, array limits, earlier runs. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush

from dardis.live.host_liveness import HostLiveness
from dardis.live.job_option_texts import Dependency
from dardis.live.live_jobs import HostIncarnation, LiveJob, LiveJobState, Submission
from dardis.live.orphaned_runs import OrphanedRuns
from dardis.model.addresses import JobId
from dardis.model.errors import InputError

EndedJobs = Callable[[int], Sequence[LiveJob]]
"""By number of the job or array; []: unknown."""
_NameKey = tuple[int, str]


@dataclass(slots=True)
class OpenSubmission:
    """Submission with unfinished jobs."""

    submission: Submission
    jobs: list[LiveJob]
    pending_dependencies: set[Dependency] = field(default_factory=set)
    """The first job stands for an array."""
    pending_jobs: dict[JobId, set[JobId]] = field(default_factory=dict)
    """Waits for, by job of the array."""
    admitted: int = 0
    throttled_jobs: deque[LiveJob] = field(default_factory=deque)
    """Jobs behind the array limit."""
    unfinished_count: int = 0
    started_count: int = 0
    """First jobs known to have started or ended."""

    @property
    def is_full(self) -> bool:
        """Whether the array limit is reached."""
        array = self.submission.request.array
        return array is not None and array.most is not None and self.admitted >= array.most

    def wait_reason(self, job: LiveJob) -> str:
        """Text about pending dependencies, or empty."""
        begins = {one.id for one in self.pending_dependencies if one.kind == "start"}
        ends = {one.id for one in self.pending_dependencies} - begins | set(self.pending_jobs.get(job.number, ()))
        among = " or " if self.submission.request.after_any else ", "
        parts = [
            f"waits for the {what} of " + among.join(f"job {number}" for number in sorted(numbers))
            for what, numbers in (("start", begins), ("end", ends))
            if numbers
        ]
        return among.join(parts)

    def have_started(self) -> bool:
        """Whether all jobs have started or ended."""
        waits = (LiveJobState.WAITING, LiveJobState.HELD)
        while self.started_count < len(self.jobs) and self.jobs[self.started_count].state not in waits:
            self.started_count += 1
        return self.started_count == len(self.jobs)


class Dependencies:
    """Dependencies between open submissions."""

    def __init__(self, submissions: Mapping[int, OpenSubmission], jobs: Mapping[JobId, LiveJob]) -> None:
        self._submissions, self._jobs = submissions, jobs
        self._dependents: dict[int, list[OpenSubmission]] = {}
        self._job_dependents: dict[JobId, list[LiveJob]] = {}
        self._unfinished: dict[_NameKey, list[int]] = {}
        """Heap of job numbers, for names with singletons."""

    def is_blocked(self, job: LiveJob) -> bool:
        """Whether a job waits for other jobs."""
        one = self._submissions[job.submission.first]
        return bool(one.pending_dependencies) or job.number in one.pending_jobs or self._is_behind(job)

    def wait_reason(self, job: LiveJob) -> str:
        """Text about what a job waits for; empty: nothing."""
        if reason := self._submissions[job.submission.first].wait_reason(job):
            return reason
        return f"waits for earlier jobs with the name {job.submission.request.name}" if self._is_behind(job) else ""

    def add(self, one: OpenSubmission, how: EndedJobs) -> list[LiveJob]:
        """Add a known submission's conditions; return jobs that can never start.

        Raises InputError, and adds nothing, for an unknown job or if no job can ever start.
        """
        asked = one.submission.request
        found = {after: self._jobs_of(after.id) or how(after.id) for after in asked.after}
        for after, jobs in found.items():
            if not jobs:
                raise InputError("--after", f"there is no job {after.id}", "the number of a job of this service")
        in_vain = self._add_pending(one, found)
        if len(in_vain) == len(one.jobs):
            numbers = ", ".join(f"job {after.id}" for after in asked.after)
            raise InputError("--after", f"the end of {numbers} rules out the new job, which would never start")
        self._register(one)
        for job in one.jobs:
            job.why = job.why or self.wait_reason(job)
        return in_vain

    def restore(self, one: OpenSubmission, how: EndedJobs) -> None:
        """Restore a submission's conditions. Conditions on forgotten jobs are met."""
        asked = one.submission.request
        found = {after: self._jobs_of(after.id) or how(after.id) for after in asked.after}
        if all(found.values()) or not asked.after_any:
            self._add_pending(one, {after: jobs for after, jobs in found.items() if jobs})
        self._register(one)

    def _add_pending(self, one: OpenSubmission, found: Mapping[Dependency, Sequence[LiveJob]]) -> list[LiveJob]:
        asked = one.submission.request
        in_vain: dict[JobId, LiveJob] = {}
        for after, jobs in found.items():
            if after.kind == "each":
                in_vain |= self._add_each(one, after, jobs)
            elif (met := self._is_met(after, jobs)) is None:
                one.pending_dependencies.add(after)
            elif met and asked.after_any:
                one.pending_dependencies.clear()
                return []
            elif not met and not asked.after_any:
                return one.jobs
        if asked.after_any and found and not one.pending_dependencies:
            return one.jobs
        return list(in_vain.values())

    def _add_each(self, one: OpenSubmission, after: Dependency, jobs: Sequence[LiveJob]) -> dict[JobId, LiveJob]:
        by_index = {job.index: job for job in jobs}
        in_vain = {}
        for job in one.jobs:
            if job.state.is_over:
                continue
            if (earlier := by_index.get(job.index)) is None:
                raise InputError("--after", f"array {after.id} has no job with index {job.index}", "the same indices")
            if not earlier.state.is_over:
                one.pending_jobs.setdefault(job.number, set()).add(earlier.number)
            elif earlier.state is not LiveJobState.COMPLETED:
                in_vain[job.number] = job
        return in_vain

    def _register(self, one: OpenSubmission) -> None:
        for number in {after.id for after in one.pending_dependencies}:
            self._dependents.setdefault(number, []).append(one)
        for number, pending in one.pending_jobs.items():
            for earlier in pending:
                self._job_dependents.setdefault(earlier, []).append(self._jobs[number])
        key = _name_key(one.submission)
        if key in self._unfinished:
            for job in one.jobs:
                heappush(self._unfinished[key], job.number)
        elif one.submission.request.singleton:
            self._add_names(key)

    def _add_names(self, key: _NameKey) -> None:
        self._unfinished[key] = [
            job.number
            for other in self._submissions.values() if _name_key(other.submission) == key
            for job in other.jobs if not job.state.is_over
        ]  # fmt: skip
        heapify(self._unfinished[key])

    def _is_behind(self, job: LiveJob) -> bool:
        if not job.submission.request.singleton:
            return False
        heap = self._unfinished.get(_name_key(job.submission), [])
        while heap and ((head := self._jobs.get(JobId(heap[0]))) is None or head.state.is_over):
            heappop(heap)
        return bool(heap) and heap[0] != job.number

    def _is_met(self, after: Dependency, jobs: Sequence[LiveJob]) -> bool | None:
        one = self._submissions.get(jobs[0].submission.first) if jobs else None
        whole = one is not None and len(jobs) > 1
        if after.kind == "start":
            waits = (LiveJobState.WAITING, LiveJobState.HELD)
            started = one.have_started() if whole and one is not None else all(job.state not in waits for job in jobs)
            return True if started else None
        unfinished = (
            one.unfinished_count > 0 if whole and one is not None else not all(job.state.is_over for job in jobs)
        )
        return None if unfinished else _is_satisfied(after.kind, [job.state for job in jobs])

    def _jobs_of(self, number: int) -> Sequence[LiveJob]:
        job = self._jobs.get(JobId(number))
        if job is None:
            return []
        return self._submissions[job.submission.first].jobs if number == job.submission.first else [job]

    def on_change(self, job: LiveJob) -> tuple[list[LiveJob], list[LiveJob]]:
        """Handle a job's start or end. Return jobs that can never start, and jobs with fewer conditions."""
        in_vain: list[LiveJob] = []
        free: list[LiveJob] = []
        for number in {job.number, job.submission.first} & self._dependents.keys():
            jobs, left = self._jobs_of(number), list[OpenSubmission]()
            for one in self._dependents.pop(number):
                count = len(one.pending_dependencies)
                if not self._take_met(one, number, jobs):
                    in_vain += [dependent for dependent in one.jobs if not dependent.state.is_over]
                    continue
                if any(after.id == number for after in one.pending_dependencies):
                    left.append(one)
                if len(one.pending_dependencies) < count:
                    free += one.jobs
            if left:
                self._dependents[number] = left
        if job.state.is_over:
            in_vain += self._on_job_end(job, free)
        waiting = [dependent for dependent in free if dependent.state is LiveJobState.WAITING]
        for dependent in waiting:
            dependent.why = self.wait_reason(dependent)
        return list({dependent.number: dependent for dependent in in_vain}.values()), waiting

    def _on_job_end(self, job: LiveJob, free: list[LiveJob]) -> list[LiveJob]:
        in_vain: list[LiveJob] = []
        for dependent in self._job_dependents.pop(job.number, ()):
            if dependent.state.is_over:
                continue
            pending = self._submissions[dependent.submission.first].pending_jobs
            if job.state is not LiveJobState.COMPLETED:
                in_vain.append(dependent)
                continue
            pending[dependent.number].discard(job.number)
            if not pending[dependent.number]:
                del pending[dependent.number]
                free.append(dependent)
        free += self._next_singleton(job)
        return in_vain

    def _take_met(self, one: OpenSubmission, number: int, jobs: Sequence[LiveJob]) -> bool:
        any_of = one.submission.request.after_any
        for after in [after for after in one.pending_dependencies if after.id == number]:
            met = self._is_met(after, jobs)
            if met is None:
                continue
            one.pending_dependencies.discard(after)
            if met and any_of:
                one.pending_dependencies.clear()
            elif not met and not (any_of and one.pending_dependencies):
                return False
        return True

    def on_reopen(self, job: LiveJob) -> None:
        """Handle a finished job that waits again."""
        if (heap := self._unfinished.get(_name_key(job.submission))) is not None:
            heappush(heap, job.number)
        elif job.submission.request.singleton:
            self._add_names(_name_key(job.submission))

    def _next_singleton(self, job: LiveJob) -> list[LiveJob]:
        heap = self._unfinished.get(_name_key(job.submission))
        while heap:
            head = self._jobs.get(JobId(heap[0]))
            if head is not None and not head.state.is_over:
                return [head] if head.submission.request.singleton else []
            heappop(heap)
        self._unfinished.pop(_name_key(job.submission), None)
        return []


def _name_key(submission: Submission) -> _NameKey:
    return submission.user.uid, submission.request.name


def _is_satisfied(kind: str, states: Iterable[LiveJobState]) -> bool:
    match kind:
        case "ok":
            return all(state is LiveJobState.COMPLETED for state in states)
        case "fail":
            return any(state is not LiveJobState.COMPLETED for state in states)
    return True


class Reruns:
    """Jobs to rerun once no host can still run their last run."""

    def __init__(self, strays: OrphanedRuns, hearing: HostLiveness, forgotten: str) -> None:
        """`forgotten`: reason of runs unknown to a reachable host; not rerun."""
        self._strays, self._hearing, self._forgotten = strays, hearing, forgotten
        self._jobs: dict[JobId, LiveJob] = {}
        self._over: set[str] = set()

    def add(self, job: LiveJob) -> None:
        """Add a job."""
        job.is_pending_rerun = True
        self._jobs[job.number] = job

    def on_leases_expired(self, host: str) -> None:
        """Report that all leases of a host are over."""
        self._over.add(host)

    def is_over(self, host: str, led: HostIncarnation) -> bool:
        """Whether a run's lease on an unreachable host is over."""
        return led.leased and host in self._over

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
        """Yield waiting jobs with reasons; empty: may start, is removed."""
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
            elif not self.is_over(host, led):
                hosts.add(host)
        hosts |= {host for host in self._strays.hosts_of(job) if self._hearing.is_reachable(host)}
        return f"waits for the end of its last run on {', '.join(sorted(hosts))}" if hosts else ""
