"""Whole runs of the distributed simulation in this process: by calls of one pool, or with each message encoded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from dardis.metrics.audit import audit
from dardis.metrics.requested_jobs import RequestedJobs
from dardis.model.choices import UnitsPerNode
from dardis.model.job import ActualJob
from dardis.model.platform import Platform
from dardis.model.schedule import Schedule
from dardis.model.target import DesiredProfile
from dardis.node_manager import NodePool, RelayingHost
from dardis.sim.simulation import Simulation
from dardis.task_manager import PlannedManager, Reach, SetUp
from dardis.task_manager.layout import layout_of
from dardis.transport.local_transport import LocalHosts, LocalPool
from dardis.turns import PlannedTurns


@dataclass
class Run:
    """What came of it: the schedule, why jobs were rejected, and every start that each job was given, in turn."""

    schedule: Schedule
    reasons: dict[int, str]
    starts: dict[int, list[int]] = field(default_factory=dict)
    agents: list[PlannedManager] = field(default_factory=list)


def audited(simulation: Simulation, platform: Platform, jobs: Sequence[ActualJob], units_per_node: UnitsPerNode) -> Run:
    """What came of a simulation of these jobs; its schedule has passed the audit."""
    recorder = simulation.recorder
    schedule = recorder.schedule(simulation.jobs, platform.kinds)
    asked = RequestedJobs.of(jobs, platform.kinds)
    assert audit(schedule, platform, expected=[job.number for job in jobs], asked=asked) == []
    assert {place for place in range(len(jobs)) if not schedule.ran[place]} == {*recorder.reasons}
    for place, job in enumerate(jobs):
        if not job.job.requests:  # else the audit knows where its parts may be
            nodes, units = schedule.placed.of(place)
            assert all(job.groups >> int(platform.group_of_node[node]) & 1 for node in nodes)
            assert units_per_node is UnitsPerNode.PACK or (units == 1).all()
    return Run(schedule, recorder.reasons)


def simulate(
    platform: Platform,
    jobs: Sequence[ActualJob],
    setup: SetUp,
    *,
    desired: DesiredProfile | None = None,
    cuts: Sequence[int] = (),
    managers: int = 1,
    seed: int = 1,
    arity: int = 0,
    sample: int = 0,
    local: bool = False,
) -> Run:
    """Run the jobs with the machine split over hosts at the node numbers `cuts`, or as a `local` pool."""
    bounds = [0, *cuts, platform.node_count]
    pools = [
        NodePool(platform, bounds[host], bounds[host + 1], desired=desired, host=host, seed=seed)
        for host in range(len(bounds) - 1)
    ]
    layout = layout_of(platform, tuple(bounds), desired)
    reach, called = Reach(arity, sample), pools[0] if local else None
    agents = [PlannedManager(setup, layout, seed, reach=reach, pool=called) for _ in range(managers)]
    hosts = LocalPool(pools[0]) if local else LocalHosts([RelayingHost(pool) for pool in pools], encoded=True)
    simulation = Simulation(jobs, PlannedTurns(setup, agents, layout.bounds), hosts)
    starts: dict[int, list[int]] = {}
    note = simulation.recorder.record_placement

    def placed(place, start, nodes, units):
        starts.setdefault(place, []).append(start)
        note(place, start, nodes, units)

    simulation.recorder.record_placement = placed  # type: ignore[method-assign]
    simulation.run()
    recorder = simulation.recorder
    return Run(recorder.schedule(simulation.jobs, platform.kinds), recorder.reasons, starts, agents)
