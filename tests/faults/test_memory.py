"""What machines hold does not grow with a stream of jobs without an end, whatever comes late."""

from __future__ import annotations

import gc
import tracemalloc
from collections import deque
from collections.abc import Mapping
from copy import deepcopy

import pytest
from faults.broken import NeverForgets
from kit.actual import actual
from kit.dispatchers import dispatcher_of

from dardis.model.platform import NodeGroup, Platform
from dardis.model.randomness import stream
from dardis.registry import BUILT_IN_DISPATCHERS
from dardis.sim.fault_simulation import FaultSimulation, PoolMaker, Scenario
from dardis.task_manager import LateSetUp
from dardis.task_manager.claims.two_phase_claims import ClaimTimeouts
from dardis.transport.virtual_network import Faults
from dardis.wire.effects import ExecutorAction, JobFinished, Rejected
from dardis.wire.messages import PublishRequest

IN_SYSTEM = 100
REST_S, LOOKS = 10_000, 8
SET_UPS = {"drawn": BUILT_IN_DISPATCHERS["dardis-throughput"], "late": dispatcher_of(LateSetUp(aged_after_s=300))}


class _Nothing(list):
    """A list that stays empty."""

    def __iadd__(self, more):
        return self


class _Forgetful(dict):
    """A mapping that stays empty."""

    def __setitem__(self, key, value):
        pass


class _Managers(Mapping):
    """Which task manager a job has, without a table."""

    def __init__(self, count: int) -> None:
        self._count = count

    def __getitem__(self, job: int) -> int:
        return job % self._count

    def __iter__(self):
        return iter(())

    def __len__(self) -> int:
        return 0


class Stream(FaultSimulation):
    """Machines with `IN_SYSTEM` jobs of up to 64 cores: they wait for each other at 64 cores a node only."""

    def __init__(
        self, setup: str, *, hosts: int = 4, cores: int = 64, arity: int = 0, managers: int = 2,
        make_pool: PoolMaker | None = None, seed: int = 1,
    ) -> None:  # fmt: skip
        delay = 4
        faults = Faults(delay, drop=0.05, duplicate=0.1, longest_duplicate_delay=2000)
        platform = Platform("busy", (NodeGroup("n", hosts, {"cores": cores}),))
        pace = ClaimTimeouts(patience=8, resend=8, lead=30)
        bounds = tuple(range(hosts + 1))
        scenario = Scenario(seed, platform, bounds, (), SET_UPS[setup], managers, pace, faults, arity=arity)
        super().__init__(scenario, make_pool)
        self.runs, self.placed, self._manager_of = _Nothing(), _Forgetful(), _Managers(managers)
        for host in self.hosts:
            assert host is not None
            host.released = _Forgetful()
        self.begun = self.ended = 0
        self._wanted = 0
        self._draws = stream(seed, "jobs")

    def _next_job(self, now: int) -> None:
        if self.begun == self._wanted:
            return
        self.begun += 1
        walltime, units, cores = (int(self._draws.integers(1, most)) for most in (90, 9, 9))
        runtime = int(self._draws.integers(1, walltime + 5))
        self._jobs[self.begun] = job = actual(self.begun, now, now, None, walltime, units, (cores,), 1, runtime=runtime)
        self._submit(self.begun, job, now)

    def serve(self, jobs: int) -> None:
        """Let so many jobs end in all, and all be quiet then."""
        self._wanted = jobs
        for _ in range(IN_SYSTEM):
            self._next_job(self.network.now)
        while self.network.step():
            pass
        assert self.ended == jobs
        assert self.quiet

    def rest(self) -> None:
        """Let much time pass, and then nodes publish, so that machines drop whatever has expired."""
        self.network.at(self.network.now + REST_S, self._look)
        while self.network.step():
            pass

    def _look(self, now: int) -> None:  # noqa: ARG002 (the network knows)
        for host in LOOKS * [*range(len(self.hosts))]:
            self.network.send(host, PublishRequest())

    def execute(self, who: int, deed: ExecutorAction, now: int) -> None:
        super().execute(who, deed, now)
        if isinstance(deed, JobFinished | Rejected):
            del self.told[deed.job], self._jobs[deed.job]
            self.ended += 1
            self.network.at(now + 1, self._next_job)


KINDS = [{"setup": setup, "arity": arity} for setup in ("drawn", "late") for arity in (0, 2)]


def some(*gate):
    """All kinds; those of other places than these are slow."""
    marks = [[] if place in gate else pytest.mark.slow for place in range(len(KINDS))]
    return [pytest.param(kind, id=str(kind), marks=mark) for kind, mark in zip(KINDS, marks, strict=True)]


def entries(thing: object, seen: set[int] | None = None) -> int:
    """How much is in all tables, lists and sets of a machine (arrays have room to spare from the beginning)."""
    seen = set() if seen is None else seen
    if id(thing) in seen:
        return 0
    seen.add(id(thing))
    if isinstance(thing, dict):
        return len(thing) + sum(entries(part, seen) for part in thing.values())
    if isinstance(thing, list | tuple | set | frozenset | deque):
        return len(thing) + sum(entries(part, seen) for part in thing)
    if not any(kind.__module__.startswith("dardis.") for kind in type(thing).__mro__):
        return 0
    names = [*getattr(thing, "__dict__", {}), *getattr(type(thing), "__slots__", ())]
    return sum(entries(getattr(thing, name, None), seen) for name in names)


def machines(world: Stream) -> list[object]:
    return [*world.turns.managers, *(host.machine for host in world.hosts if host is not None)]


def grown(world: Stream, few: int, many: int) -> float:
    """How many times as much the machines hold after `many` jobs as after `few`, nothing being under way."""
    world.serve(few)
    before = entries(machines(world))
    world.serve(many)
    return entries(machines(world)) / before


@pytest.mark.parametrize("kind", some(1, 2))
def test_machines_keep_no_more_objects_after_many_jobs(kind):
    world = Stream(**kind, managers=3)
    assert grown(world, 200, 600) <= 1.1
    assert world.renegotiations > 600


def test_kept_state_is_detected():
    assert grown(Stream("drawn", make_pool=NeverForgets), 200, 600) > 1.1


def taken(world: Stream) -> int:
    """Bytes that the machines take, nothing being under way: those of a copy of all that they hold."""
    gc.collect()
    tracemalloc.start()
    copies = deepcopy(machines(world))
    size = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    del copies
    return size


def check_bytes(world: Stream, few: int, many: int) -> None:
    world.serve(few)
    world.rest()
    entries_before, bytes_before = entries(machines(world)), taken(world)
    world.serve(many)
    world.rest()
    assert entries(machines(world)) <= 1.1 * entries_before
    assert taken(world) <= 1.1 * bytes_before


@pytest.mark.parametrize("kind", some(0, 3))
def test_memory_does_not_grow_after_many_jobs(kind):
    check_bytes(Stream(**kind, cores=1000, hosts=2), 200, 1000)
