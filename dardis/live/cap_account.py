"""What jobs take of the cap of a live service.

The share of a node is its idle power plus the power of the jobs ordered there. A start order raises it; the record of
the end, from the job supervisor, confirms that it is lower. So the share of an unreachable host stays until the host
confirms or is given up. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable

from dardis.live.live_jobs import LiveJob
from dardis.live.machine import LiveMachine
from dardis.live.power_cap import Cap, CapUse
from dardis.model.addresses import JobId
from dardis.model.resources import CORES
from dardis.power.unit_power import MILLI


class CapAccount:
    """The cap, and what running jobs and others take of it."""

    def __init__(self, machine: LiveMachine, cap: Cap | None) -> None:
        self.cap = cap
        self._machine = machine
        self._taken: dict[JobId, tuple[int, int]] = {}
        """mW and cores of running jobs."""
        self._jobs = self._others = 0, 0
        """mW and cores of all running jobs, and of others."""

    def on_start(self, job: LiveJob) -> None:
        """Count a running job."""
        self.on_end(job.number)
        self._taken[job.number] = taken = self._need(job)
        self._jobs = self._jobs[0] + taken[0], self._jobs[1] + taken[1]

    def on_end(self, number: JobId) -> None:
        """Count a job no more."""
        taken = self._taken.pop(number, (0, 0))
        self._jobs = self._jobs[0] - taken[0], self._jobs[1] - taken[1]

    def _need(self, job: LiveJob) -> tuple[int, int]:
        asked, cores = job.submission.request, self._machine.platform.kinds.index(CORES)
        return asked.nodes * self._machine.node_mw(asked), asked.nodes * self._machine.request(asked)[cores]

    def others(self, nodes: Iterable[str], jobs: Iterable[LiveJob]) -> tuple[int, ...] | None:
        """Amounts by kind, and mW, that others take of the cap: busy `nodes`, and `jobs` unknown to the decider.

        None: no cap.
        """
        if self.cap is None:
            return None
        machine = self._machine
        platform, cores = machine.platform, machine.platform.kinds.index(CORES)
        busy = [node for name in nodes if (node := machine.node(name)) is not None]
        mw, count = int(machine.power.busy_mw[busy].sum()), int(platform.capacity[busy, cores].sum())
        for job in jobs:
            job_mw, job_cores = self._need(job)
            mw, count = mw + job_mw, count + job_cores
        self._others = mw, count
        amounts = [0] * len(platform.kinds)
        amounts[cores] = count
        return *amounts, mw

    def use(self, now: int) -> CapUse | None:
        """What is taken of the cap now, W or cores; None: no cap."""
        if self.cap is None:
            return None
        limit, used = self.cap.at(now), float(self._jobs[1] + self._others[1])
        if self.cap.is_power:
            used = (self._jobs[0] + self._others[0] + int(self._machine.power.idle_mw.sum())) / MILLI
        return CapUse(limit, used, 0.0 if limit is None else max(used - limit, 0.0))

    def wait_reason(self, job: LiveJob, now: int) -> str:
        """Why the cap delays a job now; empty: it does not."""
        use = self.use(now)
        if use is None or use.limit is None or self.cap is None:
            return ""
        mw, cores = self._need(job)
        need, left = mw / MILLI if self.cap.is_power else cores, max(use.limit - use.used, 0.0)
        if need <= left:
            return ""
        unit = "W" if self.cap.is_power else "cores"
        return f"waits for the cap: it adds {need:.10g} {unit}, and {left:.10g} of {use.limit:.10g} {unit} are left"
