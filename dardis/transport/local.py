"""All node managers in this process, in virtual time; nothing is encoded unless asked for."""

from __future__ import annotations

from collections.abc import Sequence

from dardis.engine.clock import cpu_ns
from dardis.transport.base import Machine, answers_of
from dardis.wire.codec import decode, encode
from dardis.wire.effects import ALL_HOSTS, Send
from dardis.wire.messages import Message


class LocalHosts:
    """Hosts in one process. With `encoded`, every message goes through the wire's encoding and back."""

    def __init__(self, machines: Sequence[Machine], *, encoded: bool = False) -> None:
        """Host h is `machines[h]`."""
        self._machines = machines
        self._encoded = encoded
        self.message_bytes = 0

    def exchange(self, sends: Sequence[Send], now: int) -> tuple[list[Message], int]:
        """Deliver at once; the answers of host 0 come first."""
        answers: dict[int, list[Message]] = {}
        begun = cpu_ns()
        for send in sends:
            hosts = range(len(self._machines)) if send.to == ALL_HOSTS else (send.to,)
            for host in hosts:
                message = self._through_wire(send.message, now) if self._encoded else send.message
                said = answers_of(self._machines[host].handle(message, now))
                if said:
                    answers.setdefault(host, []).extend(said)
        spent = cpu_ns() - begun
        flat = [message for host in sorted(answers) for message in answers[host]]
        return [self._through_wire(message, now) for message in flat] if self._encoded else flat, spent

    def close(self) -> int:
        """Nothing to end."""
        return 0

    @staticmethod
    def _through_wire(message: Message, now: int) -> Message:
        _, batch = decode(encode(0, [(now, message)]))
        return batch[0][1]
