"""All node managers in this process, in virtual time; nothing is encoded unless asked for."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from dardis.engine.clock import cpu_ns
from dardis.model.addresses import Address, HostId
from dardis.transport.base import Machine, receivers
from dardis.transport.interpreter import Interpreter
from dardis.wire.codec import decode, encode, opened
from dardis.wire.effects import Return, ToHosts, ToManagers
from dardis.wire.messages import Gathered, Message


class LocalHosts:
    """Hosts in one process. With `encoded`, every message goes through the wire's encoding and back."""

    def __init__(self, machines: Sequence[Machine], *, encoded: bool = False) -> None:
        """Host h is `machines[h]`."""
        self._machines = machines
        self._encoded = encoded
        self._interpreter = Interpreter(self)
        self._under_way: deque[tuple[HostId, Message]] = deque()
        self._answers: dict[Address, list[Message]] = {}
        self.message_bytes = 0

    def exchange(self, sends: Sequence[ToHosts], now: int) -> tuple[list[Message], int]:
        """Deliver at once; the answers of host 0 come first."""
        begun = cpu_ns()
        answers = self.deliver(sends, now)
        return answers, cpu_ns() - begun

    def deliver(self, sends: Sequence[ToHosts], now: int) -> list[Message]:
        """Deliver at once; the answers of host 0 come first."""
        self._answers = {}
        for send in sends:
            for host in receivers(send, len(self._machines)):
                self._hand(host, send.message, now)
                while self._under_way:
                    self._hand(*self._under_way.popleft(), now)
        flat = [message for host in sorted(self._answers) for message in self._answers[host]]
        return [self._through_wire(message, now) for message in flat] if self._encoded else flat

    def _hand(self, host: HostId, message: Message, now: int) -> None:
        """Let a host take a message."""
        heard = self._through_wire(message, now) if self._encoded else message
        self._interpreter.obey(host, self._machines[host].handle(heard, now), now)

    def send(self, who: Address, said: ToHosts, now: int) -> None:  # noqa: ARG002
        """Take what a host hands on: to itself it comes next."""
        for host in receivers(said, len(self._machines)):
            if host == who:
                self._under_way.appendleft((host, said.message))
            else:
                self._under_way.append((host, said.message))

    def tell(self, who: Address, said: ToManagers, now: int) -> None:  # noqa: ARG002
        """Take what a host says: an answer, or those that it has gathered."""
        match said:
            case Return(message=Gathered(answers=gathered)):
                self._answers.setdefault(who, []).extend(map(opened, gathered))
            case _:
                self._answers.setdefault(who, []).append(said.message)

    def close(self) -> int:
        """Nothing to end."""
        return 0

    @staticmethod
    def _through_wire(message: Message, now: int) -> Message:
        return decode(encode([(now, message)]))[1][0][1]
