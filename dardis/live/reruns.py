"""Jobs that are to run again, and wait until nothing goes on of what their last run has begun. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from dardis.live.hearing import Hearing
from dardis.live.jobs import LiveJob, State
from dardis.live.strays import Strays
from dardis.model.addresses import JobId


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
