"""Start decisions for live jobs, and replay. Pure.

Equal `InstantEvents` values in equal order give equal starts.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dardis.config.platform_record import platform_from_dict
from dardis.live.power_cap import Cap
from dardis.model.addresses import Address, HostId, JobId, all_hosts
from dardis.model.capacity import outside_profile_reason
from dardis.model.errors import ProtocolError
from dardis.model.events import LayoutChanged, Withdrawn
from dardis.model.job import FOREVER, Job
from dardis.model.platform import Maintenance, Platform, platform_to_dict
from dardis.model.resources import UNKNOWN_END
from dardis.model.target import Split
from dardis.registry import Cluster, find_dispatcher
from dardis.runs.hosts import host_from_plan, host_plan
from dardis.runs.kernel_warmup import warm_kernels as warm_dispatcher
from dardis.transport.base import Hosts
from dardis.transport.local_transport import LocalHosts, LocalPool, Lockstep, in_process_pool
from dardis.turns import LateTurns, Turn
from dardis.wire.effects import ExecutorAction, Placed, Rejected

if TYPE_CHECKING:
    from dardis.node_manager import RelayingHost

DISPATCHER: Final = "dardis-late"
SETTINGS: Final = ("units_per_node=distinct",)
SEED: Final = 1
OVERRUN_S: Final = 30
"""Extension of jobs past their end, s."""


@dataclass(frozen=True, slots=True)
class SchedulingRequest:
    """Job's request: `request` per node by kind, `walltime` in s."""

    job: JobId
    submit: int
    walltime: int
    nodes: int
    request: tuple[int, ...]
    queue: str = ""
    latest: int | None = None
    """Latest start under a soft cap, Unix s."""
    takes: tuple[int, ...] | None = None
    """Of the cap per node, by kind, and mW; None: no cap."""
    expected: int | None = None
    """Predicted runtime, s; None: the walltime."""


@dataclass(frozen=True, slots=True)
class RunningJob:
    """Running job with `left` remaining seconds."""

    request: SchedulingRequest
    nodes: tuple[int, ...]
    remaining_s: int


@dataclass(frozen=True, slots=True)
class InstantEvents:
    """Instant's events."""

    at: int
    """Unix s."""
    ended: tuple[JobId, ...] = ()
    withdrawn: tuple[JobId, ...] = ()
    closed: tuple[int, ...] | None = None
    """Nodes closed from now on; None: unchanged."""
    runs: tuple[RunningJob, ...] = ()
    submitted: tuple[SchedulingRequest, ...] = ()
    others: tuple[int, ...] | None = None
    """Taken of the cap by others from now on, by kind, and mW; None: unchanged."""
    is_new_decider: bool = False
    used: tuple[int, int] = (0, 0)
    """Core seconds that ended jobs requested, and used; of a new decider."""

    def as_dict(self) -> dict[str, Any]:
        """As JSON values."""
        told: dict[str, Any] = {"at": self.at}
        if self.is_new_decider:
            told["anew"] = True
        if self.ended:
            told["ended"] = self.ended
        if self.withdrawn:
            told["withdrawn"] = self.withdrawn
        if self.closed is not None:
            told["closed"] = self.closed
        if self.runs:
            told["runs"] = [[*_request_row(run.request), run.nodes, run.remaining_s] for run in self.runs]
        if self.submitted:
            told["submitted"] = [_request_row(asks) for asks in self.submitted]
        if self.others is not None:
            told["others"] = self.others
        if any(self.used):
            told["used"] = self.used
        return told

    @classmethod
    def from_dict(cls, told: Mapping[str, Any]) -> InstantEvents:
        """From JSON values."""
        closed, others = told.get("closed"), told.get("others")
        return cls(
            told["at"], tuple(told.get("ended", ())), tuple(told.get("withdrawn", ())),
            None if closed is None else tuple(closed),
            tuple(RunningJob(_request_from_row(row), tuple(nodes), left) for *row, nodes, left in told.get("runs", ())),
            tuple(map(_request_from_row, told.get("submitted", ()))), None if others is None else tuple(others),
            told.get("anew", False), tuple(told.get("used", (0, 0))),
        )  # fmt: skip


def _request_row(asks: SchedulingRequest) -> list[Any]:
    row = [
        asks.job, asks.submit, asks.walltime, asks.nodes, asks.request, asks.queue, asks.latest, asks.takes,
        asks.expected,
    ]  # fmt: skip
    while not row[-1] and row[-1] != 0:  # without defaults at the end
        row.pop()
    return row


def _request_from_row(row: Sequence[Any]) -> SchedulingRequest:
    number, submit, walltime, nodes, request, *more = row
    asks = SchedulingRequest(JobId(number), submit, walltime, nodes, tuple(request), *more)
    return asks if asks.takes is None else replace(asks, takes=tuple(asks.takes))


@dataclass(frozen=True, slots=True)
class JobStart:
    """Start of a job on nodes, ascending."""

    job: JobId
    nodes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Instant:
    """Events and starts; for a new decider also the machine."""

    events: InstantEvents
    starts: tuple[JobStart, ...]
    machine: Platform | None = None
    bounds: tuple[int, ...] = ()
    """As `LiveMachine.bounds`."""
    cap: Cap | None = None

    def text(self) -> str:
        """Convert to text for the journal."""
        told = self.events.as_dict() | {"starts": [[start.job, start.nodes] for start in self.starts]}
        if self.machine is not None:
            told |= {"machine": platform_to_dict(self.machine), "bounds": self.bounds}
            if self.cap is not None:
                told["cap"] = self.cap.as_dict()
        return json.dumps(told)

    @classmethod
    def from_text(cls, text: str) -> Instant:
        """Convert from `text`."""
        told = json.loads(text)
        starts = tuple(JobStart(JobId(job), tuple(nodes)) for job, nodes in told["starts"])
        machine = platform_from_dict(told["machine"]) if "machine" in told else None
        cap = Cap.from_dict(told["cap"]) if "cap" in told else None
        return cls(InstantEvents.from_dict(told), starts, machine, tuple(told.get("bounds", ())), cap)


def warm() -> None:
    """Compile kernels in advance, which takes minutes."""
    for hosts in (1, 2):
        warm_dispatcher(find_dispatcher(DISPATCHER), hosts=hosts)
    capped = find_dispatcher(DISPATCHER).with_settings([f"profile_split={Split.SHARED}"])
    warm_dispatcher(capped, wished=True)


def plan_of_hosts(platform: Platform, bounds: tuple[int, ...]) -> dict[str, Any]:
    """Data for a host about its nodes, as JSON values."""
    return host_plan(platform, None, bounds, SEED)


def host_of_plan(plan: dict[str, Any], host: HostId) -> RelayingHost:
    """Node managers of a host."""
    return host_from_plan(plan, host, find_dispatcher(DISPATCHER).with_settings(SETTINGS).pool)


def local_hosts(platform: Platform, bounds: tuple[int, ...]) -> Hosts:
    """All hosts, in this process."""
    plan = plan_of_hosts(platform, bounds)
    hosts = [host_of_plan(plan, host) for host in all_hosts(len(bounds) - 1)]
    return LocalHosts(hosts) if len(hosts) > 1 else LocalPool(hosts[0].pool)


class LiveDecider:
    """Decides starts of jobs on a machine."""

    def __init__(
        self, platform: Platform, bounds: tuple[int, ...], hosts: Hosts, cap: Cap | None = None
    ) -> None:  # fmt: skip
        settings: tuple[str, ...] = SETTINGS
        desired = None
        if cap is not None:
            settings, desired = (*SETTINGS, *cap.settings), cap.desired(platform)
        cluster = Cluster(platform, bounds, SEED, desired=desired, pool=in_process_pool(hosts))
        turns = find_dispatcher(DISPATCHER).with_settings(settings).turns(cluster)
        if not isinstance(turns, LateTurns):
            raise ProtocolError(f"{DISPATCHER} gives no late turns")
        self._turns = turns
        self._lockstep = Lockstep(hosts, self)
        self._platform = platform
        self._closed: tuple[int, ...] = ()
        self._waiting: dict[JobId, Job] = {}
        self._running: dict[JobId, tuple[Job, tuple[int, ...], int]] = {}
        self._starts: list[JobStart] = []
        self._refused: dict[JobId, str] = {}
        self._beyond: dict[JobId, Job] = {}
        self._last = 0

    def wake(self) -> int:
        """Next decision without an event, Unix s (FOREVER: never)."""
        ends = min((end for _, _, end in self._running.values()), default=FOREVER)
        wake = self._turns.wake() if self._waiting else FOREVER
        return min(wake if wake < UNKNOWN_END else FOREVER, ends if self._waiting else FOREVER)

    def decide(self, happened: InstantEvents) -> tuple[list[JobStart], dict[JobId, str]]:
        """Starts, and reasons of refused jobs. Time never decreases.

        Raises HostDownError; then discard the decider.
        """
        now = self._last = max(happened.at, self._last)
        turns = self._turns
        self._starts, self._refused = [], {}
        turns.record_use(*happened.used)
        if turns.wake() <= now:
            turns.on_wake(now)
        if happened.others is not None:
            turns.set_others(happened.others)
            beyond, self._beyond = self._beyond, {}
            for job in beyond.values():
                self._submit(job, now)
        if happened.ended:  # all waiting jobs get a turn, else only new jobs
            self._take(turns.on_job_ends(happened.ended, now), now)
        left = {node for job in happened.ended for node in self._running.pop(job)[1]}
        self._withdraw(happened.withdrawn, now)
        for run in happened.runs:
            self._adopt(self._job(run.request), run.nodes, run.remaining_s, now)
        self._extend(now)
        if happened.closed is not None or not left.isdisjoint(self._closed):
            self._close(self._closed if happened.closed is None else happened.closed, now)
        for asks in happened.submitted:
            self._submit(self._job(asks), now)
        self._take(turns.on_instant_end(now, last=True), now)
        return self._starts, self._refused

    def _submit(self, job: Job, now: int) -> None:
        self._waiting[job.number] = job
        self._take(self._turns.on_submit(job, 0, now), now)

    def _withdraw(self, jobs: tuple[JobId, ...], now: int) -> None:
        known = tuple(job for job in jobs if self._beyond.pop(job, None) is None)
        if known:
            self._take(self._turns.on_change(Withdrawn(known), now), now)
        for job in jobs:
            del self._waiting[job]

    def _close(self, nodes: tuple[int, ...], now: int) -> None:
        self._closed = nodes
        capacity = self._platform.capacity
        less = {node: capacity[node].copy() for node in nodes}
        for job, placed, _ in self._running.values():
            for node in less.keys() & placed:
                less[node] -= job.request
        windows = [Maintenance((node,), now, UNKNOWN_END, tuple(lacks.tolist())) for node, lacks in less.items()]
        machine = replace(self._platform, maintenance=tuple(windows))
        self._take(self._turns.on_change(LayoutChanged(machine), now), now)

    def _adopt(self, job: Job, nodes: tuple[int, ...], left: int, now: int) -> None:
        left = max(left, OVERRUN_S)
        self._running[job.number] = job, nodes, now + left
        placed = np.array(nodes, dtype=np.int64)
        self._take(self._turns.on_adopt(replace(job, walltime=left), placed, now), now)

    def _extend(self, now: int) -> None:
        late = [(number, job, nodes) for number, (job, nodes, end) in self._running.items() if end <= now]
        for number, job, nodes in late:
            self._take(self._turns.on_job_ends([number], now), now)
            self._adopt(job, nodes, OVERRUN_S, now)

    def _take(self, turns: Iterable[Turn], now: int) -> None:
        for turn in turns:
            self._lockstep.run_turn(turn.dialogue, now)

    def _job(self, asks: SchedulingRequest) -> Job:
        submit = min(asks.submit, self._last)
        groups = self._platform.all_groups
        return Job(
            asks.job, submit, submit, asks.latest, asks.walltime, asks.nodes, asks.request, groups, asks.queue,
            prediction=asks.expected, takes=asks.takes,
        )  # fmt: skip

    def execute(self, who: Address, deed: ExecutorAction, now: int) -> None:  # noqa: ARG002 (interface)
        """Record a start or refusal."""
        match deed:
            case Placed(job=number, nodes=placed) if number in self._waiting:
                job, nodes = self._waiting.pop(number), tuple(sorted(placed.tolist()))
                self._running[number] = job, nodes, now + job.walltime
                self._starts.append(JobStart(number, nodes))
            case Rejected(job=number, reason=reason) if reason == outside_profile_reason(Split.SHARED):
                self._beyond[number] = self._waiting[number]
            case Rejected(job=number, reason=reason):
                self._waiting.pop(number, None)
                self._refused[number] = reason


def expected_starts(
    platform: Platform, bounds: tuple[int, ...], cap: Cap | None, events: InstantEvents, most: int
) -> list[tuple[int, JobStart]]:  # fmt: skip
    """Starts (Unix s) if no job comes and all take their walltimes; at most `most` instants.

    `events`: of a new decider.
    """
    decider = LiveDecider(platform, bounds, local_hosts(platform, bounds), cap)
    left = {asks.job: asks.walltime for asks in events.submitted}
    ends = {run.request.job: events.at + max(run.remaining_s, 1) for run in events.runs}
    found = list[tuple[int, JobStart]]()
    for _ in range(most):
        now = events.at
        starts, refused = decider.decide(events)
        found += ((now, start) for start in starts)
        ends |= {start.job: now + left.pop(start.job) for start in starts}
        for job in refused:
            del left[job]
        later = min(min(ends.values(), default=FOREVER), max(decider.wake(), now + 1))
        if not left or later == FOREVER:
            break
        ended = tuple(sorted(job for job, end in ends.items() if end <= later))
        for job in ended:
            del ends[job]
        events = InstantEvents(later, ended)
    return found


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """Replay's result. `differs`: first difference."""

    instants: int
    starts: int
    services: int
    differs: str = ""


def replay(texts: Iterable[str]) -> ReplayResult:
    """Replay a journal from the first start of a service."""
    decider = None
    instants = starts = services = 0
    for text in texts:
        instant = Instant.from_text(text)
        if decider is None and instant.machine is None:
            continue  # the initial state was pruned
        instants += 1
        if instant.machine is not None:
            here = local_hosts(instant.machine, instant.bounds)
            decider, services = LiveDecider(instant.machine, instant.bounds, here, instant.cap), services + 1
        assert decider is not None
        again, _ = decider.decide(instant.events)
        starts += len(again)
        if tuple(again) != instant.starts:
            found = f"instant {instants} (second {instant.events.at}): {again} instead of {list(instant.starts)}"
            return ReplayResult(instants, starts, services, found)
    return ReplayResult(instants, starts, services)
