"""How the three kinds of dispatchers are built: task managers that plan, those that bind late, and one queue.

What a kind is built of is imported by what builds it: a run loads no dispatcher but its own.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from dardis.config.settings import AnySetUp
from dardis.model.choices import EventOrder
from dardis.model.errors import InputError
from dardis.model.platform import Platform
from dardis.model.target import DesiredProfile
from dardis.registry.dispatcher import Builder, Cluster

if TYPE_CHECKING:
    from dardis.dispatch import QueueSetUp
    from dardis.dispatch.base import Decider
    from dardis.task_manager import LateSetUp, SetUp
    from dardis.task_manager.claims import Pace
    from dardis.turns import OverlappedTurns, Turns, TurnsByMessage


class Planned(Builder):
    """Task managers whose jobs reserve as soon as they are submitted; their set-up is a `SetUp`."""

    def turns(self, setup: SetUp, cluster: Cluster) -> Turns:
        """In the order of submission; a pool in this process holds whole rounds."""
        from dardis.task_manager import PlannedManager
        from dardis.turns import PlannedTurns

        managers = cluster.each(partial(PlannedManager, setup, pool=cluster.called_pool))
        return PlannedTurns(setup, managers, cluster.bounds, cluster.new_switcher())

    def overlapped(self, setup: SetUp, cluster: Cluster, overlap: int) -> OverlappedTurns:
        """In waves, each of which begins where the last one ended."""
        from dardis.task_manager import PlannedManager
        from dardis.turns import OverlappedTurns

        return OverlappedTurns(cluster.each(partial(PlannedManager, setup)), overlap)

    def turns_by_message(self, setup: SetUp, cluster: Cluster, pace: Pace) -> TurnsByMessage:
        """With claims that are agreed on in two phases."""
        from dardis.task_manager import PlannedManager
        from dardis.task_manager.claims import AgreedClaims
        from dardis.turns import TurnsByMessage

        levels = cluster.reach.levels(len(cluster.bounds) - 1)
        agreed = partial(AgreedClaims, pace, cluster.seed, levels=levels, questions=cluster.reach.questions)
        return TurnsByMessage(cluster.each(partial(PlannedManager, setup, make_claims=agreed)))


class Late(Builder):
    """Task managers whose jobs bind late; their set-up is a `LateSetUp`."""

    def turns(self, setup: LateSetUp, cluster: Cluster) -> Turns:
        """In the agreed order; a pool in this process gives the jobs of an only task manager their turns.

        Where events are taken one by one, nodes may publish before all that ends in an instant has: then messages tell.
        """
        from dardis.task_manager import LateByTurns
        from dardis.turns import LateTurns

        batched = setup.event_order is EventOrder.BATCHED
        pool = cluster.called_pool if cluster.task_managers == 1 and batched else None
        managers = cluster.each(partial(LateByTurns, setup, pool=pool))
        return LateTurns(setup.event_order, managers, cluster.bounds, cluster.new_switcher())

    def turns_by_message(self, setup: LateSetUp, cluster: Cluster, pace: Pace) -> TurnsByMessage:
        """By delays that grow with the key."""
        from dardis.task_manager import LateByTimers
        from dardis.turns import TurnsByMessage

        return TurnsByMessage(cluster.each(partial(LateByTimers, setup, pace=pace)))


def _central(setup: QueueSetUp, platform: Platform, desired: DesiredProfile | None, seed: int) -> Decider:
    """The central dispatcher of ours, whose set-up says how it goes over the queue."""
    from dardis.dispatch import CentralDispatcher

    return CentralDispatcher(setup, platform, desired, seed)


class Central(Builder):
    """One queue, one view of all nodes; its set-up is an `AnySetUp` that asks no nodes."""

    def __init__(self, make: Callable[[Any, Platform, DesiredProfile | None, int], Decider]) -> None:
        """`make` is called with set-up, platform, the desired profile that decides, if any, and seed."""
        self._make = make

    def turns(self, setup: AnySetUp, cluster: Cluster) -> Turns:
        """When anything has happened."""
        from dardis.dispatch.reservation_partitions import Apart
        from dardis.turns import CentralTurns

        def make(platform: Platform) -> Decider:
            return self._make(setup, platform, cluster.desired, cluster.seed)

        machine = cluster.platform
        if cluster.switching is not None and machine.hours:
            found = "starts jobs on nodes that boot first, when the hours of their queue may be over"
            raise InputError("dispatcher", found, "a target without switching, or queues that are always open")
        dispatcher = Apart(make, machine) if machine.kept_groups else make(machine)
        return CentralTurns(setup.event_order, dispatcher, cluster.new_switcher())


PLANNED, LATE, CENTRAL = Planned(), Late(), Central(_central)
