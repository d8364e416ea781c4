"""Simulation of faulty messages and host crashes.

The executor's record shows the actual runs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial

from dardis.model.addresses import Address, HostId, JobId, address_of, all_hosts, is_manager, manager_at
from dardis.model.errors import InputError
from dardis.model.job import ActualJob
from dardis.model.platform import Platform
from dardis.model.target import DesiredProfile
from dardis.node_manager import NodePool, RelayingHost
from dardis.registry import Cluster, Dispatcher
from dardis.task_manager import Reach
from dardis.task_manager.claims.two_phase_claims import SLOWEST, ClaimTimeouts
from dardis.transport.base import receivers
from dardis.transport.local_transport import Interpreter
from dardis.transport.virtual_network import Faults, VirtualNetwork
from dardis.wire.effects import (
    ExecutorAction,
    JobFinished,
    Kill,
    Launch,
    Placed,
    Rejected,
    Reply,
    SendToManager,
    SendToManagers,
    SetTimer,
    ToHosts,
    ToManagers,
)
from dardis.wire.messages import HostDown, Message, Released, Reminder, Reserved, Timer, UnitsEnded

Log = Callable[[int, str], None]
"""Called with time and text."""


@dataclass(frozen=True, slots=True)
class Crash:
    """A host dies at `at` and returns empty at `back` (None: never). Task manager m is notified at `heard[m]`."""

    host: HostId
    at: int
    back: int | None
    notified_at: tuple[int, ...]


@dataclass(frozen=True)
class Scenario:
    """Run's inputs. Host h holds the nodes `[bounds[h], bounds[h+1])`; job i belongs to task manager i mod M."""

    seed: int
    platform: Platform
    bounds: tuple[int, ...]
    jobs: tuple[ActualJob, ...]
    dispatcher: Dispatcher
    managers: int
    pace: ClaimTimeouts
    faults: Faults
    crashes: tuple[Crash, ...] = ()
    desired: DesiredProfile | None = None
    arity: int = 0
    """As `Reach.arity`."""
    sample: int = 0
    """As `Reach.sample`."""

    def __post_init__(self) -> None:
        if self.faults.longest_delay > SLOWEST * self.pace.resend:
            found = f"messages take up to {self.faults.longest_delay} s, resend is {self.pace.resend} s"
            raise InputError("pace", found, f"at most {SLOWEST} times resend")


class RunOutcome(StrEnum):
    """How units ended."""

    ENDED = "ended"
    KILLED = "killed"
    CRASHED = "crashed"
    RUNNING = "running"


@dataclass(slots=True)
class UnitRun:
    """Units of an attempt on a node in `[start, end)`."""

    job: JobId
    attempt: int
    node: int
    units: int
    start: int
    end: int
    outcome: RunOutcome = RunOutcome.RUNNING


@dataclass
class SimulatedHost:
    """Living host: its machine, and launched runs by (job, attempt)."""

    machine: RelayingHost
    launched: dict[tuple[JobId, int], list[UnitRun]] = field(default_factory=dict)
    released: dict[JobId, int] = field(default_factory=dict)


PoolMaker = Callable[..., NodePool]


class FaultSimulation:
    """One run of a scenario."""

    def __init__(self, scenario: Scenario, make_pool: PoolMaker | None = None, log: Log | None = None) -> None:
        """`make_pool` replaces the dispatcher's factory."""
        self.scenario = scenario
        self.runs: list[UnitRun] = []
        self.placed: dict[JobId, Placed] = {}
        """Last reservation of each job."""
        self.told: dict[JobId, list[ExecutorAction]] = {}
        """`JobFinished` and `Rejected` by job."""
        self.retaken: list[tuple[HostId, JobId, int]] = []
        """(host, job, attempt) reserved after release."""
        self.placements = 0
        self._log = log
        self._make_pool = make_pool or scenario.dispatcher.pool
        self.network = VirtualNetwork(scenario.faults, scenario.seed, self._receive)
        self._jobs = {job.number: job for job in scenario.jobs}
        self._incarnation = [0] * (len(scenario.bounds) - 1)
        self.hosts: list[SimulatedHost | None] = [self._new_host(host) for host in all_hosts(len(scenario.bounds) - 1)]
        cluster = Cluster(
            scenario.platform, scenario.bounds, scenario.seed, scenario.desired, task_managers=scenario.managers,
            reach=Reach(scenario.arity, scenario.sample),
        )  # fmt: skip
        self.turns = scenario.dispatcher.turns_by_message(cluster, scenario.pace)
        self._manager_of = {job.number: self.turns.manager_of(place) for place, job in enumerate(scenario.jobs)}
        self._interpreter = Interpreter(self, self, self)
        self._plan()

    def _new_host(self, host: HostId) -> SimulatedHost:
        scenario = self.scenario
        first, last = scenario.bounds[host : host + 2]
        pool = self._make_pool(
            scenario.platform, first, last, desired=scenario.desired, host=host, seed=scenario.seed,
            incarnation=self._incarnation[host], report_every=scenario.pace.resend,
        )  # fmt: skip
        return SimulatedHost(RelayingHost(pool))

    def _plan(self) -> None:
        for place, job in enumerate(self.scenario.jobs):
            self.network.at(job.submit, partial(self._submit, place, job))
        for crash in self.scenario.crashes:
            self.network.at(crash.at, partial(self._crash, crash))

    def run(self, is_over: Callable[[], bool], most_events: int) -> bool:
        """Run until `is_over` or the last event; False: after `most_events`."""
        while self.network.events < most_events:
            if is_over() or not self.network.step():
                return True
        return False

    @property
    def quiet(self) -> bool:
        """Whether no living host holds reservations or unreported ends."""
        return all(host is None or host.machine.pool.idle for host in self.hosts)

    @property
    def renegotiations(self) -> int:
        """See `Negotiation.renegotiations`."""
        return self.turns.renegotiations

    def _note(self, now: int, *words: object) -> None:
        if self._log is not None:
            self._log(now, " ".join(map(str, words)))

    def _receive(self, to: Address, message: Message, now: int) -> None:
        if is_manager(to):
            self._note(now, "task manager", manager_at(to), "gets", message)
            self._interpreter.perform(to, self.turns.on_message(manager_at(to), message, now), now)
            return
        host = self.hosts[to]
        self._note(now, "host", to, "misses" if host is None else "gets", message)
        if host is not None:
            self._interpreter.perform(to, host.machine.handle(message, now), now)

    def _submit(self, place: int, job: ActualJob, now: int) -> None:
        manager = self.turns.manager_of(place)
        self._note(now, "task manager", manager, "gets", job)
        self._interpreter.perform(address_of(manager), self.turns.on_submit(job.job, place, now), now)

    def send(self, who: Address, said: ToHosts, now: int) -> None:
        """See `Network.send`."""
        for host in receivers(said, len(self.hosts)):
            if host == who:
                self._receive(host, said.message, now)
            else:
                self.carry(host, said.message)

    def carry(self, to: Address, message: Message) -> None:
        """Send a message."""
        self.network.send(to, message)

    def send_to_managers(self, who: Address, said: ToManagers, now: int) -> None:  # noqa: ARG002 (the network knows what time it is)
        """See `Network.send_to_managers`."""
        self._watch_claims(HostId(who), said.message)
        match said:
            case SendToManager(job=job):
                addresses = [address_of(self._manager_of[job])]
            case SendToManagers():
                addresses = [address_of(manager) for manager in range(self.scenario.managers)]
            case Reply(to=to):
                addresses = [to]
        for address in addresses:
            self.carry(address, said.message)

    def set(self, who: Address, timer: SetTimer, now: int) -> None:  # noqa: ARG002
        """Timer if the machine survives."""
        machine = self.hosts[who] if not is_manager(who) else None
        self.network.at(timer.at, partial(self._remind, who, machine, timer.timer))

    def _remind(self, who: Address, host: SimulatedHost | None, timer: Timer | Reminder, now: int) -> None:
        if is_manager(who) or self.hosts[who] is host:
            self._receive(who, timer, now)

    def execute(self, who: Address, deed: ExecutorAction, now: int) -> None:
        """Start and kill units."""
        match deed:
            case Launch():
                self._launch(HostId(who), deed)
            case Kill(job=job, attempt=attempt):
                host = self.hosts[who]
                assert host is not None
                self._stop(host.launched.pop((job, attempt), []), RunOutcome.KILLED, now)
            case Placed(job=job):
                assert is_manager(who)
                self._note(now, "task manager", manager_at(who), "says", deed)
                self.placed[job] = deed
                self.placements += 1
            case JobFinished(job=job) | Rejected(job=job):
                assert is_manager(who)
                self._note(now, "task manager", manager_at(who), "says", deed)
                self.told.setdefault(job, []).append(deed)

    def _launch(self, address: HostId, launch: Launch) -> None:
        host, named = self.hosts[address], (launch.job, launch.attempt)
        assert host is not None
        if named in host.launched:
            raise AssertionError(f"host {address} launches attempt {launch.attempt} of job {launch.job} twice")
        host.launched[named] = []
        self.network.at(launch.at, partial(self._begin, address, host, launch))

    def _watch_claims(self, address: HostId, message: Message) -> None:
        host = self.hosts[address]
        assert host is not None
        match message:
            case Released(job=job, attempt=attempt):
                host.released[job] = max(attempt, host.released.get(job, attempt))
            case Reserved(job=job, attempt=attempt) if attempt <= host.released.get(job, -1):
                self.retaken.append((address, job, attempt))

    def _begin(self, address: HostId, host: SimulatedHost, launch: Launch, now: int) -> None:
        begun = host.launched.get((launch.job, launch.attempt))
        if begun is None:
            return
        end = min(now + self._jobs[launch.job].duration, launch.until)
        for node, units in zip(launch.nodes.tolist(), launch.units.tolist(), strict=True):
            begun.append(UnitRun(launch.job, launch.attempt, node, units, now, end))
        self.runs += begun
        self._note(now, "host", address, "starts", launch, "for", end - now, "s")
        self.network.at(end, partial(self._end, address, host, launch))

    def _end(self, address: HostId, host: SimulatedHost, launch: Launch, now: int) -> None:
        ended = host.launched.pop((launch.job, launch.attempt), None)
        if ended is not None:
            self._stop(ended, RunOutcome.ENDED, now)
            self._receive(address, UnitsEnded(launch.job, 0), now)

    @staticmethod
    def _stop(runs: list[UnitRun], fate: RunOutcome, now: int) -> None:
        for run in runs:
            run.end, run.outcome = now, fate

    def _crash(self, crash: Crash, now: int) -> None:
        host = self.hosts[crash.host]
        if host is None:
            return
        self._note(now, "host", crash.host, "crashes")
        for runs in host.launched.values():
            self._stop(runs, RunOutcome.CRASHED, now)
        host.launched.clear()
        self.hosts[crash.host] = None
        news = HostDown(crash.host, self._incarnation[crash.host])
        for manager, heard in enumerate(crash.notified_at):
            self.network.at(heard, partial(self._receive, address_of(manager), news))
        if crash.back is not None:
            self.network.at(crash.back, partial(self._restart, crash.host))

    def _restart(self, host: HostId, now: int) -> None:
        self._note(now, "host", host, "is back")
        self._incarnation[host] += 1
        self.hosts[host] = self._new_host(host)
