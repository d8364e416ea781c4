"""Jobs' shares of a live service's cap, and known power. Pure.

A node's share: idle power plus power of jobs ordered there. A start order raises it; only the supervisor's record of
the end lowers it, or giving up the host.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from dardis.live.live_jobs import LiveJob
from dardis.live.machine import LiveMachine
from dardis.live.power_cap import Cap, CapUse
from dardis.model.addresses import JobId
from dardis.model.moments import utc_text
from dardis.model.resources import CORES
from dardis.power.unit_power import MILLI

REMEMBERED: Final = 10
"""Ends of similar jobs that are remembered."""
MOST_KINDS: Final = 10_000
RENEW_S: Final = 60
"""Least time between decisions because of changed power, s."""
LONGEST_GAP_S: Final = 60.0
"""Between two measurements, to count, s."""
LEAST_S: Final = 20.0
"""Least measured time of a job, s."""
RISE_S: Final = 20.0
"""After it, measurements show a new job's power, s."""

_Kind = tuple[int, str, int, int, bool]


def _kind_of(job: LiveJob) -> _Kind:
    asked = job.submission.request
    return job.submission.user.uid, asked.name, asked.cpus, asked.gpus, asked.exclusive


@dataclass(slots=True)
class _Taken:
    job: LiveJob
    mw: int
    cores: int
    joules: float = 0.0
    node_s: float = 0.0


class CapAccount:
    """Cap, and what is taken of it."""

    def __init__(self, machine: LiveMachine, cap: Cap | None) -> None:
        self.cap = cap
        self._machine = machine
        self._taken: dict[JobId, _Taken] = {}
        self._mw = self._cores = 0
        self._version = 0
        self._left_at: tuple[tuple[int, int, int], list[tuple[int, int]]] = ((0, -1, 0), [])
        self._others = 0, 0
        """mW and cores of others."""
        self._known: dict[_Kind, deque[int]] = {}
        """Power per node of the last similar jobs, mW."""
        self._is_known_changed, self._renewed_ms = False, 0
        self.measured: Mapping[str, float] = {}
        """Measured power of nodes, W."""
        self._measured_ms = 0

    # ------------------------------------------------------------------------------------------------------------------

    def node_mw(self, job: LiveJob) -> int:
        """Added power per node, mW, as ordered, stated, measured of similar jobs, or by the platform."""
        if job.node_mw is not None:
            return job.node_mw
        known = self._known_mw(job)
        return self._machine.node_mw(job.submission.request) if known is None else known

    def _known_mw(self, job: LiveJob) -> int | None:
        if job.submission.request.watts is not None:
            return None
        return max(self._known.get(_kind_of(job), ()), default=None)

    def fix_power(self, job: LiveJob) -> None:
        """Fix the power of a job's next start."""
        job.node_mw = None
        job.node_mw = self.node_mw(job)

    def has_news(self, waiting: Iterable[LiveJob], now_ms: int) -> bool:
        """Whether changed power of waiting jobs requires a decision."""
        if not self._is_known_changed or now_ms < self._renewed_ms + RENEW_S * 1000:
            return False
        self._is_known_changed, self._renewed_ms = False, now_ms
        return any(self._known_mw(job) not in (None, job.node_mw) for job in waiting)

    def on_start(self, job: LiveJob) -> None:
        """Count a running job."""
        self.on_end(job)
        mw, cores = self._need(job)
        self._taken[job.number] = _Taken(job, mw, cores)
        self._mw, self._cores, self._version = self._mw + mw, self._cores + cores, self._version + 1

    def on_end(self, job: LiveJob) -> None:
        """Drop a running job; remember its measured power."""
        if (taken := self._taken.pop(job.number, None)) is None:
            return
        self._mw, self._cores, self._version = self._mw - taken.mw, self._cores - taken.cores, self._version + 1
        if taken.node_s >= LEAST_S:
            job.measured_mw = round(taken.joules * MILLI / taken.node_s)
            self.remember(job)

    def remember(self, job: LiveJob) -> None:
        """Use an ended job's measured power for similar ones."""
        if job.measured_mw is not None:
            known = self._known.pop(_kind_of(job), deque[int](maxlen=REMEMBERED))
            known.append(job.measured_mw)
            self._known[_kind_of(job)] = known  # the latest last
            if len(self._known) > MOST_KINDS:
                del self._known[next(iter(self._known))]
            self._is_known_changed = True

    def takes(self, job: LiveJob) -> tuple[int, ...]:
        """What a job takes of the cap per node, by kind, and mW; exclusive jobs: all cores."""
        asked, machine = job.submission.request, self._machine
        amounts = [0] * len(machine.platform.kinds)
        amounts[machine.platform.kinds.index(CORES)] = machine.most_cores if asked.exclusive else asked.cpus
        return *amounts, self.node_mw(job)

    def _need(self, job: LiveJob) -> tuple[int, int]:
        takes, nodes = self.takes(job), job.submission.request.nodes
        return nodes * takes[-1], nodes * takes[self._machine.platform.kinds.index(CORES)]

    # ------------------------------------------------------------------------------------------------------------------

    def on_power(self, watts: Mapping[str, float], used_cores: Mapping[str, int], now_ms: int) -> None:
        """Take the measured power of nodes, W; empty: no measurement. `used_cores`: by node."""
        seconds = (now_ms - self._measured_ms) / 1000
        if self.measured and 0 < seconds <= LONGEST_GAP_S:
            for taken in self._taken.values():
                self._add_energy(taken, watts, used_cores, seconds)
        self.measured, self._measured_ms = watts, now_ms

    def _add_energy(
        self, taken: _Taken, watts: Mapping[str, float], used_cores: Mapping[str, int], seconds: float
    ) -> None:
        if taken.job.started_ms is None or taken.job.started_ms > self._measured_ms:
            return  # a part of the time alone
        for share in taken.job.shares:
            node = self._machine.node(share.node)
            if node is None or share.node not in watts or not used_cores.get(share.node):
                continue
            added_w = max(watts[share.node] - self._machine.power.idle_mw[node] / MILLI, 0.0)
            taken.joules += added_w * seconds * len(share.cores) / used_cores[share.node]
            taken.node_s += seconds

    def _correction_mw(self) -> int:
        """Measured power beyond the expected; jobs that have just begun come on top."""
        if self.cap is None or not self.cap.is_measured:
            return 0
        correction = 0.0
        for name, watts in self.measured.items():
            if (node := self._machine.node(name)) is not None:
                correction += watts * MILLI - float(self._machine.power.idle_mw[node])
        for taken in self._taken.values():
            since_ms = taken.job.started_ms
            if since_ms is not None and since_ms + RISE_S * 1000 <= self._measured_ms:
                share = sum(one.node in self.measured for one in taken.job.shares) / max(len(taken.job.shares), 1)
                correction -= taken.mw * share
        return round(correction)

    def left_mw(self, now: int) -> list[tuple[int, int]]:
        """Rest of a power cap from now on; empty: no limit."""
        return self._left(now) if self.cap is not None and self.cap.is_power else []

    def _left(self, now: int) -> list[tuple[int, int]]:
        """What is left of the cap by running jobs and their walltimes, mW or cores, in steps of Unix s.

        Within a step the value may rise.
        """
        if self.cap is None:
            return []
        is_power = self.cap.is_power
        fixed = self._others[0] + int(self._machine.power.idle_mw.sum()) if is_power else self._others[1]
        times = [now, *(time for time, _ in self.cap.steps if time > now)]
        ends = [(self._end_s(one.job, now), one.mw if is_power else one.cores) for one in self._taken.values()]
        return [
            (time, limit * (MILLI if is_power else 1) - fixed - sum(need for end_s, need in ends if end_s > time))
            for time in times if (limit := self.cap.at(time)) is not None
        ]  # fmt: skip

    @staticmethod
    def _end_s(job: LiveJob, now: int) -> int:
        since = now if job.started_ms is None else job.started_ms // 1000
        return max(since + job.submission.request.walltime_s, now + 1)

    def others(
        self, orphans: Iterable[tuple[Sequence[str], LiveJob | None]], jobs: Iterable[LiveJob], saved_mw: int = 0
    ) -> tuple[int, ...] | None:  # fmt: skip
        """Amounts by kind, and mW, that orphaned runs and `jobs` unknown to the decider take; None: no cap.

        A node of an orphaned run counts as busy, or as its job if that takes more; a removed one as the largest.
        `saved_mw`, the idle power of nodes off, is subtracted. A measured cap adds measured minus expected power.
        """
        if self.cap is None:
            return None
        machine = self._machine
        platform, cores = machine.platform, machine.platform.kinds.index(CORES)
        busy: dict[str, tuple[int, int]] = {}
        for names, job in orphans:
            takes = None if job is None else self.takes(job)
            job_mw, job_cores = (0, 0) if takes is None else (takes[-1], takes[cores])
            for name in names:
                node, (busy_mw, busy_cores) = machine.node(name), busy.get(name, (0, 0))
                full_mw = machine.power.busy_mw.max() if node is None else machine.power.busy_mw[node]
                full_cores = machine.most_cores if node is None else platform.capacity[node, cores]
                busy[name] = max(busy_mw + job_mw, int(full_mw)), max(busy_cores + job_cores, int(full_cores))
        mw, count = sum(mw for mw, _ in busy.values()), sum(of for _, of in busy.values())
        mw, known_mw, known_cores = mw + self._correction_mw() - saved_mw, 0, 0
        for job in jobs:
            job_mw, job_cores = self._need(job)
            mw, count = mw + job_mw, count + job_cores
            if job.number in self._taken:  # it runs on removed nodes, so it counts here
                known_mw, known_cores = known_mw + job_mw, known_cores + job_cores
        self._others, self._version = (mw - known_mw, count - known_cores), self._version + 1
        amounts = [0] * len(platform.kinds)
        amounts[cores] = count
        return *amounts, mw

    def shares(self, off: Container[str] = ()) -> Iterator[tuple[str, int]]:
        """Share of each node, mW. `off`: nodes off."""
        jobs: dict[str, int] = {}
        for taken in self._taken.values():
            for share in taken.job.shares:
                jobs[share.node] = jobs.get(share.node, 0) + taken.mw // len(taken.job.shares)
        for node, name in enumerate(self._machine.names):
            power = self._machine.power.off_mw if name in off else self._machine.power.idle_mw
            yield name, int(power[node]) + jobs.get(name, 0)

    def use(self, now: int) -> CapUse | None:
        """What is taken of the cap, W or cores; None: no cap."""
        if self.cap is None:
            return None
        limit, (watts, cores) = self.cap.at(now), self.sums(0)
        used = watts if self.cap.is_power else float(cores)
        return CapUse(limit, used, 0.0 if limit is None else max(used - limit, 0.0))

    def sums(self, saved_mw: int) -> tuple[float, int]:
        """W and cores taken by nodes and jobs. `saved_mw`: of nodes off, also without a cap."""
        others_mw, others_cores = (-saved_mw, 0) if self.cap is None else self._others
        idle_mw = int(self._machine.power.idle_mw.sum())
        return (self._mw + others_mw + idle_mw) / MILLI, self._cores + others_cores

    def wait_reason(self, job: LiveJob, now: int) -> str:
        """Why the cap delays a job; empty: no delay."""
        if self.cap is None:
            return ""
        key = now, self._version, id(self.cap)
        if self._left_at[0] != key:
            self._left_at = key, self._left(now)
        mw, cores = self._need(job)
        need, unit, part = (mw, "W", MILLI) if self.cap.is_power else (cores, "cores", 1)
        until = now + job.submission.request.walltime_s
        for time, left in self._left_at[1]:
            if time < until and need > left:
                at = "now" if time == now else f"from {utc_text(time, seconds=True)} on"
                return f"waits for the cap: it adds {need / part:.10g} {unit}, {max(left, 0) / part:.10g} are left {at}"
        return ""
