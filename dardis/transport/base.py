"""The contract between whoever lets virtual time pass and the hosts that hold the node managers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Protocol, runtime_checkable

from dardis.model.addresses import HostId, all_hosts
from dardis.model.errors import DardisError, ProtocolError
from dardis.wire.effects import Effect, Send, ToHosts
from dardis.wire.messages import Ask, Ended, Look, Message, Relay


class Machine(Protocol):
    """A machine as a transport sees it: (state, message, now) to effects."""

    def handle(self, message: Message, now: int) -> list[Effect]:
        """Take a message at time `now`."""


class Hosts(Protocol):
    """Hosts whose machines take what they are sent in the order in which it was sent."""

    @property
    def message_bytes(self) -> int:
        """Payload between host processes so far, as far as it has been told; all of it once they are closed."""

    def exchange(self, sends: Sequence[ToHosts], now: int) -> tuple[list[Message], int]:
        """Deliver at time `now`; return what the hosts answer, hosts ascending, and the CPU ns their machines took."""

    def close(self) -> int:
        """End the hosts; return the CPU ns of their machines that no `exchange` has told yet."""


class HostDownError(DardisError):
    """Hosts have not answered in time; whether they have taken what they were sent, nobody knows."""

    def __init__(self, hosts: Iterable[HostId]) -> None:
        """`hosts` are those that have not."""
        self.hosts = tuple(hosts)
        super().__init__("no answer from host " + ", ".join(map(str, self.hosts)))


@runtime_checkable
class HostsHere(Hosts, Protocol):
    """Hosts whose machines work in the caller's thread."""

    def deliver(self, sends: Sequence[ToHosts], now: int) -> list[Message]:
        """Deliver at time `now`; return what the hosts answer, hosts ascending."""


def receivers(said: ToHosts, hosts: int) -> Sequence[HostId]:
    """Whom a message is for, of so many hosts."""
    return (said.to,) if isinstance(said, Send) else all_hosts(hosts)


def awaits_answer(message: Message) -> bool:
    """Whether a host always answers this, with exactly one message."""
    return isinstance(message, Ask | Look | Relay) or (isinstance(message, Ended) and message.depth != 0)


def answered(
    batch: Sequence[tuple[int, Message]], answers: Callable[[Message, int], list[Message]]
) -> list[tuple[int, Message]]:
    """What a host answers to messages that came together, with their times; to each just what is awaited."""
    told: list[tuple[int, Message]] = []
    for now, message in batch:
        said = answers(message, now)
        if len(said) != awaits_answer(message):
            raise ProtocolError(f"{type(message).__name__} of a turn was answered by {said}")
        told += [(now, answer) for answer in said]
    return told


class Outbox:
    """Messages that nobody answers, by host: they wait for the next one that is answered, and travel with it.

    So none is ever under way when another is sent, by whatever route.
    """

    def __init__(self, hosts: int) -> None:
        """Hold nothing yet."""
        self._waiting: list[list[tuple[int, Message]]] = [[] for _ in range(hosts)]

    def put(self, host: HostId, message: Message, now: int) -> None:
        """Add a message of time `now`."""
        self._waiting[host].append((now, message))

    def take(self, host: HostId) -> list[tuple[int, Message]]:
        """All that waits for a host, with its times, in order."""
        taken, self._waiting[host] = self._waiting[host], []
        return taken

    def take_encoded(
        self, hosts: Iterable[HostId], encoded: Callable[[Sequence[tuple[int, Message]]], bytes]
    ) -> dict[HostId, bytes]:
        """All that waits for some hosts; what is the same for several is encoded once."""
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
        """Let all that waits travel with a question to all hosts."""
        parcels = [(host, now, message) for host in all_hosts(len(self._waiting)) for now, message in self.take(host)]
        return replace(relay, parcels=parcels) if parcels else relay
