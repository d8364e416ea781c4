"""Orphaned runs: known to supervisors, but of no job. Ended, with closed nodes. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from dardis.live.gateway_orders import EndRun, ForgetRun, Order
from dardis.live.live_jobs import LiveJob
from dardis.live.machine import LiveMachine
from dardis.model.addresses import JobId

ORPHANS: Final = "orphaned runs"
"""Name of the setting in the journal."""


class OrphanedRuns:
    """Live orphaned runs, and used attempt numbers."""

    def __init__(self, machine: LiveMachine, text: str = "") -> None:
        self._machine = machine
        self._leaving: dict[str, tuple[str, tuple[str, ...]]] = {
            run: (host, tuple(nodes)) for run, (host, nodes) in (json.loads(text) if text else {}).items()
        }
        """Hosts and possible nodes of live orphaned runs. `RUN.HOST`: remains of an ended run."""
        self._written = dict(self._leaving)
        self._known: dict[JobId, int] = {}

    @property
    def nodes(self) -> set[str]:
        """Nodes closed by orphaned runs, except of removed hosts."""
        return {node for host, nodes in self._leaving.values() if host in self._machine.hosts for node in nodes}

    def runs(self) -> Iterator[tuple[JobId, tuple[str, ...]]]:
        """Yield job and nodes of each, also on removed hosts."""
        for run, (_, nodes) in self._leaving.items():
            yield job_and_attempt(run)[0], nodes

    def take_changes(self) -> str | None:
        """All of them as journal text, if changed since the last call."""
        if self._leaving == self._written:
            return None
        self._written = dict(self._leaving)
        return json.dumps(self._leaving)

    def hosts_of(self, job: LiveJob) -> set[str]:
        """Hosts with orphaned runs of a job."""
        return {host for run, (host, _) in self._leaving.items() if job_and_attempt(run)[0] == job.number}

    def hosts(self) -> set[str]:
        """Hosts with orphaned runs."""
        return {host for host, _ in self._leaving.values()}

    def on_run_record(self, run: str, host: str, job: LiveJob | None, *, over: bool) -> Order:
        """Handle a report about an orphaned run. Return the order."""
        number, attempt = job_and_attempt(run)
        if job is None or job.attempt < attempt:
            self._known[number] = max(attempt, self._known.get(number, 0))
        if over:
            self._leaving.pop(run, None)
            return ForgetRun(run, host)
        self._leaving[run] = host, self._nodes(run, host, job)
        return EndRun(run, host)

    def _nodes(self, run: str, host: str, job: LiveJob | None) -> tuple[str, ...]:
        """Possible nodes: of the job, else of the host; a host without nodes counts as one."""
        machine, nodes, removed = self._machine, tuple[str, ...](), tuple[str, ...]()
        if job is not None and job.run == job_run(run):
            nodes = tuple(one.node for one in job.shares if job.run == run or machine.host(one.node) == host)
            removed = tuple(one.node for one in job.shares if machine.host(one.node) is None)
        return nodes or (machine.nodes(host) if host in machine.hosts else ()) or removed or (host,)

    def add_possible(self, job: LiveJob, host: str) -> None:
        """Add what an ended job may still run on a host, until the host reports."""
        run = f"{job.run}.{host}"
        self._leaving[run] = host, self._nodes(run, host, job)

    def drop_possible(self, host: str) -> None:
        """Forget what ended jobs might still run on a host that has reported."""
        for run in [run for run in self._leaving if run == f"{job_run(run)}.{host}"]:
            del self._leaving[run]

    def drop(self, is_meant: Callable[[JobId, str, Iterable[str]], bool]) -> set[JobId]:
        """Forget matching orphaned runs, by job, host and nodes. Return their jobs."""
        places = self._leaving.items()
        gone = {run for run, place in places if is_meant(job_and_attempt(run)[0], *place)}
        self._leaving = {run: place for run, place in self._leaving.items() if run not in gone}
        return {job_and_attempt(run)[0] for run in gone}

    def next_attempt(self, job: LiveJob) -> int:
        """Next attempt number unknown to all supervisors."""
        return max(job.attempt, self._known.pop(job.number, 0)) + 1


def job_and_attempt(run: str) -> tuple[JobId, int]:
    """Job and attempt of a run or step."""
    number, attempt, *_ = run.split(".")
    return JobId(int(number)), int(attempt)


def job_run(run: str) -> str:
    """Step's run; a run returns itself."""
    return ".".join(run.split(".")[:2])


def is_step(run: str) -> bool:
    """Whether a run is a job step."""
    return run.count(".") > 1
