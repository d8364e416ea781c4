"""All node managers in this process, in virtual time; nothing is encoded unless asked for."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from dardis.engine.clock import cpu_ns
from dardis.transport.base import Machine
from dardis.wire.codec import decode, encode
from dardis.wire.effects import ALL_HOSTS, Forward, Send
from dardis.wire.messages import Gathered, Message


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
            for host in range(len(self._machines)) if send.to == ALL_HOSTS else (send.to,):
                self._deliver(host, send.message, now, answers)
        spent = cpu_ns() - begun
        flat = [message for host in sorted(answers) for message in answers[host]]
        return [self._through_wire(message, now) for message in flat] if self._encoded else flat, spent

    def _deliver(self, to: int, message: Message, now: int, answers: dict[int, list[Message]]) -> None:
        """Let a host take a message, and other hosts what it hands on."""
        under_way = deque([(to, message)])
        while under_way:
            host, message = under_way.popleft()
            for effect in self._machines[host].handle(
                self._through_wire(message, now) if self._encoded else message, now
            ):
                match effect:
                    case Send(message=answer):
                        answers.setdefault(host, []).append(answer)
                    case Forward(to=address, message=Gathered(answers=gathered)) if address < 0:
                        answers.setdefault(host, []).extend(gathered)
                    case Forward(to=address, message=handed_on) if address == host:
                        under_way.appendleft((address, handed_on))
                    case Forward(to=address, message=handed_on):
                        under_way.append((address, handed_on))

    def close(self) -> int:
        """Nothing to end."""
        return 0

    @staticmethod
    def _through_wire(message: Message, now: int) -> Message:
        return decode(encode([(now, message)]))[1][0][1]
