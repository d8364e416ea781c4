"""Carries out what machines ask for: says messages, sets timers, and leaves the rest to whoever runs jobs and nodes.

Every host of machines uses it: one process, ranks, the fault world. What differs is network, timers and executor.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from dardis.model.addresses import Address
from dardis.model.errors import ProtocolError
from dardis.wire.effects import (
    Deed,
    Done,
    Effect,
    Kill,
    Launch,
    Placed,
    Rejected,
    Return,
    Send,
    SendAll,
    SetTimer,
    Switched,
    Tell,
    TellAll,
    ToHosts,
    ToManagers,
    Waiting,
)


class Network(Protocol):
    """What messages go by. `who` is the machine that speaks."""

    def send(self, who: Address, said: ToHosts, now: int) -> None:
        """Take a message to hosts: of a task manager, or what a host hands on."""

    def tell(self, who: Address, said: ToManagers, now: int) -> None:
        """Take a message of a host to task managers."""


class Timers(Protocol):
    """What gives timers back when their time has come."""

    def set(self, who: Address, timer: SetTimer) -> None:
        """Give the machine `who` its timer back then."""


class Executor(Protocol):
    """What runs jobs and switches nodes, and takes note of what becomes of jobs; in virtual time it is the world."""

    def execute(self, who: Address, deed: Deed, now: int) -> None:
        """Do, or take note of, what the machine `who` says."""


class Nothing:
    """No timers and no executor: where nothing is late, and hosts run nothing themselves."""

    def set(self, who: Address, timer: SetTimer) -> None:  # noqa: ARG002
        """Nobody needs to be reminded."""
        raise ProtocolError(f"{who} sets a timer where nothing is late")

    def execute(self, who: Address, deed: Deed, now: int) -> None:  # noqa: ARG002
        """What is launched or killed is so in the world."""
        if not isinstance(deed, Launch | Kill):
            raise ProtocolError(f"{who} says {type(deed).__name__} where hosts only run jobs")


NOTHING = Nothing()


class Interpreter:
    """The one place that looks into effects to carry them out."""

    def __init__(self, network: Network, timers: Timers = NOTHING, executor: Executor = NOTHING) -> None:
        """Carry out by these."""
        self._network = network
        self._timers = timers
        self._executor = executor

    def obey(self, who: Address, effects: Iterable[Effect], now: int) -> None:
        """Carry out what the machine `who` asks for, in order."""
        for effect in effects:
            match effect:
                case Tell() | TellAll() | Return():  # answers are the most of all
                    self._network.tell(who, effect, now)
                case Send() | SendAll():
                    self._network.send(who, effect, now)
                case SetTimer():
                    self._timers.set(who, effect)
                case Placed() | Launch() | Kill() | Rejected() | Waiting() | Done() | Switched():
                    self._executor.execute(who, effect, now)
                case _:
                    raise ProtocolError(f"{type(effect).__name__} is no effect of a machine")
