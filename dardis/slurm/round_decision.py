"""Starts of one round: any dispatcher, new at each instant. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from dardis.model.addresses import Address, JobId
from dardis.model.arrays import Ints
from dardis.model.job import Job
from dardis.model.platform import Platform
from dardis.model.target import DesiredProfile
from dardis.registry import Cluster, Dispatcher
from dardis.runs.error_source import attribute_errors
from dardis.sim.simulation import NO_HOSTS
from dardis.transport.base import Hosts
from dardis.transport.local_transport import LocalPool, Lockstep, in_process_pool
from dardis.turns import Turn
from dardis.wire.effects import ExecutorAction, Placed, Rejected


class RoundDecision(NamedTuple):
    """Nodes of starting jobs, and reasons of impossible ones."""

    starts: dict[JobId, Ints]
    refused: dict[JobId, str]


def decide_round(
    dispatcher: Dispatcher, seed: int, machine: Platform, desired: DesiredProfile | None, jobs: Sequence[Job], now: int
) -> RoundDecision:  # fmt: skip
    """Decide at `now`, Unix s. `jobs`: all that may start, in order of submission."""
    bounds = (0, machine.node_count)
    hosts: Hosts = NO_HOSTS
    with attribute_errors(dispatcher):
        if dispatcher.setup.asks_nodes:
            hosts = LocalPool(dispatcher.pool(machine, *bounds, desired=desired, seed=seed))
        cluster = Cluster(machine, bounds, seed, desired=desired, begin=now, pool=in_process_pool(hosts))
        turns = dispatcher.turns(cluster)
        seen = _Placements()
        lockstep = Lockstep(hosts, seen)

        def take(some: Iterable[Turn]) -> None:
            for turn in some:
                lockstep.run_turn(turn.dialogue, now)

        for place, job in enumerate(jobs):
            take(turns.on_submit(job, place, now))
        take(turns.on_instant_end(now, last=False))
    starts = {job: placed.nodes for job, placed in seen.placed.items() if placed.start <= now}
    return RoundDecision(starts, seen.rejected)


class _Placements:
    def __init__(self) -> None:
        self.placed: dict[JobId, Placed] = {}
        self.rejected: dict[JobId, str] = {}

    def execute(self, who: Address, deed: ExecutorAction, now: int) -> None:  # noqa: ARG002 (interface)
        match deed:
            case Placed(job=number):
                self.placed[number] = deed
            case Rejected(job=number, reason=reason):
                self.rejected[number] = reason
