"""Dispatchers, their construction and context."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from dardis.config.settings import AnySetUp, with_settings
from dardis.model.addresses import address_of
from dardis.model.errors import InputError
from dardis.model.job import ActualJob
from dardis.model.local_queries import LocalNodes
from dardis.model.platform import Platform
from dardis.model.target import DesiredProfile, Split, Switching
from dardis.task_manager.layout import Layout, layout_of
from dardis.task_manager.setups import EVERY_HOST, Reach

if TYPE_CHECKING:
    from dardis.dispatch.queue_pass import PlainQueue
    from dardis.node_manager import NodePool
    from dardis.node_manager.switching import Switcher
    from dardis.task_manager.claims import ClaimTimeouts
    from dardis.turns import MessageTurns, OverlappedTurns, Turns

Manager = TypeVar("Manager")


@dataclass(frozen=True, slots=True)
class Cluster:
    """Dispatcher's context: machine, hosts and desired profile."""

    platform: Platform
    bounds: tuple[int, ...]
    """As `Layout.bounds`."""
    seed: int
    desired: DesiredProfile | None = None
    switching: Switching | None = None
    """Nodes that may be shut down."""
    begin: int = 0
    """Start of idle time for unused nodes, in s."""
    task_managers: int = 1
    reach: Reach = EVERY_HOST
    pool: LocalNodes | None = None
    """All nodes, if in this process: calls then replace messages."""
    truth: Sequence[ActualJob] = ()
    """Jobs with runtimes; only for a protocol that reports them."""

    @property
    def layout(self) -> Layout:
        """Layout for task managers."""
        return layout_of(self.platform, self.bounds, self.desired)

    @property
    def direct_pool(self) -> LocalNodes | None:
        """Pool, if calls may replace whole rounds."""
        return self.pool if self.reach == EVERY_HOST and self.switching is None else None

    def each(self, make: Callable[..., Manager]) -> list[Manager]:
        """Build the task managers; `make` takes layout, seed, `reach` and `address`."""
        layout = self.layout
        return [make(layout, self.seed, reach=self.reach, address=address_of(m)) for m in range(self.task_managers)]

    def new_switcher(self) -> Switcher | None:
        """Node switcher, if any."""
        if self.switching is None:
            return None
        from dardis.node_manager.switching import Switcher

        return Switcher(self.platform, self.switching, self.begin)


class Builder(Protocol):
    """Builds dispatchers of a kind; without node queries, `turns` suffices."""

    @abstractmethod
    def turns(self, setup: Any, cluster: Cluster) -> Turns:  # noqa: ANN401 (the builder's kind of set-up)
        """Turns at events without message delay."""

    def overlapped(self, setup: Any, cluster: Cluster, overlap: int) -> OverlappedTurns:  # noqa: ANN401, ARG002
        """Overlapping turns. Raises InputError without rounds."""
        raise InputError("dispatcher", "has no rounds", "a dispatcher with rounds for overlapping jobs")

    def turns_by_message(self, setup: Any, cluster: Cluster, pace: ClaimTimeouts) -> MessageTurns:  # noqa: ANN401, ARG002
        """Turns with message delays. Raises InputError without node queries."""
        raise InputError("dispatcher", "asks no nodes", "a dispatcher that asks nodes, since messages take time")

    def plain_queue(self, setup: Any, cluster: Cluster) -> PlainQueue | None:  # noqa: ANN401, ARG002
        """Queue for a compiled simulation; None: the dispatcher needs its turns."""
        return None

    def pool(self, setup: Any) -> Callable[..., NodePool]:  # noqa: ANN401, ARG002 (the default ignores the set-up)
        """Factory of a host's node managers, called as `NodePool`."""
        from dardis.node_manager import NodePool

        return NodePool


@dataclass(frozen=True)
class Dispatcher:
    """Dispatcher with capabilities in `setup` and construction in `builder`."""

    name: str
    setup: AnySetUp
    builder: Builder
    origin: str = ""
    """Package and version of the registration; empty: dardis."""
    module: str = ""
    """Top module of the package."""

    def with_settings(self, settings: Iterable[str]) -> Dispatcher:
        """Copy with `KEY=VALUE` settings. Raises InputError with the known keys or values."""
        return self.with_setup(with_settings(self.setup, settings))

    def with_setup(self, setup: AnySetUp) -> Dispatcher:
        """Copy with another set-up. Raises InputError for incompatible settings."""
        self.check_split(setup.profile_split, "--set profile_split=shared", setup)
        return replace(self, setup=setup.checked())

    def check_split(self, split: Split, place: object, setup: AnySetUp | None = None) -> None:
        """Raise InputError for a split that the dispatcher does not obey."""
        if split is Split.SHARED and not (setup or self.setup).shares_profile:
            expected = "another split, or a dispatcher such as dardis-late"
            raise InputError(place, f"nodes share the profile, which {self.name} does not obey", expected)

    def turns(self, cluster: Cluster) -> Turns:
        """See `Builder.turns`."""
        return self.builder.turns(self.setup, cluster)

    def overlapped(self, cluster: Cluster, overlap: int) -> OverlappedTurns:
        """See `Builder.overlapped`."""
        return self.builder.overlapped(self.setup, cluster, overlap)

    def turns_by_message(self, cluster: Cluster, pace: ClaimTimeouts) -> MessageTurns:
        """See `Builder.turns_by_message`."""
        if cluster.switching is not None:
            raise InputError("dispatcher", "switches nodes", "a target without switching, since messages take time")
        return self.builder.turns_by_message(self.setup, cluster, pace)

    @property
    def pool(self) -> Callable[..., NodePool]:
        """See `Builder.pool`."""
        return self.builder.pool(self.setup)
