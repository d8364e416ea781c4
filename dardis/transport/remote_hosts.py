"""Remote hosts over a switchboard, with local hosts.

A host holds the machine of one *session*, rebuilt at the first message of the next.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from dardis.engine.clock import cpu_ns
from dardis.model.addresses import FIRST_HOST, HostId
from dardis.model.errors import ProtocolError
from dardis.transport.base import HostDownError, Outbox, StateMachine, answers_to_batch, awaits_answer, receivers
from dardis.transport.local_transport import LocalHosts
from dardis.wire.codec import HostCosts, decode, encode, pack, unpack
from dardis.wire.effects import Send, ToHosts
from dardis.wire.messages import Message, Relay

NO_SESSION = -1


class RequestChannel(Protocol):
    """As `Switchboard.request`."""

    def request(self, payloads: Mapping[HostId, bytes], patience_s: float) -> dict[HostId, bytes]:
        """Hosts' answers. Raises HostDownError."""


class RemoteHosts:
    """Remote hosts, and local ones in `here`.

    After a HostDownError start a new session.
    """

    def __init__(
        self, switchboard: RequestChannel, plan: dict[str, Any], hosts: int, session: int, patience_s: float,
        here: Mapping[HostId, StateMachine],
    ) -> None:  # fmt: skip
        """Start `session`, unknown to all hosts. `plan`: to build remote machines."""
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
        """Deliver in order; answers of host 0 come first. Raises HostDownError."""
        answers: dict[HostId, list[Message]] = {}
        asked: set[HostId] = set()
        spent = 0
        for send in sends:
            message = send.message
            if isinstance(message, Relay):
                raise ProtocolError("remote hosts can't be queried through a tree")
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
            spent += self._request(asked, answers)
        return [message for host in sorted(answers) for message in answers[host]], spent

    def _request(self, hosts: set[HostId], answers: dict[HostId, list[Message]]) -> int:
        payloads = {
            host: pack([self._session, b"" if host in self._begun else self._plan, host, batch])
            for host, batch in self._outbox.take_encoded(hosts, encode).items()
        }
        self._begun |= hosts
        told = self._switchboard.request(payloads, self._patience_s)
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
        """Return 0: the next session rebuilds the hosts."""
        return 0


class RemoteHost:
    """Remote host with at most one session."""

    def __init__(self, build: Callable[[dict[str, Any], HostId], StateMachine]) -> None:
        self._build = build
        self._session = NO_SESSION
        self._machine: LocalHosts | None = None

    def answer(self, payload: bytes) -> bytes:
        """Answer a payload of `RemoteHosts`. For an unknown session, return only the present session."""
        session, plan, host, batch = unpack(payload)
        begun = cpu_ns()
        if plan:
            self._session, self._machine = session, LocalHosts([self._build(unpack(plan), HostId(host))])
        if self._machine is None or session != self._session:
            return pack([self._session, b""])
        machine = self._machine
        answers = answers_to_batch(
            decode(batch)[1], lambda message, now: machine.deliver([Send(FIRST_HOST, message)], now)
        )
        return pack([session, encode(answers, HostCosts(cpu_ns() - begun))])
