"""The machines where messages get late, lost, doubled and reordered and nodes crash. Decides nothing, tells the truth.

The executor here is the world: it starts units when a node manager says so, ends them when they have run, and loses
them with their host. What it records is what really happened, whatever the machines believe.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial

from dardis.model.errors import InputError
from dardis.model.job import Job
from dardis.model.platform import Platform
from dardis.model.target import DesiredProfile
from dardis.node_manager import NodePool, RelayingHost
from dardis.node_manager.pool import EVERYBODY
from dardis.sim.spread import layout_of
from dardis.task_manager import LateByTimers, LateSetUp, PlannedManager, Reach, SetUp
from dardis.task_manager.claims.agreed import SLOWEST, Pace
from dardis.task_manager.layout import Layout
from dardis.transport.virtual import Faults, VirtualNetwork
from dardis.wire.effects import ALL_HOSTS, Done, Effect, Forward, Kill, Launch, Placed, Rejected, Send, SetTimer
from dardis.wire.messages import Ended, HostDown, Message, Released, Reserved, Timer

Log = Callable[[int, str], None]
"""Called with the virtual time and what happened."""


@dataclass(frozen=True, slots=True)
class Crash:
    """A host dies at `at` and is back, empty, at `back` (None: never). Task manager m hears of it at `heard[m]`."""

    host: int
    at: int
    back: int | None
    heard: tuple[int, ...]


@dataclass(frozen=True)
class Scenario:
    """All that a run depends on. Host h holds the nodes `[bounds[h], bounds[h+1])`; job i is task manager i mod M's."""

    seed: int
    platform: Platform
    bounds: tuple[int, ...]
    jobs: tuple[Job, ...]
    setup: SetUp | LateSetUp
    managers: int
    pace: Pace
    faults: Faults
    crashes: tuple[Crash, ...] = ()
    desired: DesiredProfile | None = None
    arity: int = 0
    """Children of a host in the tree that task managers ask all hosts through; 0: they ask each."""
    sample: int = 0
    """Nodes that a job asks first, for each of its units; 0: all."""

    def __post_init__(self) -> None:
        """Refuse a network on which task managers may never hear in time."""
        if self.faults.longest_delay > SLOWEST * self.pace.resend:
            found = f"messages take up to {self.faults.longest_delay} s, resend is {self.pace.resend} s"
            raise InputError("pace", found, f"at most {SLOWEST} times resend")


class Fate(StrEnum):
    """How units ended."""

    ENDED = "ended"
    KILLED = "killed"
    CRASHED = "crashed"
    RUNNING = "running"


@dataclass(slots=True)
class UnitRun:
    """Units of a job's attempt that ran on a node in `[start, end)`."""

    job: int
    attempt: int
    node: int
    units: int
    start: int
    end: int
    fate: Fate = Fate.RUNNING


@dataclass
class Host:
    """A living host process: its machine, and what it was told to run by (job, attempt), empty until it has begun."""

    machine: RelayingHost
    launched: dict[tuple[int, int], list[UnitRun]] = field(default_factory=dict)
    released: dict[int, int] = field(default_factory=dict)
    """The last attempt of each job that it has said to have released."""


PoolMaker = Callable[..., NodePool]


class FaultSimulation:
    """One run of a scenario. After `run`, the attributes say what happened."""

    def __init__(self, scenario: Scenario, make_pool: PoolMaker = NodePool, log: Log | None = None) -> None:
        """`make_pool` is called as NodePool is."""
        self.scenario = scenario
        self.runs: list[UnitRun] = []
        """All units that were ever started."""
        self.placed: dict[int, Placed] = {}
        """The last reservation that each job's task manager told of."""
        self.told: dict[int, list[Effect]] = {}
        """What task managers told of each job's end (`Done`, `Rejected`), in order."""
        self.retaken: list[tuple[int, int, int]] = []
        """Host, job and attempt of claims that were reserved after it was said that they were released."""
        self.placements = 0
        """Reservations agreed on, over all jobs."""
        self._log = log
        self._make_pool = make_pool
        self.network = VirtualNetwork(scenario.faults, scenario.seed, self._receive)
        self._jobs = {job.number: job for job in scenario.jobs}
        self._manager_of = {job.number: place % scenario.managers for place, job in enumerate(scenario.jobs)}
        self._incarnation = [0] * (len(scenario.bounds) - 1)
        self.hosts: list[Host | None] = [self._new_host(host) for host in range(len(scenario.bounds) - 1)]
        layout = layout_of(scenario.platform, scenario.bounds, scenario.desired)
        self._managers = [self._new_manager(layout, -1 - manager) for manager in range(scenario.managers)]
        self._plan()

    def _new_manager(self, layout: Layout, address: int) -> PlannedManager | LateByTimers:
        scenario, reach = self.scenario, Reach(self.scenario.arity, self.scenario.sample)
        if isinstance(scenario.setup, LateSetUp):
            return LateByTimers(scenario.setup, layout, scenario.seed, scenario.pace, reach, address)
        return PlannedManager(scenario.setup, layout, scenario.seed, scenario.pace, reach, address)

    def _new_host(self, host: int) -> Host:
        scenario = self.scenario
        first, last = scenario.bounds[host : host + 2]
        pool = self._make_pool(
            scenario.platform, first, last, desired=scenario.desired, host=host, seed=scenario.seed,
            incarnation=self._incarnation[host], report_every=scenario.pace.resend,
        )  # fmt: skip
        return Host(RelayingHost(pool))

    def _plan(self) -> None:
        for place, job in enumerate(self.scenario.jobs):
            manager = place % self.scenario.managers
            self.network.at(job.submit, partial(self._submit, manager, job))
        for crash in self.scenario.crashes:
            self.network.at(crash.at, partial(self._crash, crash))

    def run(self, is_over: Callable[[], bool], most_events: int) -> bool:
        """Let time pass until `is_over`, or nothing is left to happen; return False if neither by `most_events`."""
        while self.network.events < most_events:
            if is_over() or not self.network.step():
                return True
        return False

    @property
    def quiet(self) -> bool:
        """Whether no living host holds a reservation or has an end to tell."""
        return all(host is None or host.machine.pool.idle for host in self.hosts)

    @property
    def renegotiations(self) -> int:
        """Asks and claims after the first, over all jobs."""
        return sum(manager.renegotiations for manager in self._managers)

    def _note(self, now: int, *words: object) -> None:
        if self._log is not None:
            self._log(now, " ".join(map(str, words)))

    def _receive(self, to: int, message: Message, now: int) -> None:
        """Hand a message to a host (address 0 on) or to task manager m (address -1 - m)."""
        if to < 0:
            self._note(now, "task manager", -1 - to, "gets", message)
            self._obey_manager(-1 - to, self._managers[-1 - to].handle(message, now), now)
            return
        host = self.hosts[to]
        self._note(now, "host", to, "misses" if host is None else "gets", message)
        if host is not None:
            self._obey_host(to, host, host.machine.handle(message, now), now)

    def _submit(self, manager: int, job: Job, now: int) -> None:
        self._note(now, "task manager", manager, "gets", job)
        self._obey_manager(manager, self._managers[manager].submit(job, now), now)

    def _obey_manager(self, manager: int, effects: list[Effect], now: int) -> None:
        for effect in effects:
            match effect:
                case Send(to=to, message=message):
                    for host in range(len(self.hosts)) if to == ALL_HOSTS else (to,):
                        self.network.send(host, message)
                case SetTimer(at=at, timer=timer):
                    self.network.at(at, partial(self._receive, -1 - manager, timer))
                case Placed(job=job):
                    self._note(now, "task manager", manager, "says", effect)
                    self.placed[job] = effect
                    self.placements += 1
                case Done(job=job) | Rejected(job=job):
                    self._note(now, "task manager", manager, "says", effect)
                    self.told.setdefault(job, []).append(effect)
                    self._managers[manager].forget(job)

    def _obey_host(self, address: int, host: Host, effects: list[Effect], now: int) -> None:
        for effect in effects:
            self._watch_claims(address, host, effect)
            match effect:
                case Send(to=to, message=message) if to == EVERYBODY:
                    for manager in range(self.scenario.managers):
                        self.network.send(-1 - manager, message)
                case Send(to=job, message=message):
                    self.network.send(-1 - self._manager_of[job], message)
                case Forward(to=to, message=message) if to == address:
                    self._receive(address, message, now)
                case Forward(to=to, message=message):
                    self.network.send(to, message)
                case SetTimer(at=at, timer=timer):
                    self.network.at(at, partial(self._remind, address, host, timer))
                case Launch(job=job, attempt=attempt, at=at):
                    if (job, attempt) in host.launched:
                        raise AssertionError(f"host {address} launches attempt {attempt} of job {job} twice")
                    host.launched[job, attempt] = []
                    self.network.at(at, partial(self._begin, address, host, effect))
                case Kill(job=job, attempt=attempt):
                    self._stop(host.launched.pop((job, attempt), []), Fate.KILLED, now)

    def _watch_claims(self, address: int, host: Host, effect: Effect) -> None:
        match effect:
            case Send(message=Released(job=job, attempt=attempt)):
                host.released[job] = max(attempt, host.released.get(job, attempt))
            case Send(message=Reserved(job=job, attempt=attempt)) if attempt <= host.released.get(job, -1):
                self.retaken.append((address, job, attempt))

    def _remind(self, address: int, host: Host, timer: Timer, now: int) -> None:
        if self.hosts[address] is host:
            self._receive(address, timer, now)

    def _begin(self, address: int, host: Host, launch: Launch, now: int) -> None:
        begun = host.launched.get((launch.job, launch.attempt))
        if begun is None:
            return
        end = min(now + self._jobs[launch.job].duration, launch.until)
        for node, units in zip(launch.nodes.tolist(), launch.units.tolist(), strict=True):
            begun.append(UnitRun(launch.job, launch.attempt, node, units, now, end))
        self.runs += begun
        self._note(now, "host", address, "starts", launch, "for", end - now, "s")
        self.network.at(end, partial(self._end, address, host, launch))

    def _end(self, address: int, host: Host, launch: Launch, now: int) -> None:
        ended = host.launched.pop((launch.job, launch.attempt), None)
        if ended is not None:
            self._stop(ended, Fate.ENDED, now)
            self._receive(address, Ended(launch.job, 0), now)

    @staticmethod
    def _stop(runs: list[UnitRun], fate: Fate, now: int) -> None:
        for run in runs:
            run.end, run.fate = now, fate

    def _crash(self, crash: Crash, now: int) -> None:
        host = self.hosts[crash.host]
        if host is None:
            return
        self._note(now, "host", crash.host, "crashes")
        for runs in host.launched.values():
            self._stop(runs, Fate.CRASHED, now)
        host.launched.clear()
        self.hosts[crash.host] = None
        news = HostDown(crash.host, self._incarnation[crash.host])
        for manager, heard in enumerate(crash.heard):
            self.network.at(heard, partial(self._receive, -1 - manager, news))
        if crash.back is not None:
            self.network.at(crash.back, partial(self._restart, crash.host))

    def _restart(self, host: int, now: int) -> None:
        self._note(now, "host", host, "is back")
        self._incarnation[host] += 1
        self.hosts[host] = self._new_host(host)
