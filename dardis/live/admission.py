"""Which jobs those who decide have, what has happened to these since they were told, and when they begin anew. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Final

from dardis.live.dependencies import Open
from dardis.live.live_decisions import Asks, Decider, Happened, Instant, Runs, Start, hosts_here
from dardis.live.live_jobs import LiveJob, State
from dardis.live.machine import Machine
from dardis.model.addresses import HostId, JobId
from dardis.transport.base import Hosts

LAG_S: Final = 2
"""How long after it was ordered a job may begin, and its nodes be empty after it was killed, s."""

Reach = Callable[[AbstractSet[HostId]], Hosts]
"""How the hosts are talked with, of which these are silent."""


@dataclass(slots=True)
class _News:
    """What has happened since the last instant."""

    ended: list[JobId] = field(default_factory=list)
    withdrawn: list[JobId] = field(default_factory=list)
    closed: bool = False


@dataclass(frozen=True, slots=True)
class Decided:
    """Who starts and where, who never will and why, and the instant as the journal has it."""

    starts: list[Start]
    refused: dict[JobId, str]
    text: str


class Admission:
    """Tells those who decide of jobs that may begin, of an array no more than may run at once."""

    def __init__(self, machine: Machine, submissions: Mapping[int, Open], reach: Reach | None) -> None:
        """Nobody knows anything yet. `submissions` are all that are open, by first number, and stay the caller's."""
        self._machine, self._submissions, self._reach = machine, submissions, reach
        self._decider: Decider | None = None
        """None: they begin anew when they are asked next."""
        self._news = _News()
        self._to_admit: deque[LiveJob] = deque()
        self._admitted: set[JobId] = set()

    # ------------------------------------------------------------------------------------------------------------------
    # What happens.

    def may_begin(self, jobs: Iterable[LiveJob]) -> None:
        """Nothing keeps these from beginning but what they depend on, or how many of their array run."""
        self._to_admit.extend(jobs)

    def has(self, job: LiveJob) -> bool:
        """Whether those who decide have it, or are about to."""
        return job.number in self._admitted

    def withdraw(self, job: LiveJob) -> None:
        """One that waited does so no more."""
        if job.number in self._admitted:
            self._news.withdrawn.append(job.number)
            self.leave(job)

    def ended(self, job: LiveJob) -> None:
        """One that ran is over, and its nodes are empty."""
        self._news.ended.append(job.number)
        self.leave(job)

    def leave(self, job: LiveJob) -> None:
        """One makes room for another of its array; those who decide don't have it, or know that they don't."""
        self._admitted.discard(job.number)
        one = self._submissions[job.of.first]
        one.admitted -= 1
        if one.behind:
            self._to_admit.append(one.behind.popleft())

    def close(self) -> None:
        """On other nodes than before nothing may start."""
        self._news.closed = True

    def begin_anew(self) -> None:
        """Those who decide are to be told all when they are asked next, as if nothing had been known there."""
        self._decider = None

    # ------------------------------------------------------------------------------------------------------------------
    # Decisions.

    def wake(self) -> int:
        """The next time, Unix s, at which something is to be decided though nothing happens (FOREVER: never)."""
        return 0 if self._decider is None else self._decider.wake()

    def decide(
        self, now: int, closed: Callable[[], tuple[int, ...]], running: Iterable[LiveJob], silent: AbstractSet[HostId]
    ) -> Decided | None:
        """Tell those who decide what has happened, and what they say; None: there is nothing to be said.

        `closed` are the nodes on which nothing may start; `running` is gone over only where they begin anew. Raises
        HostDownError: then they are to begin anew.
        """
        machine, decider, anew = self._machine, self._decider, self._decider is None
        if anew:
            self._forget()
        submitted, news = self._admit(), self._news
        if not (news.ended or news.withdrawn or news.closed or submitted or self.wake() <= now):
            return None
        self._news = _News()
        if decider is None:
            runs = tuple(self._runs(running, now))
            happened = Happened(now, closed=closed() or None, runs=runs, submitted=submitted, anew=True)
            bounds = machine.bounds
            hosts = hosts_here(machine.platform, bounds) if self._reach is None else self._reach(silent)
            decider = Decider(machine.platform, bounds, hosts)
        else:
            closed_now = closed() if news.closed else None
            happened = Happened(now, tuple(news.ended), tuple(news.withdrawn), closed_now, submitted=submitted)
        self.begin_anew()
        starts, refused = decider.decide(happened)
        self._decider = decider
        on = (machine.platform, machine.bounds) if anew else ()
        return Decided(starts, refused, Instant(happened, tuple(starts), *on).text())

    def _forget(self) -> None:
        """Have nothing told, and all that waits to be told."""
        self._news = _News()
        self._to_admit.clear()
        self._admitted = set()
        for _, one in sorted(self._submissions.items()):
            running = [job.number for job in one.jobs if job.state is State.RUNNING]
            self._admitted.update(running)
            one.admitted = len(running)
            one.behind.clear()
            self._to_admit.extend(job for job in one.jobs if job.state is State.WAITING)

    def _admit(self) -> tuple[Asks, ...]:
        """Jobs that may begin, and that those who decide don't have yet."""
        submitted = []
        while self._to_admit:
            job = self._to_admit.popleft()
            one = self._submissions.get(job.of.first)
            if one is None or one.waits_for or job.rests:
                continue
            if job.state is not State.WAITING or job.number in self._admitted:
                if one.behind and not one.is_full:
                    self._to_admit.append(one.behind.popleft())
            elif one.is_full:
                one.behind.append(job)
            else:
                one.admitted += 1
                self._admitted.add(job.number)
                submitted.append(self._asks(job))
        return tuple(submitted)

    def _asks(self, job: LiveJob) -> Asks:
        asked = job.of.asked
        walltime = asked.walltime_s + asked.grace + LAG_S
        return Asks(job.number, job.of.submitted_ms // 1000, walltime, asked.nodes, self._machine.request(asked))

    def _runs(self, running: Iterable[LiveJob], now: int) -> Iterable[Runs]:
        for job in running:
            asks = self._asks(job)
            since = now if job.started_ms is None else job.started_ms // 1000
            nodes = sorted(node for share in job.shares if (node := self._machine.node(share.node)) is not None)
            yield Runs(asks, tuple(nodes), since + asks.walltime - now)
