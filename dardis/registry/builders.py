"""Builders of dispatchers. Imports are local: a run loads only its dispatcher."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from dardis.config.settings import AnySetUp
from dardis.model.choices import EventOrder, Expecting, UnitsPerNode
from dardis.model.errors import InputError
from dardis.model.platform import Platform
from dardis.model.target import DesiredProfile
from dardis.registry.dispatcher import Builder, Cluster

if TYPE_CHECKING:
    from dardis.dispatch import QueueSetUp
    from dardis.dispatch.base import Decider
    from dardis.dispatch.queue_pass import PlainQueue
    from dardis.task_manager import LateSetUp, SetUp
    from dardis.task_manager.claims import ClaimTimeouts
    from dardis.turns import MessageTurns, OverlappedTurns, Turns


class Planned(Builder):
    """Task managers that reserve at submission; set up by `SetUp`."""

    def turns(self, setup: SetUp, cluster: Cluster) -> Turns:
        """By submission."""
        from dardis.task_manager import PlannedManager
        from dardis.turns import PlannedTurns

        managers = cluster.each(partial(PlannedManager, setup, pool=cluster.direct_pool))
        return PlannedTurns(setup, managers, cluster.bounds, cluster.new_switcher())

    def overlapped(self, setup: SetUp, cluster: Cluster, overlap: int) -> OverlappedTurns:
        """In successive waves."""
        from dardis.task_manager import PlannedManager
        from dardis.turns import OverlappedTurns

        return OverlappedTurns(cluster.each(partial(PlannedManager, setup)), overlap)

    def turns_by_message(self, setup: SetUp, cluster: Cluster, pace: ClaimTimeouts) -> MessageTurns:
        """With two-phase claims."""
        from dardis.task_manager import PlannedManager
        from dardis.task_manager.claims import TwoPhaseClaims
        from dardis.turns import MessageTurns

        levels = cluster.reach.levels(len(cluster.bounds) - 1)
        agreed = partial(TwoPhaseClaims, pace, cluster.seed, levels=levels, questions=cluster.reach.questions)
        return MessageTurns(cluster.each(partial(PlannedManager, setup, make_claims=agreed)))


class Late(Builder):
    """Task managers with late binding; set up by `LateSetUp`."""

    def turns(self, setup: LateSetUp, cluster: Cluster) -> Turns:
        """In order of keys.

        With single events, nodes may publish before all ends of an instant: then messages are needed.
        """
        from dardis.task_manager import LockstepLateManager
        from dardis.turns import LateTurns

        limit, shared = None, None if cluster.desired is None else cluster.desired.shared
        if shared is not None:
            from dardis.task_manager.late.shared_limit import SharedLimit

            limit = SharedLimit(cluster.platform, shared)
        batched = setup.event_order is EventOrder.BATCHED
        is_direct = cluster.task_managers == 1 and batched and limit is None
        pool = cluster.direct_pool if is_direct else None
        managers = cluster.each(partial(LockstepLateManager, setup, pool=pool, limit=limit))
        return LateTurns(setup.event_order, managers, cluster.bounds, cluster.new_switcher(), limit)

    def turns_by_message(self, setup: LateSetUp, cluster: Cluster, pace: ClaimTimeouts) -> MessageTurns:
        """With delays that grow with the key. Raises InputError for a shared profile."""
        if cluster.desired is not None and cluster.desired.shared is not None:
            found = "nodes share the desired profile (profile_split=shared)"
            raise InputError("dispatcher", found, "shares of nodes, since messages take time")
        from dardis.task_manager import TimedLateManager
        from dardis.turns import MessageTurns

        return MessageTurns(cluster.each(partial(TimedLateManager, setup, pace=pace)))


def _central(setup: QueueSetUp, platform: Platform, desired: DesiredProfile | None, seed: int) -> Decider:
    from dardis.dispatch import CentralDispatcher

    return CentralDispatcher(setup, platform, desired, seed)


class Central(Builder):
    """Central queue; set up by an `AnySetUp` without node queries."""

    def __init__(self, make: Callable[[Any, Platform, DesiredProfile | None, int], Decider]) -> None:
        self._make = make

    def turns(self, setup: AnySetUp, cluster: Cluster) -> Turns:
        """At events."""
        from dardis.dispatch.reservation_partitions import PartitionedDispatcher
        from dardis.turns import CentralTurns

        def make(platform: Platform) -> Decider:
            return self._make(setup, platform, cluster.desired, cluster.seed)

        machine = cluster.platform
        if cluster.switching is not None and machine.hours:
            found = "boots nodes before starts, so the hours of the queue may end first"
            raise InputError("dispatcher", found, "a target without switching, or queues without hours")
        dispatcher = PartitionedDispatcher(make, machine) if machine.kept_groups else make(machine)
        return CentralTurns(setup.event_order, dispatcher, cluster.new_switcher())


class CentralQueue(Central):
    """One queue of `CentralDispatcher`."""

    def __init__(self) -> None:
        super().__init__(_central)

    def plain_queue(self, setup: QueueSetUp, cluster: Cluster) -> PlainQueue | None:
        """By walltimes, on nodes that are always open."""
        machine = cluster.platform
        is_closed = machine.hours or machine.kept_groups or machine.maintenance or cluster.switching is not None
        is_plain = setup.has_plain_pass and setup.expected is Expecting.WALLTIME
        if not is_plain or is_closed or cluster.desired is not None or setup.event_order is not EventOrder.BATCHED:
            return None
        from dardis.dispatch.queue_pass import JobByJobPass, PlainQueue

        how = setup.new_pass(machine, cluster.seed)
        if type(how) is not JobByJobPass:  # a set-up of a package may have a pass of its own
            return None
        return PlainQueue(how, setup.node_choice, setup.units_per_node is UnitsPerNode.DISTINCT, cluster.seed)


PLANNED, LATE, CENTRAL = Planned(), Late(), CentralQueue()
