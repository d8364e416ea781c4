"""Jobs known to the decider, and new events. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Final

from dardis.live.cap_account import CapAccount
from dardis.live.dependencies import Dependencies, OpenSubmission
from dardis.live.live_decisions import (
    SEED,
    Instant,
    InstantEvents,
    JobStart,
    LiveDecider,
    RunningJob,
    SchedulingRequest,
    local_hosts,
)
from dardis.live.live_jobs import LiveJob, LiveJobState
from dardis.live.machine import LiveMachine, queue_of
from dardis.model.addresses import HostId, JobId
from dardis.model.choices import Expecting
from dardis.model.job import FOREVER, Job
from dardis.predict import new_predictor
from dardis.transport.base import Hosts

LAG_S: Final = 2
"""Of a start, and of free nodes after a kill, s."""

ClosedNodes = tuple[tuple[int, ...], tuple[int, ...] | None]
"""Closed nodes, and what others than jobs take of the cap (None: no cap)."""
HostConnector = Callable[[AbstractSet[HostId]], Hosts]
"""The argument names unreachable hosts."""


@dataclass(slots=True)
class _PendingEvents:
    ended: list[JobId] = field(default_factory=list)
    withdrawn: list[JobId] = field(default_factory=list)
    closed: bool = False
    """Closed nodes changed, or what others take of the cap."""


@dataclass(frozen=True, slots=True)
class AdmissionDecision:
    """Starts, reasons of refused jobs, and journal text."""

    starts: list[JobStart]
    refused: dict[JobId, str]
    text: str


class Admission:
    """Passes startable jobs to the decider."""

    def __init__(
        self, machine: LiveMachine, submissions: Mapping[int, OpenSubmission], dependencies: Dependencies,
        reach: HostConnector | None, account: CapAccount,
    ) -> None:  # fmt: skip
        self._machine, self._submissions, self._reach = machine, submissions, reach
        self._dependencies = dependencies
        self._early: list[tuple[int, JobId]] = []
        """Heap of jobs that may not begin yet, by Unix s."""
        self._early_jobs: dict[JobId, LiveJob] = {}
        self._decider: LiveDecider | None = None
        self._account = account
        self._news = _PendingEvents()
        self._to_admit: deque[LiveJob] = deque()
        self._admitted: set[JobId] = set()
        self._predictor = new_predictor(Expecting.USED_SHARE, {}, SEED)
        """Of runtimes since the service began."""
        self._used = (0, 0)
        """As `InstantEvents.used`."""

    # ------------------------------------------------------------------------------------------------------------------

    def add_startable(self, jobs: Iterable[LiveJob]) -> None:
        """Add startable jobs, subject to dependencies and array limits."""
        self._to_admit.extend(jobs)

    def has(self, job: LiveJob) -> bool:
        """Whether the decider has a job, now or soon."""
        return job.number in self._admitted

    def withdraw(self, job: LiveJob) -> None:
        """Withdraw a waiting job."""
        if job.number in self._admitted:
            self._news.withdrawn.append(job.number)
            self.remove(job)

    def on_run_end(self, job: LiveJob) -> None:
        """Report the end of a run with free nodes."""
        self._news.ended.append(job.number)
        self.remove(job)

    def learn(self, job: LiveJob, ran_s: int, now: int) -> None:
        """Learn the runtime of an ended job."""
        walltime = self._walltime(job)
        ended = self._predicted(job, walltime)
        self._predictor.observe(ended, max(ran_s, 1), now)
        cores = ended.units * ended.request[self._machine.platform.kinds.index("cores")]
        asked, used = self._used
        self._used = asked + cores * walltime, used + cores * min(ran_s, walltime)

    def remove(self, job: LiveJob) -> None:
        """Admit the next job of the array."""
        self._admitted.discard(job.number)
        one = self._submissions[job.submission.first]
        one.admitted -= 1
        if one.throttled_jobs:
            self._to_admit.append(one.throttled_jobs.popleft())

    def on_closed_nodes_change(self) -> None:
        """Report changed closed nodes."""
        self._news.closed = True

    def discard_decider(self) -> None:
        """Discard the decider."""
        self._decider = None

    # ------------------------------------------------------------------------------------------------------------------

    def wake(self) -> int:
        """As `LiveDecider.wake`."""
        begin = self._early[0][0] if self._early else FOREVER
        return 0 if self._decider is None else min(self._decider.wake(), begin)

    def is_early(self, job: LiveJob) -> bool:
        """Whether a job waits for its `begin_ms`."""
        return job.number in self._early_jobs

    def decide(
        self, now: int, closed: Callable[[], ClosedNodes], running: Iterable[LiveJob], silent: AbstractSet[HostId]
    ) -> AdmissionDecision | None:
        """Pass events to the decider; None: none.

        `closed` is called at most once. Only a new decider reads `running`. Raises HostDownError and discards the
        decider.
        """
        machine, decider, anew = self._machine, self._decider, self._decider is None
        if anew:
            self._forget()
        submitted, news = self._admit(now), self._news
        if not (news.ended or news.withdrawn or news.closed or submitted or self.wake() <= now):
            return None
        self._news = _PendingEvents()
        closed_now, others = closed() if anew or news.closed else (None, None)
        if decider is None:
            happened = self._first_events(now, (closed_now or (), others), running, submitted)
            bounds = machine.bounds
            hosts = local_hosts(machine.platform, bounds) if self._reach is None else self._reach(silent)
            decider = LiveDecider(machine.platform, bounds, hosts, self._account.cap)
        else:
            happened = InstantEvents(
                now, tuple(news.ended), tuple(news.withdrawn), closed_now, submitted=submitted, others=others
            )
        self.discard_decider()
        starts, refused = decider.decide(happened)
        self._decider = decider
        on = (machine.platform, machine.bounds, self._account.cap) if anew else ()
        return AdmissionDecision(starts, refused, Instant(happened, tuple(starts), *on).text())

    def _forget(self) -> None:
        self._news = _PendingEvents()
        self._to_admit.clear()
        self._early, self._early_jobs = [], {}
        self._admitted = set()
        for _, one in sorted(self._submissions.items()):
            running = [job.number for job in one.jobs if job.state is LiveJobState.RUNNING]
            self._admitted.update(running)
            one.admitted = len(running)
            one.throttled_jobs.clear()
            self._to_admit.extend(job for job in one.jobs if job.state is LiveJobState.WAITING)

    def _admit(self, now: int) -> tuple[SchedulingRequest, ...]:
        submitted = []
        while self._early and self._early[0][0] <= now:
            self._to_admit.append(self._early_jobs.pop(heappop(self._early)[1]))
        while self._to_admit:
            job = self._to_admit.popleft()
            one = self._submissions.get(job.submission.first)
            if one is None or job.is_pending_rerun or job.number in self._early_jobs:
                continue
            if job.state is LiveJobState.WAITING and self._dependencies.is_blocked(job):
                continue
            if job.state is not LiveJobState.WAITING or job.number in self._admitted:
                if one.throttled_jobs and not one.is_full:
                    self._to_admit.append(one.throttled_jobs.popleft())
            elif (begin := -(-job.begin_ms // 1000)) > now:
                heappush(self._early, (begin, job.number))
                self._early_jobs[job.number] = job
            elif one.is_full:
                one.throttled_jobs.append(job)
            else:
                one.admitted += 1
                self._admitted.add(job.number)
                submitted.append(self._scheduling_request(job))
        return tuple(submitted)

    def all_events(self, now: int, closed: ClosedNodes, running: Iterable[LiveJob]) -> InstantEvents:
        """All events for a new decider, with the jobs of the present one."""
        admitted = [job for one in self._submissions.values() for job in one.jobs if job.number in self._admitted]
        waiting = tuple(self._request(job) for job in admitted if job.state is LiveJobState.WAITING)
        return self._first_events(now, closed, running, waiting)

    def _first_events(
        self, now: int, closed: ClosedNodes, running: Iterable[LiveJob], submitted: tuple[SchedulingRequest, ...]
    ) -> InstantEvents:
        nodes, others = closed
        runs = tuple(self._running_jobs(running, now))
        return InstantEvents(
            now, closed=nodes or None, runs=runs, submitted=submitted, others=others, is_new_decider=True,
            used=self._used,
        )  # fmt: skip

    def _scheduling_request(self, job: LiveJob) -> SchedulingRequest:
        if self._account.cap is not None and job.state is LiveJobState.WAITING:
            self._account.fix_power(job)
        return self._request(job)

    def _walltime(self, job: LiveJob) -> int:
        return job.submission.request.walltime_s + job.submission.request.grace + LAG_S

    def _predicted(self, job: LiveJob, walltime: int) -> Job:
        asked, user = job.submission.request, job.submission.user.name
        needs = self._machine.request(asked)
        return Job(job.number, 0, 0, None, walltime, asked.nodes, needs, 1, user=user, name=asked.name)

    def _request(self, job: LiveJob) -> SchedulingRequest:
        asked, cap, walltime = job.submission.request, self._account.cap, self._walltime(job)
        expected = self._predictor.predict(self._predicted(job, walltime), 0).duration
        may_exceed = cap is not None and not cap.is_hard and asked.deadline_ms is not None
        latest = asked.deadline_ms // 1000 - asked.walltime_s if may_exceed and asked.deadline_ms is not None else None
        return SchedulingRequest(
            job.number, max(job.submission.submitted_ms, job.begin_ms) // 1000, walltime, asked.nodes,
            self._machine.request(asked), queue_of(asked.priority), latest,
            None if cap is None else self._account.takes(job), None if expected == walltime else expected,
        )  # fmt: skip

    def _running_jobs(self, running: Iterable[LiveJob], now: int) -> Iterable[RunningJob]:
        for job in running:
            asks = self._scheduling_request(job)
            since = now if job.started_ms is None else job.started_ms // 1000
            nodes = sorted(node for share in job.shares if (node := self._machine.node(share.node)) is not None)
            yield RunningJob(asks, tuple(nodes), since + asks.walltime - now)
