"""Runs that keepers know and that are no job's, or no longer: they are ended, and nothing starts beside them. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from dardis.live.gateway_orders import EndRun, ForgetRun, Order
from dardis.live.live_jobs import LiveJob
from dardis.live.machine import Machine
from dardis.model.addresses import JobId


class Strays:
    """Where such runs go on, and the names of those that are not given again."""

    def __init__(self, machine: Machine) -> None:
        """There are none."""
        self._machine = machine
        self._leaving: dict[str, tuple[str, tuple[str, ...]]] = {}
        """Those that go on: their hosts, and their nodes as far as is known."""
        self._known: dict[JobId, int] = {}
        """Attempts that keepers know and the journal doesn't: they were not let begin."""

    @property
    def nodes(self) -> set[str]:
        """Those on which nothing may start."""
        return {node for _, nodes in self._leaving.values() for node in nodes}

    def hosts_of(self, job: LiveJob) -> set[str]:
        """Where runs and parts of a job go on that are none of it any more."""
        return {host for run, (host, _) in self._leaving.items() if job_and_attempt(run)[0] == job.number}

    def hosts(self) -> set[str]:
        """Where any go on."""
        return {host for host, _ in self._leaving.values()}

    def told(self, run: str, host: str, job: LiveJob | None, *, over: bool) -> Order:
        """A host tells of one, whose name is of this job; what is to be done there."""
        number, attempt = job_and_attempt(run)
        if job is None or job.attempt < attempt:
            self._known[number] = max(attempt, self._known.get(number, 0))
        if over:
            self._leaving.pop(run, None)
            return ForgetRun(run, host)
        self._leaving[run] = host, self._nodes(run, host, job) or self._machine.nodes(host)
        return EndRun(run, host)

    def _nodes(self, run: str, host: str, job: LiveJob | None) -> tuple[str, ...]:
        """Its nodes. None: another attempt has taken its place, or nothing is known: it may have any of its host."""
        if job is None or job.run != job_run(run):
            return ()
        nodes = tuple(share.node for share in job.shares)
        return nodes if job.run == run else tuple(node for node in nodes if self._machine.host(node) == host)

    def drop(self, is_meant: Callable[[str, Iterable[str]], bool]) -> None:
        """Those of such hosts and nodes are told anew, or taken for over."""
        self._leaving = {run: place for run, place in self._leaving.items() if not is_meant(*place)}

    def next_attempt(self, job: LiveJob) -> int:
        """The first attempt of a job whose name no keeper knows."""
        return max(job.attempt, self._known.pop(job.number, 0)) + 1


def job_and_attempt(run: str) -> tuple[JobId, int]:
    """The job of which something is a run, or a part of one, and which of its attempts."""
    number, attempt, *_ = run.split(".")
    return JobId(int(number)), int(attempt)


def job_run(run: str) -> str:
    """The job's run of which something is a part, or which it is."""
    return ".".join(run.split(".")[:2])


def is_part(run: str) -> bool:
    """Whether something is a part of a run."""
    return run.count(".") > 1
