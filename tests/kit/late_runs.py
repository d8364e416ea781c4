"""Whole runs of the late set-up in this process, each audited, and a view of who holds reservations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from kit.run import Run, audited

from dardis.model.addresses import address_of
from dardis.model.job import ActualJob
from dardis.model.platform import Platform
from dardis.model.target import DesiredProfile
from dardis.node_manager import NodePool, RelayingHost
from dardis.predict import new_predictor
from dardis.sim.simulation import Simulation
from dardis.task_manager import LateSetUp, LockstepLateManager, Reach
from dardis.task_manager.late.shared_limit import SharedLimit
from dardis.task_manager.layout import layout_of
from dardis.transport.local_transport import LocalHosts, LocalPool
from dardis.turns import LateTurns

MOST_WAKE_UPS = 5000
Watch = Callable[[int, dict[int, int], list[int], int | None], None]
"""Told after every wake-up: now, the reserved start of each job that holds one, who has started since the last, and
which job went first for its age."""


@dataclass
class LateRun(Run):
    """What came of it, and what was said."""

    messages: int = 0
    renegotiations: int = 0


class Watched(LateTurns):
    """Looks at what the hosts hold after every wake-up."""

    pools: Sequence[NodePool] = ()
    watch: Watch | None = None
    simulation: Simulation

    def __init__(self, *args) -> None:
        super().__init__(*args)
        self.wake_ups = 0
        self._begun: set[int] = set()

    def _turns_of_all(self, now, *, whole):
        yield from super()._turns_of_all(now, whole=whole)
        self.wake_ups += 1
        assert self.wake_ups < MOST_WAKE_UPS, "it does not end"
        reserved: dict[int, int] = {}
        for pool in self.pools:
            for job, claim in pool._claims.items():
                if claim.start > now:
                    assert reserved.setdefault(job, claim.start) == claim.start
        record = self.simulation.recorder
        begun = {job.number for place, job in enumerate(self.simulation.jobs) if len(record.nodes_of(place))}
        if self.watch is not None:
            self.watch(now, reserved, sorted(begun - self._begun), self._managers[0]._oldest)
        self._begun = begun


def run_late(
    platform: Platform,
    jobs: Sequence[ActualJob],
    setup: LateSetUp,
    *,
    desired: DesiredProfile | None = None,
    cuts: Sequence[int] = (),
    managers: int = 1,
    encoded: bool = True,
    watch: Watch | None = None,
    arity: int = 0,
    local: bool = False,
) -> LateRun:
    """An audited schedule of jobs in (submit, number) order, with the machine split over hosts at the nodes `cuts`."""
    bounds = (0, *cuts, platform.node_count)
    pools = [
        NodePool(platform, first, last, desired=desired, host=host)
        for host, (first, last) in enumerate(pairwise(bounds))
    ]
    layout = layout_of(platform, bounds, desired)
    shared = None if desired is None else desired.shared
    limit = None if shared is None else SharedLimit(platform, shared)
    pool = pools[0] if local else None
    agents = [
        LockstepLateManager(setup, layout, 1, Reach(arity), address_of(manager), pool=pool, limit=limit)
        for manager in range(managers)
    ]
    hosts = LocalPool(pools[0]) if local else LocalHosts([RelayingHost(pool) for pool in pools], encoded=encoded)
    turns = Watched(setup.event_order, agents, bounds)
    turns.pools, turns.watch = pools, watch
    predictor = new_predictor(setup.expected, {job.number: job.duration for job in jobs}, 1)
    simulation = turns.simulation = Simulation(jobs, turns, hosts, predictor)
    simulation.run()
    run = audited(simulation, platform, jobs, setup.units_per_node)
    assert all(pool.idle for pool in pools)
    return LateRun(run.schedule, run.reasons, messages=turns.messages, renegotiations=turns.renegotiations)
