"""When and where live jobs start: late binding's turns for an instant, and the replay of a journal. Pure.

The same `Happened`, in the same order, bring the same starts: `dardis journal replay` relies on it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dardis.config.platform_record import platform_from_dict
from dardis.model.addresses import Address, HostId, JobId, all_hosts
from dardis.model.errors import ProtocolError
from dardis.model.events import LaidOutAnew, Withdrawn
from dardis.model.job import FOREVER, Job
from dardis.model.platform import Maintenance, Platform, platform_to_dict
from dardis.model.resources import NOBODY_KNOWS
from dardis.registry import Cluster, find_dispatcher
from dardis.runs.hosts import host_from_plan, host_plan
from dardis.runs.kernel_warmup import warm as warm_dispatcher
from dardis.transport.base import Hosts
from dardis.transport.local_transport import LocalHosts, LocalPool, Lockstep, pool_here
from dardis.turns import LateTurns, Turn
from dardis.wire.effects import Deed, Placed, Rejected

if TYPE_CHECKING:
    from dardis.node_manager import RelayingHost

DISPATCHER: Final = "dardis-late"
SETTINGS: Final = ("units_per_node=distinct",)
SEED: Final = 1
OVERRUN_S: Final = 30
"""For how long at a time nodes stay taken of a job that should be over by now, s."""


@dataclass(frozen=True, slots=True)
class Asks:
    """What a job that may start asks for: `nodes` different nodes, on each `request`, by kind, for `walltime` s."""

    job: JobId
    submit: int
    walltime: int
    nodes: int
    request: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Runs:
    """A job that runs on these nodes already, and its nodes are taken for so many s more, as far as is known."""

    asks: Asks
    nodes: tuple[int, ...]
    left: int


@dataclass(frozen=True, slots=True)
class Happened:
    """What has happened at an instant, in the order in which it is told."""

    at: int
    """Unix s."""
    ended: tuple[JobId, ...] = ()
    """Jobs that ran, and whose nodes are empty."""
    withdrawn: tuple[JobId, ...] = ()
    """Jobs that waited."""
    closed: tuple[int, ...] | None = None
    """The nodes on which nothing may start from now on, if that has changed."""
    runs: tuple[Runs, ...] = ()
    submitted: tuple[Asks, ...] = ()
    anew: bool = False
    """Whether nothing is known of what was before."""

    def as_dict(self) -> dict[str, Any]:
        """As plain values."""
        told: dict[str, Any] = {"at": self.at}
        if self.anew:
            told["anew"] = True
        if self.ended:
            told["ended"] = self.ended
        if self.withdrawn:
            told["withdrawn"] = self.withdrawn
        if self.closed is not None:
            told["closed"] = self.closed
        if self.runs:
            told["runs"] = [[*_asks_row(run.asks), run.nodes, run.left] for run in self.runs]
        if self.submitted:
            told["submitted"] = [_asks_row(asks) for asks in self.submitted]
        return told

    @classmethod
    def from_dict(cls, told: Mapping[str, Any]) -> Happened:
        """What `as_dict` has told."""
        closed = told.get("closed")
        return cls(
            told["at"], tuple(told.get("ended", ())), tuple(told.get("withdrawn", ())),
            None if closed is None else tuple(closed),
            tuple(Runs(_asks(row[:5]), tuple(row[5]), row[6]) for row in told.get("runs", ())),
            tuple(map(_asks, told.get("submitted", ()))), told.get("anew", False),
        )  # fmt: skip


def _asks_row(asks: Asks) -> list[Any]:
    return [asks.job, asks.submit, asks.walltime, asks.nodes, asks.request]


def _asks(row: Iterable[Any]) -> Asks:
    number, submit, walltime, nodes, request = row
    return Asks(JobId(number), submit, walltime, nodes, tuple(request))


@dataclass(frozen=True, slots=True)
class Start:
    """A job is to start now on these nodes, ascending."""

    job: JobId
    nodes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Instant:
    """What had happened, and who was started by it; where nothing was known before, on what machine, of what hosts."""

    happened: Happened
    starts: tuple[Start, ...]
    machine: Platform | None = None
    bounds: tuple[int, ...] = ()
    """Host h holds the nodes [bounds[h], bounds[h+1])."""

    def text(self) -> str:
        """For the journal."""
        told = self.happened.as_dict() | {"starts": [[start.job, start.nodes] for start in self.starts]}
        if self.machine is not None:
            told |= {"machine": platform_to_dict(self.machine), "bounds": self.bounds}
        return json.dumps(told)

    @classmethod
    def from_text(cls, text: str) -> Instant:
        """What `text` has told."""
        told = json.loads(text)
        starts = tuple(Start(JobId(job), tuple(nodes)) for job, nodes in told["starts"])
        machine = platform_from_dict(told["machine"]) if "machine" in told else None
        return cls(Happened.from_dict(told), starts, machine, tuple(told.get("bounds", ())))


def warm() -> None:
    """Have the kernels that decisions need: to compile them takes minutes, in which nobody would be answered."""
    for hosts in (1, 2):
        warm_dispatcher(find_dispatcher(DISPATCHER), hosts=hosts)


def plan_of_hosts(platform: Platform, bounds: tuple[int, ...]) -> dict[str, Any]:
    """What a host must know to hold its nodes, as plain values that travel."""
    return host_plan(platform, None, bounds, SEED)


def host_of_plan(plan: dict[str, Any], host: HostId) -> RelayingHost:
    """The node managers of one host; nothing has happened there."""
    return host_from_plan(plan, host, find_dispatcher(DISPATCHER).with_settings(SETTINGS).pool)


def hosts_here(platform: Platform, bounds: tuple[int, ...]) -> Hosts:
    """All hosts in this process."""
    plan = plan_of_hosts(platform, bounds)
    hosts = [host_of_plan(plan, host) for host in all_hosts(len(bounds) - 1)]
    return LocalHosts(hosts) if len(hosts) > 1 else LocalPool(hosts[0].pool)


class Decider:
    """Gives turns to the jobs of one machine, whose nodes have the last word."""

    def __init__(self, platform: Platform, bounds: tuple[int, ...], hosts: Hosts) -> None:
        """Nothing has happened. Host h holds the nodes [bounds[h], bounds[h+1])."""
        turns = (
            find_dispatcher(DISPATCHER)
            .with_settings(SETTINGS)
            .turns(Cluster(platform, bounds, SEED, pool=pool_here(hosts)))
        )
        if not isinstance(turns, LateTurns):
            raise ProtocolError(f"{DISPATCHER} gives no late turns")
        self._turns = turns
        self._lockstep = Lockstep(hosts, self)
        self._platform = platform
        self._closed: tuple[int, ...] = ()
        self._waiting: dict[JobId, Job] = {}
        self._running: dict[JobId, tuple[Job, tuple[int, ...], int]] = {}
        """Jobs, their nodes, and until when these are taken."""
        self._starts: list[Start] = []
        self._refused: dict[JobId, str] = {}
        self._last = 0

    def wake(self) -> int:
        """The next time, Unix s, at which something is to be decided though nothing happens (FOREVER: never)."""
        ends = min((end for _, _, end in self._running.values()), default=FOREVER)
        wake = self._turns.wake() if self._waiting else FOREVER
        return min(wake if wake < NOBODY_KNOWS else FOREVER, ends if self._waiting else FOREVER)

    def decide(self, happened: Happened) -> tuple[list[Start], dict[JobId, str]]:
        """Who starts now and where; who never will, and why. Time does not run backwards here, whatever clocks do.

        Raises HostDownError where a host does not answer: nothing that was decided counts, nor does this decider then.
        """
        now = self._last = max(happened.at, self._last)
        turns = self._turns
        self._starts, self._refused = [], {}
        if turns.wake() <= now:
            turns.woken(now)
        if happened.ended:  # then all that wait have a turn, else who is new
            self._take(turns.ended(happened.ended, now), now)
        left = {node for job in happened.ended for node in self._running.pop(job)[1]}
        self._withdraw(happened.withdrawn, now)
        for run in happened.runs:
            self._adopt(self._job(run.asks), run.nodes, run.left, now)
        self._extend(now)
        if happened.closed is not None or not left.isdisjoint(self._closed):
            self._close(self._closed if happened.closed is None else happened.closed, now)
        for asks in happened.submitted:
            self._submit(self._job(asks), now)
        self._take(turns.over(now, last=True), now)
        return self._starts, self._refused

    def _submit(self, job: Job, now: int) -> None:
        self._waiting[job.number] = job
        self._take(self._turns.submitted(job, 0, now), now)

    def _withdraw(self, jobs: tuple[JobId, ...], now: int) -> None:
        if jobs:
            self._take(self._turns.changed(Withdrawn(jobs), now), now)
            for job in jobs:
                del self._waiting[job]

    def _close(self, nodes: tuple[int, ...], now: int) -> None:
        """Let nothing start on these nodes; what runs there goes on, and nodes keep what that needs."""
        self._closed = nodes
        capacity = self._platform.capacity
        less = {node: capacity[node].copy() for node in nodes}
        for job, placed, _ in self._running.values():
            for node in less.keys() & placed:
                less[node] -= job.request
        windows = [Maintenance((node,), now, NOBODY_KNOWS, tuple(lacks.tolist())) for node, lacks in less.items()]
        machine = replace(self._platform, maintenance=tuple(windows))
        self._take(self._turns.changed(LaidOutAnew(machine), now), now)

    def _adopt(self, job: Job, nodes: tuple[int, ...], left: int, now: int) -> None:
        """Let a job that runs have its nodes for so many s more."""
        left = max(left, OVERRUN_S)
        self._running[job.number] = job, nodes, now + left
        placed = np.array(nodes, dtype=np.int64)
        self._take(self._turns.adopted(replace(job, walltime=left), placed, now), now)

    def _extend(self, now: int) -> None:
        """Nodes of jobs that should be over stay taken."""
        late = [(number, job, nodes) for number, (job, nodes, end) in self._running.items() if end <= now]
        for number, job, nodes in late:
            self._take(self._turns.ended([number], now), now)
            self._adopt(job, nodes, OVERRUN_S, now)

    def _take(self, turns: Iterable[Turn], now: int) -> None:
        for turn in turns:
            self._lockstep.hold(turn.talk, now)

    def _job(self, asks: Asks) -> Job:
        """Handed in now at the latest, and free to start, though the clock was ahead when it came."""
        submit = min(asks.submit, self._last)
        return Job(asks.job, submit, submit, None, asks.walltime, asks.nodes, asks.request, self._platform.all_groups)

    def execute(self, who: Address, deed: Deed, now: int) -> None:  # noqa: ARG002 (whoever says it)
        """Keep what is to be done."""
        match deed:
            case Placed(job=number, nodes=placed) if number in self._waiting:
                job, nodes = self._waiting.pop(number), tuple(sorted(placed.tolist()))
                self._running[number] = job, nodes, now + job.walltime
                self._starts.append(Start(number, nodes))
            case Rejected(job=number, reason=reason):
                self._waiting.pop(number, None)
                self._refused[number] = reason


@dataclass(frozen=True, slots=True)
class Replayed:
    """What came of it: instants, starts, how often the service began anew, and where the first start differs."""

    instants: int
    starts: int
    services: int
    differs: str = ""


def replay(texts: Iterable[str]) -> Replayed:
    """Replay the instants of a journal, in order, from the first start of the service on that it has."""
    decider = None
    instants = starts = services = 0
    for text in texts:
        instant = Instant.from_text(text)
        if decider is None and instant.machine is None:
            continue  # what it began with is not kept any more
        instants += 1
        if instant.machine is not None:
            here = hosts_here(instant.machine, instant.bounds)
            decider, services = Decider(instant.machine, instant.bounds, here), services + 1
        assert decider is not None
        again, _ = decider.decide(instant.happened)
        starts += len(again)
        if tuple(again) != instant.starts:
            found = f"instant {instants} (second {instant.happened.at}): {again} instead of {list(instant.starts)}"
            return Replayed(instants, starts, services, found)
    return Replayed(instants, starts, services)
