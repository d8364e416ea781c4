"""Carries out what machines ask for: says messages, sets timers, and leaves the rest to whoever runs jobs and nodes.

Every host of machines uses it: one process, ranks, the fault world. What differs is network, timers and executor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol, get_args

from dardis.model.addresses import Address
from dardis.model.errors import ProtocolError
from dardis.wire.effects import Deed, Effect, Kill, Launch, SetTimer, ToHosts, ToManagers


class Network(Protocol):
    """What messages go by. `who` is the machine that speaks."""

    def send(self, who: Address, said: ToHosts, now: int) -> None:
        """Take a message to hosts: of a task manager, or what a host hands on."""

    def tell(self, who: Address, said: ToManagers, now: int) -> None:
        """Take a message of a host to task managers."""


class Timers(Protocol):
    """What gives timers back when their time has come."""

    def set(self, who: Address, timer: SetTimer, now: int) -> None:
        """Give the machine `who` its timer back then."""


class Executor(Protocol):
    """What runs jobs and switches nodes, and takes note of what becomes of jobs; in virtual time it is the world."""

    def execute(self, who: Address, deed: Deed, now: int) -> None:
        """Do, or take note of, what the machine `who` says."""


class Nothing:
    """No timers and no executor: where nothing is late, and hosts run nothing themselves."""

    def set(self, who: Address, timer: SetTimer, now: int) -> None:  # noqa: ARG002
        """Nobody needs to be reminded."""
        raise ProtocolError(f"{who} sets a timer where nothing is late")

    def execute(self, who: Address, deed: Deed, now: int) -> None:  # noqa: ARG002
        """What is launched or killed is so in the world."""
        if not isinstance(deed, (Launch, Kill)):
            raise ProtocolError(f"{who} says {type(deed).__name__} where hosts only run jobs")


NOTHING = Nothing()


class Interpreter:
    """The one place that looks into effects to carry them out."""

    def __init__(self, network: Network, timers: Timers = NOTHING, executor: Executor = NOTHING) -> None:
        """Carry out by these."""
        doers: tuple[tuple[Any, Callable[[Address, Any, int], None]], ...] = (
            (ToManagers, network.tell), (ToHosts, network.send), (SetTimer, timers.set), (Deed, executor.execute)
        )  # fmt: skip
        self._doers = {kind: do for kinds, do in doers for kind in get_args(kinds) or (kinds,)}

    def obey(self, who: Address, effects: Iterable[Effect], now: int) -> None:
        """Carry out what the machine `who` asks for, in order."""
        for effect in effects:
            do = self._doers.get(type(effect))
            if do is None:
                raise ProtocolError(f"{type(effect).__name__} is no effect of a machine")
            do(who, effect, now)
