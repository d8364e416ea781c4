"""Interfaces of transports."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Protocol, runtime_checkable

from dardis.model.addresses import HostId, all_hosts
from dardis.model.errors import DardisError, ProtocolError
from dardis.wire.effects import Effect, Send, ToHosts
from dardis.wire.messages import Message, OfferQuery, PublishRequest, Relay, UnitsEnded


class StateMachine(Protocol):
    """State machine: (message, now) to effects."""

    def handle(self, message: Message, now: int) -> list[Effect]:
        """Handle a message at time `now`."""


class Hosts(Protocol):
    """Hosts that handle messages in order."""

    @property
    def message_bytes(self) -> int:
        """Reported payload bytes; complete after `close`."""

    def exchange(self, sends: Sequence[ToHosts], now: int) -> tuple[list[Message], int]:
        """Deliver at time `now`; return the answers by host, and the machines' CPU ns."""

    def close(self) -> int:
        """Stop the hosts; return unreported CPU ns."""


class HostDownError(DardisError):
    """Hosts have not answered in time, with unknown state."""

    def __init__(self, hosts: Iterable[HostId]) -> None:
        self.hosts = tuple(hosts)
        super().__init__("no answer from host " + ", ".join(map(str, self.hosts)))


@runtime_checkable
class InProcessHosts(Hosts, Protocol):
    """Hosts in the caller's thread."""

    def deliver(self, sends: Sequence[ToHosts], now: int) -> list[Message]:
        """Deliver; return answers by host."""


def receivers(said: ToHosts, hosts: int) -> Sequence[HostId]:
    """Receiving hosts."""
    return (said.to,) if isinstance(said, Send) else all_hosts(hosts)


def awaits_answer(message: Message) -> bool:
    """Whether hosts answer this message, with exactly one."""
    return isinstance(message, OfferQuery | PublishRequest | Relay) or (
        isinstance(message, UnitsEnded) and message.depth != 0
    )


def answers_to_batch(
    batch: Sequence[tuple[int, Message]], answers: Callable[[Message, int], list[Message]]
) -> list[tuple[int, Message]]:
    """Answers to a batch. Raises ProtocolError for missing or extra answers."""
    told: list[tuple[int, Message]] = []
    for now, message in batch:
        said = answers(message, now)
        if len(said) != awaits_answer(message):
            raise ProtocolError(f"{type(message).__name__} of a turn was answered by {said}")
        told += [(now, answer) for answer in said]
    return told


class Outbox:
    """Messages without answers, sent along with the next message with an answer."""

    def __init__(self, hosts: int) -> None:
        self._waiting: list[list[tuple[int, Message]]] = [[] for _ in range(hosts)]

    def put(self, host: HostId, message: Message, now: int) -> None:
        """Add a message."""
        self._waiting[host].append((now, message))

    def take(self, host: HostId) -> list[tuple[int, Message]]:
        """Remove and return a host's messages."""
        taken, self._waiting[host] = self._waiting[host], []
        return taken

    def take_encoded(
        self, hosts: Iterable[HostId], encoded: Callable[[Sequence[tuple[int, Message]]], bytes]
    ) -> dict[HostId, bytes]:
        """Remove and return encoded messages; equal batches are encoded once."""
        payloads: dict[tuple[tuple[int, int], ...], bytes] = {}
        taken: dict[HostId, bytes] = {}
        for host in hosts:
            batch = self.take(host)
            same = tuple((at, id(message)) for at, message in batch)
            if same not in payloads:
                payloads[same] = encoded(batch)
            taken[host] = payloads[same]
        return taken

    def load(self, relay: Relay) -> Relay:
        """Attach all messages to a query."""
        parcels = [(host, now, message) for host in all_hosts(len(self._waiting)) for now, message in self.take(host)]
        return replace(relay, parcels=parcels) if parcels else relay
