"""What a dispatcher is to those who run it: a name, a set-up that says what it can, and how it is built."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from dardis.config.settings import AnySetUp, with_settings
from dardis.model.addresses import address_of
from dardis.model.errors import InputError
from dardis.model.local_queries import LocalNodes
from dardis.model.platform import Platform
from dardis.model.target import DesiredProfile, Switching
from dardis.task_manager.layout import Layout, layout_of
from dardis.task_manager.setups import EVERY_HOST, Reach

if TYPE_CHECKING:
    from dardis.node_manager import NodePool
    from dardis.node_manager.switching import Switcher
    from dardis.task_manager.claims import Pace
    from dardis.turns import OverlappedTurns, Turns, TurnsByMessage

Manager = TypeVar("Manager")


@dataclass(frozen=True, slots=True)
class Cluster:
    """On what a dispatcher decides: a machine, its nodes over hosts, and what is wished of them."""

    platform: Platform
    bounds: tuple[int, ...]
    """Host h holds the nodes [bounds[h], bounds[h+1])."""
    seed: int
    desired: DesiredProfile | None = None
    """The profile that decides."""
    switching: Switching | None = None
    """Who may be shut down."""
    begin: int = 0
    """Since when nodes are idle that have had no job, in s."""
    task_managers: int = 1
    reach: Reach = EVERY_HOST
    pool: LocalNodes | None = None
    """All nodes, where they are in this process, so that calls may take the place of messages."""

    @property
    def layout(self) -> Layout:
        """What task managers know of it."""
        return layout_of(self.platform, self.bounds, self.desired)

    @property
    def called_pool(self) -> LocalNodes | None:
        """The pool, where calls may hold whole rounds: all nodes are asked, and nobody switches any."""
        return self.pool if self.reach == EVERY_HOST and self.switching is None else None

    def each(self, make: Callable[..., Manager]) -> list[Manager]:
        """Its task managers: `make` is called with layout and seed, and with `reach` and `address`."""
        layout = self.layout
        return [make(layout, self.seed, reach=self.reach, address=address_of(m)) for m in range(self.task_managers)]

    def new_switcher(self) -> Switcher | None:
        """Who shuts nodes down and boots them; None where nobody may be shut down."""
        if self.switching is None:
            return None
        from dardis.node_manager.switching import Switcher

        return Switcher(self.platform, self.switching, self.begin)


class Builder(Protocol):
    """How dispatchers of one kind are built; the set-up is one of that kind.

    Who asks no nodes needs `turns` alone: of the others, the class itself has what stands for nothing.
    """

    @abstractmethod
    def turns(self, setup: Any, cluster: Cluster) -> Turns:  # noqa: ANN401 (its own kind of set-up)
        """Who has a turn when something happens, where nothing is late."""

    def overlapped(self, setup: Any, cluster: Cluster, overlap: int) -> OverlappedTurns:  # noqa: ANN401, ARG002
        """The same where many jobs have rounds under way together. Raises InputError where there are no rounds."""
        raise InputError("dispatcher", "has no rounds", "one that has, where jobs are in flight together")

    def turns_by_message(self, setup: Any, cluster: Cluster, pace: Pace) -> TurnsByMessage:  # noqa: ANN401, ARG002
        """The same where messages take time. Raises InputError where it asks no nodes."""
        raise InputError("dispatcher", "asks no nodes", "one that does, where messages take time")

    def pool(self, setup: Any) -> Callable[..., NodePool]:  # noqa: ANN401, ARG002 (what is asked says all)
        """What makes the node managers of a host; it is called as `NodePool` is."""
        from dardis.node_manager import NodePool

        return NodePool


@dataclass(frozen=True)
class Dispatcher:
    """A dispatcher with its settings. `setup` says what it can, `builder` how it is built."""

    name: str
    setup: AnySetUp
    builder: Builder
    origin: str = ""
    """The package, with its version, that has registered it; empty: this one."""
    module: str = ""
    """The top module of that package."""

    def with_settings(self, settings: Iterable[str]) -> Dispatcher:
        """Return it with `KEY=VALUE` settings applied. Raises InputError, which lists the known keys or values."""
        return self.with_setup(with_settings(self.setup, settings))

    def with_setup(self, setup: AnySetUp) -> Dispatcher:
        """Return it with another set-up of its kind. Raises InputError where its settings don't go together."""
        return replace(self, setup=setup.checked())

    def turns(self, cluster: Cluster) -> Turns:
        """Who has a turn when something happens, where nothing is late."""
        return self.builder.turns(self.setup, cluster)

    def overlapped(self, cluster: Cluster, overlap: int) -> OverlappedTurns:
        """The same where many jobs have rounds under way together. Raises InputError where there are no rounds."""
        return self.builder.overlapped(self.setup, cluster, overlap)

    def turns_by_message(self, cluster: Cluster, pace: Pace) -> TurnsByMessage:
        """The same where messages take time. Raises InputError where it asks no nodes."""
        if cluster.switching is not None:
            raise InputError("dispatcher", "switches nodes", "a target without switching, where messages take time")
        return self.builder.turns_by_message(self.setup, cluster, pace)

    @property
    def pool(self) -> Callable[..., NodePool]:
        """What makes the node managers of a host; it is called as `NodePool` is."""
        return self.builder.pool(self.setup)
