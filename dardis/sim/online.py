"""Jobs through a dispatcher in virtual time, from its set-up to its record; knows no files."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from dardis.dispatch import CentralDispatcher, CentralSetUp
from dardis.kernels.warm import warm_late, warm_pool, warm_queue
from dardis.model.choices import ProfileRule
from dardis.model.job import Job
from dardis.model.platform import Platform
from dardis.model.schedule import Schedule
from dardis.model.target import DesiredProfile, Target
from dardis.node_manager.switching import Switcher
from dardis.sim.dispatchers import AnySetUp
from dardis.sim.recorder import Recorder
from dardis.sim.simulation import Progress, Simulation
from dardis.sim.spread import even_bounds, host_from_plan, host_plan, layout_of
from dardis.task_manager import EVERY_HOST, LateByTurns, LateSetUp, PlannedManager, Reach, SetUp
from dardis.transport.base import Hosts
from dardis.transport.local import LocalHosts
from dardis.turns import CentralTurns, LateTurns, PlannedTurns, Turns


@dataclass(frozen=True)
class Played:
    """What came of a run: its jobs (with their own times where they follow others), the record, and counts."""

    jobs: Sequence[Job]
    recorder: Recorder
    figures: dict[str, int]
    kinds: tuple[str, ...]

    @property
    def schedule(self) -> Schedule:
        """The record as a schedule."""
        return self.recorder.schedule(self.jobs, self.kinds)


def heeded(setup: AnySetUp, target: Target) -> DesiredProfile | None:
    """The desired profile that decides; with `profile=off` none does, and a run only measures it."""
    return None if setup.profile is ProfileRule.OFF else target.desired


def warm(setup: AnySetUp, *, wished: bool) -> None:
    """Compile what the set-up needs, before anything is measured."""
    if isinstance(setup, CentralSetUp):
        warm_queue(wished=wished)
    else:
        warm_pool()
    if isinstance(setup, LateSetUp):
        warm_late()


def play(
    platform: Platform, jobs: Sequence[Job], setup: AnySetUp, target: Target, seed: int, *, task_managers: int = 1,
    reach: Reach = EVERY_HOST, progress: Progress | None = None,
) -> Played:  # fmt: skip
    """Run the jobs, in (submit, number) order, in this process."""
    if isinstance(setup, CentralSetUp):
        return play_central(platform, jobs, setup, target, seed, progress)
    bounds = even_bounds(platform.node_count, 1)
    hosts = LocalHosts([host_from_plan(host_plan(platform, heeded(setup, target), bounds, seed), 0)])
    return play_over(
        hosts, bounds, platform, jobs, setup, target, seed, task_managers=task_managers, reach=reach, progress=progress
    )


def play_over(
    hosts: Hosts, bounds: tuple[int, ...], platform: Platform, jobs: Sequence[Job], setup: SetUp | LateSetUp,
    target: Target, seed: int, *, task_managers: int, reach: Reach, progress: Progress | None,
) -> Played:  # fmt: skip
    """Run the jobs over hosts that hold the nodes: host h has [bounds[h], bounds[h+1])."""
    layout = layout_of(platform, bounds, heeded(setup, target))
    switcher = None if target.switching is None else Switcher(platform, target.switching, jobs[0].submit)
    turns: Turns
    if isinstance(setup, LateSetUp):
        late = [LateByTurns(setup, layout, seed, reach, -1 - m) for m in range(task_managers)]
        turns = LateTurns(setup.event_order, late, bounds, switcher)
    else:
        early = [PlannedManager(setup, layout, seed, None, reach, -1 - m) for m in range(task_managers)]
        turns = PlannedTurns(setup, early, bounds, switcher)
    simulation = Simulation(jobs, turns, hosts)
    gc.freeze()  # what has been read lives as long as the run: not to look through it saves 5 % of the CPU
    simulation.run(progress)
    simulation.recorder.upkeep_ns += hosts.close()
    figures = {
        "ranks": len(bounds) - 1,
        "nodes_on_largest_rank": max(high - low for low, high in pairwise(bounds)),
        "messages": turns.messages,
        "message_bytes": hosts.message_bytes,
        "renegotiations": turns.renegotiations,
    }
    return Played(simulation.jobs, simulation.recorder, figures, platform.kinds)


def play_central(
    platform: Platform, jobs: Sequence[Job], setup: CentralSetUp, target: Target, seed: int, progress: Progress | None
) -> Played:
    """Run the jobs under a central dispatcher; it obeys no switching."""
    dispatcher = CentralDispatcher(setup, platform, heeded(setup, target), seed)
    simulation = Simulation(jobs, CentralTurns(setup.event_order, dispatcher))
    gc.freeze()
    simulation.run(progress)
    nodes = platform.node_count
    figures = {"ranks": 1, "nodes_on_largest_rank": nodes, "messages": 0, "message_bytes": 0, "renegotiations": 0}
    return Played(simulation.jobs, simulation.recorder, figures, platform.kinds)
