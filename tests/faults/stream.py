"""A stream of jobs without an end through machines with faults, of which the world itself keeps no record."""

from __future__ import annotations

from collections.abc import Mapping

from kit.actual import actual
from kit.dispatchers import dispatcher_of

from dardis.model.platform import NodeGroup, Platform
from dardis.model.randomness import stream
from dardis.registry import OURS
from dardis.sim.faults import FaultSimulation, PoolMaker, Scenario
from dardis.task_manager import LateSetUp
from dardis.task_manager.claims.agreed import Pace
from dardis.transport.virtual import Faults
from dardis.wire.effects import Deed, Done, Rejected
from dardis.wire.messages import Look

IN_SYSTEM = 100
REST_S, LOOKS = 10_000, 8
SET_UPS = {"drawn": OURS["dardis-throughput"], "late": dispatcher_of(LateSetUp(aged_after_s=300))}


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
    """Machines that always have `IN_SYSTEM` jobs to serve, until as many have ended as are wanted.

    Jobs take up to 8 units of up to 8 cores: 64 cores a node let them wait for each other, 1,000 don't.
    """

    def __init__(
        self, setup: str, *, hosts: int = 4, cores: int = 64, arity: int = 0, managers: int = 2,
        make_pool: PoolMaker | None = None, seed: int = 1,
    ) -> None:  # fmt: skip
        delay = 4
        faults = Faults(delay, drop=0.05, duplicate=0.1, longest_duplicate_delay=2000)
        platform = Platform("busy", (NodeGroup("n", hosts, {"cores": cores}),))
        pace = Pace(patience=8, resend=8, lead=30)
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
            self.network.send(host, Look())

    def execute(self, who: int, deed: Deed, now: int) -> None:
        super().execute(who, deed, now)
        if isinstance(deed, Done | Rejected):
            del self.told[deed.job], self._jobs[deed.job]
            self.ended += 1
            self.network.at(now + 1, self._next_job)
