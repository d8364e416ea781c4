"""Hosts on other machines, which are asked over a switchboard; some may be here. What they answer is as if all were.

As over MPI, messages that nobody answers wait for the next one that is answered, and travel with it. Who asks begins a
*session*: a host holds the machine of one, and is built anew by the first message of the next.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from dardis.engine.clock import cpu_ns
from dardis.model.addresses import FIRST_HOST, HostId
from dardis.model.errors import ProtocolError
from dardis.transport.base import HostDownError, Machine, Outbox, answered, awaits_answer, receivers
from dardis.transport.local_transport import LocalHosts
from dardis.wire.codec import Spent, decode, encode, pack, unpack
from dardis.wire.effects import Send, ToHosts
from dardis.wire.messages import Message, Relay

NO_SESSION = -1


class Asked(Protocol):
    """What asks hosts; `Switchboard.ask` says how."""

    def ask(self, payloads: Mapping[HostId, bytes], patience_s: float) -> dict[HostId, bytes]:
        """What these hosts answer. Raises HostDownError."""


class FarHosts:
    """Hosts of which those in `here` are in this process; they are asked flat, not down a tree.

    After a HostDownError nobody knows what hosts have taken: another session is to begin.
    """

    def __init__(
        self, switchboard: Asked, plan: dict[str, Any], hosts: int, session: int, patience_s: float,
        here: Mapping[HostId, Machine],
    ) -> None:  # fmt: skip
        """`session` is one that no host has heard of; others are built there by `plan` (plain values and arrays)."""
        self._switchboard = switchboard
        self._plan = pack(plan)
        self._hosts = hosts
        self._session = session
        self._patience_s = patience_s
        self._here = {host: LocalHosts([machine]) for host, machine in here.items()}
        self._begun: set[HostId] = set()
        self._outbox = Outbox(hosts)
        self.message_bytes = 0

    def exchange(self, sends: Sequence[ToHosts], now: int) -> tuple[list[Message], int]:
        """Deliver in order; the answers of host 0 come first. Raises HostDownError."""
        answers: dict[HostId, list[Message]] = {}
        asked: set[HostId] = set()
        spent = 0
        for send in sends:
            message = send.message
            if isinstance(message, Relay):
                raise ProtocolError("hosts that are far are not asked down a tree")
            for host in receivers(send, self._hosts):
                if host in self._here:
                    said, cpu = self._here[host].exchange([Send(FIRST_HOST, message)], now)
                    answers.setdefault(host, []).extend(said)
                    spent += cpu
                    continue
                self._outbox.put(host, message, now)
                if awaits_answer(message):
                    asked.add(host)
        if asked:
            spent += self._ask(asked, answers)
        return [message for host in sorted(answers) for message in answers[host]], spent

    def _ask(self, hosts: set[HostId], answers: dict[HostId, list[Message]]) -> int:
        """Ask hosts what there is for them, and add what they answer; the CPU ns of their machines."""
        payloads = {
            host: pack([self._session, b"" if host in self._begun else self._plan, host, batch])
            for host, batch in self._outbox.take_encoded(hosts, encode).items()
        }
        self._begun |= hosts
        told = self._switchboard.ask(payloads, self._patience_s)
        said = {host: unpack(payload) for host, payload in told.items()}
        if strange := [host for host, (session, _) in said.items() if session != self._session]:
            raise HostDownError(sorted(strange))
        spent = 0
        for host, (_, payload) in said.items():
            theirs, batch = decode(payload)
            answers[host] = [message for _, message in batch]
            spent += theirs.cpu_ns
            self.message_bytes += len(payload)
        return spent

    def close(self) -> int:
        """Leave the hosts as they are: the next session builds them anew."""
        return 0


class FarHost:
    """A host as it is asked from afar: the machine of one session at most."""

    def __init__(self, build: Callable[[dict[str, Any], HostId], Machine]) -> None:
        """`build` makes the machine of a host by the plan that a session begins with."""
        self._build = build
        self._session = NO_SESSION
        self._machine: LocalHosts | None = None

    def answer(self, payload: bytes) -> bytes:
        """Take what `FarHosts` has sent, and answer; of a session that did not begin here, say only which one did."""
        session, plan, host, batch = unpack(payload)
        begun = cpu_ns()
        if plan:
            self._session, self._machine = session, LocalHosts([self._build(unpack(plan), HostId(host))])
        if self._machine is None or session != self._session:
            return pack([self._session, b""])
        machine = self._machine
        answers = answered(decode(batch)[1], lambda message, now: machine.deliver([Send(FIRST_HOST, message)], now))
        return pack([session, encode(answers, Spent(cpu_ns() - begun))])
