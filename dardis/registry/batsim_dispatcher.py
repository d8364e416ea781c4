"""Batsim's scheduler, as a dispatcher."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from dardis.config.settings import AnySetUp, setting
from dardis.model.choices import EventOrder, ProfileRule, UnitsPerNode
from dardis.model.errors import InputError
from dardis.model.platform import Platform
from dardis.model.target import Split
from dardis.registry.dispatcher import Builder, Cluster, Dispatcher

if TYPE_CHECKING:
    from dardis.turns import Turns

BATSIM: Final = "batsim"
"""Name in results."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatsimSetUp(AnySetUp):
    """Settings."""

    units_per_node: UnitsPerNode = setting(UnitsPerNode.PACK, key=False)
    profile: ProfileRule = setting(ProfileRule.OFF, key=False)
    profile_split: Split = setting(Split.PROPORTIONAL, key=False)
    event_order: EventOrder = setting(EventOrder.BATCHED, key=False)
    unit_cores: int = setting(1, zero="node")

    @property
    def seeded(self) -> bool:
        """False."""
        return False

    def check_platform(self, platform: Platform) -> None:
        """Check the machine. Raises InputError."""
        limits = {
            "maintenance": platform.maintenance or platform.dated,
            "reservations": platform.reservations,
            "queues with hours": any(queue.is_closed_at_times for queue in platform.queues),
        }
        for what, stated in limits.items():
            if stated:
                raise InputError(platform.name, f"has {what}, unknown to schedulers of Batsim", "a platform without")


@dataclass(frozen=True)
class _Batsim(Builder):
    endpoint: str
    timeout_s: int
    trace: str
    dynamic: bool

    def turns(self, setup: BatsimSetUp, cluster: Cluster) -> Turns:  # noqa: ARG002 (read before)
        """Of the scheduler."""
        from dardis.batsim.batsim_turns import BatsimTurns
        from dardis.transport.request_socket import RequestSocket

        connect = partial(RequestSocket, self.endpoint, self.timeout_s)
        return BatsimTurns(cluster.platform, cluster.truth, self.trace, connect, dynamic=self.dynamic)


def batsim_dispatcher(
    endpoint: str, settings: Iterable[str], *, timeout_s: int, trace: str, dynamic: bool
) -> Dispatcher:  # fmt: skip
    """Dispatcher at `endpoint`. Raises InputError."""
    made = Dispatcher(
        BATSIM, BatsimSetUp(), _Batsim(endpoint, timeout_s, trace, dynamic), f"the scheduler at {endpoint}"
    )
    return made.with_settings(settings)
