"""The contract between a driver of virtual time and the hosts that hold the node managers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from dardis.wire.effects import Effect, Send
from dardis.wire.messages import Ask, Ended, Look, Message


class Machine(Protocol):
    """A machine as a transport sees it: (state, message, now) to effects."""

    def handle(self, message: Message, now: int) -> list[Effect]:
        """Take a message at time `now`."""


class Hosts(Protocol):
    """Hosts whose machines take what they are sent in the order in which it was sent."""

    message_bytes: int
    """Payload between host processes so far."""

    def exchange(self, sends: Sequence[Send], now: int) -> tuple[list[Message], int]:
        """Deliver at time `now`; return what the hosts answer, hosts ascending, and the CPU ns their machines took."""

    def close(self) -> int:
        """End the hosts; return the CPU ns of their machines that no `exchange` has told yet."""


def awaits_answer(message: Message) -> bool:
    """Whether a node manager always answers this, with exactly one message."""
    return isinstance(message, Ask | Look) or (isinstance(message, Ended) and message.depth != 0)


def answers_of(effects: list[Effect]) -> list[Message]:
    """The messages among a node manager's effects: in virtual time nothing is really launched or killed."""
    return [effect.message for effect in effects if isinstance(effect, Send)]
