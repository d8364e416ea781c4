"""Runs without files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from dardis.model.choices import Expecting, ProfileRule, UnitsPerNode
from dardis.model.errors import ProtocolError
from dardis.model.events import SiteEvent
from dardis.model.job import ActualJob
from dardis.model.node_layout import NodeLayout, make_layout
from dardis.model.platform import Platform
from dardis.model.schedule import Schedule
from dardis.model.target import DesiredProfile, Target
from dardis.predict import Predictor, new_predictor
from dardis.registry import Cluster, Dispatcher
from dardis.runs.error_source import attribute_errors
from dardis.runs.hosts import even_bounds
from dardis.sim.recorder import Keep, Recorder
from dardis.sim.simulation import NO_HOSTS, Progress, Simulation
from dardis.sim.site_state import SiteState
from dardis.task_manager.setups import EVERY_HOST, Reach
from dardis.transport.base import Hosts
from dardis.transport.local_transport import LocalPool, in_process_pool


@dataclass(frozen=True)
class SimulatedRun:
    """Run's outcome; `jobs` have their final submission times."""

    jobs: Sequence[ActualJob]
    recorder: Recorder
    figures: dict[str, int]
    layout: NodeLayout
    site: SiteState

    @property
    def schedule(self) -> Schedule:
        """Schedule on the machine's own nodes."""
        return _schedule(self.recorder, self.jobs, self.layout)


def _schedule(recorder: Recorder, jobs: Sequence[ActualJob], laid_out: NodeLayout) -> Schedule:
    return laid_out.to_own_nodes(recorder.schedule(jobs, laid_out.machine.kinds))


def followed_profile(dispatcher: Dispatcher, target: Target) -> DesiredProfile | None:
    """Desired profile, or None with `profile=off`."""
    return None if dispatcher.setup.profile is ProfileRule.OFF else target.desired


def play(
    platform: Platform, jobs: Sequence[ActualJob], dispatcher: Dispatcher, target: Target, seed: int, *,
    task_managers: int = 1, reach: Reach = EVERY_HOST, progress: Progress | None = None,
    keep: Keep | None = None, events: Sequence[SiteEvent] = (),
) -> SimulatedRun:  # fmt: skip
    """Run the jobs, sorted by (submit, number), in this process."""
    machine = make_layout(platform).machine
    bounds = even_bounds(machine.node_count, 1)
    hosts: Hosts = NO_HOSTS
    if dispatcher.setup.asks_nodes:
        desired = followed_profile(dispatcher, target)
        with attribute_errors(dispatcher):
            hosts = LocalPool(dispatcher.pool(machine, *bounds, desired=desired, seed=seed))
    return play_over(
        HostAssignment(hosts, bounds), platform, jobs, dispatcher, target, seed, task_managers=task_managers,
        reach=reach,
        progress=progress, keep=keep, events=events,
    )  # fmt: skip


def predictor_of(dispatcher: Dispatcher, jobs: Sequence[ActualJob], seed: int) -> Predictor | None:
    """Source of expected runtimes; None: walltimes."""
    expecting = dispatcher.setup.expecting
    if expecting in (None, Expecting.WALLTIME):
        return None
    expecting = Expecting(expecting)
    truth = {job.number: job.duration for job in jobs} if expecting is Expecting.REAL else {}
    return new_predictor(expecting, truth, seed)


class HostAssignment(NamedTuple):
    """Hosts of the nodes, in layout order: host h has [bounds[h], bounds[h+1])."""

    hosts: Hosts
    bounds: tuple[int, ...]


def play_over(
    over: HostAssignment, platform: Platform, jobs: Sequence[ActualJob], dispatcher: Dispatcher,
    target: Target, seed: int, *, task_managers: int, reach: Reach, progress: Progress | None,
    keep: Keep | None = None, events: Sequence[SiteEvent] = (),
) -> SimulatedRun:  # fmt: skip
    """Run the jobs over hosts."""
    hosts, bounds = over
    laid_out = make_layout(platform)
    switching = target.switching if dispatcher.setup.switches else None
    cluster = Cluster(
        laid_out.machine, bounds, seed, desired=followed_profile(dispatcher, target), switching=switching,
        begin=jobs[0].submit if jobs else 0, task_managers=task_managers, reach=reach, pool=in_process_pool(hosts),
        truth=jobs,
    )  # fmt: skip
    distinct = dispatcher.setup.units_per_node is UnitsPerNode.DISTINCT
    figures = {
        "ranks": len(bounds) - 1,
        "nodes_on_largest_rank": max(
            min(high, platform.node_count) - min(low, platform.node_count) for low, high in pairwise(bounds)
        ),
    }
    queue = dispatcher.builder.plain_queue(dispatcher.setup, cluster) if not events and keep is None else None
    if queue is not None:
        from dardis.sim.compiled_simulation import simulate_compiled  # loads kernels that others do not need

        site = SiteState(platform, distinct=distinct)
        with attribute_errors(dispatcher):
            recorder = simulate_compiled(jobs, queue, laid_out.machine, site, progress)
        if recorder is not None:
            figures |= {"messages": 0, "message_bytes": 0, "renegotiations": 0}
            run = SimulatedRun(jobs, recorder, figures, laid_out, site)
            with attribute_errors(dispatcher):
                _check_schedule(dispatcher, run)
            return run
    with attribute_errors(dispatcher):
        turns = dispatcher.turns(cluster)
        predictor = predictor_of(dispatcher, jobs, seed)
        simulation = Simulation(jobs, turns, hosts, predictor, keep, platform, events, distinct=distinct)
        simulation.run(progress)
        run = SimulatedRun(simulation.jobs, simulation.recorder, figures, laid_out, simulation.site)
        _check_schedule(dispatcher, run)
    simulation.recorder.upkeep_ns += hosts.close()
    figures |= {
        "messages": turns.messages,
        "message_bytes": hosts.message_bytes,
        "renegotiations": turns.renegotiations,
    }
    return run


def _check_schedule(dispatcher: Dispatcher, run: SimulatedRun) -> None:
    if not dispatcher.origin:
        return
    from dardis.metrics.audit import audit

    jobs, recorder = run.jobs, run.recorder
    downtime = recorder.downtime() if recorder.has_switched else None
    found = audit(
        run.schedule,
        run.site.platform_after_events,
        expected=[job.number for job in jobs],
        downtime=downtime,
        killed=[jobs[place].number for place in recorder.killed],
    )
    if found:
        raise ProtocolError(f"it makes an illegal schedule ({len(found)} findings): {found[0]}")
