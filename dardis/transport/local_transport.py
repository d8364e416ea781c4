"""Local node managers in virtual time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, get_args

from dardis.engine.clock import cpu_ns
from dardis.model.addresses import ONLY_MANAGER, Address, HostId
from dardis.model.errors import ProtocolError
from dardis.model.local_queries import LocalNodes
from dardis.transport.base import Hosts, InProcessHosts, StateMachine, receivers
from dardis.wire.codec import decode, decode_nested, encode
from dardis.wire.effects import (
    Dialogue,
    Effect,
    ExecutorAction,
    Kill,
    Launch,
    Reply,
    SendToManager,
    SendToManagers,
    SetTimer,
    ToHosts,
    ToManagers,
)
from dardis.wire.messages import GatheredAnswers, Message, Relay


class InProcessPool(StateMachine, LocalNodes, Protocol):
    """Pool of all nodes, with direct calls."""


class LocalPool:
    """Single host of a local pool."""

    message_bytes = 0

    def __init__(self, pool: InProcessPool) -> None:
        self.pool = pool

    def exchange(self, sends: Sequence[ToHosts], now: int) -> tuple[list[Message], int]:
        """Deliver at once."""
        begun = cpu_ns()
        answers = self.deliver(sends, now)
        return answers, cpu_ns() - begun

    def deliver(self, sends: Sequence[ToHosts], now: int) -> list[Message]:
        """Deliver at once; tree queries are answered for all."""
        answers: list[Message] = []
        for send in sends:
            message = send.message
            if isinstance(message, Relay):
                message = decode_nested(message.message)
            for effect in self.pool.handle(message, now):
                if isinstance(effect, (SendToManager, SendToManagers)):
                    answers.append(effect.message)
                elif not isinstance(effect, (Launch, Kill)):  # the world knows launched and killed jobs
                    raise ProtocolError(f"a local pool sent {type(effect).__name__}")
        return answers

    def close(self) -> int:
        """Return 0."""
        return 0


def in_process_pool(hosts: Hosts) -> LocalNodes | None:
    """Pool, if local."""
    return hosts.pool if isinstance(hosts, LocalPool) else None


class LocalHosts:
    """Local hosts. `encoded`: use the wire format."""

    def __init__(self, machines: Sequence[StateMachine], *, encoded: bool = False) -> None:
        self._machines = machines
        self._encoded = encoded
        self._interpreter = Interpreter(self)
        self._under_way: deque[tuple[HostId, Message]] = deque()
        self._answers: dict[Address, list[Message]] = {}
        self.message_bytes = 0

    def exchange(self, sends: Sequence[ToHosts], now: int) -> tuple[list[Message], int]:
        """Deliver; return answers by host."""
        begun = cpu_ns()
        answers = self.deliver(sends, now)
        return answers, cpu_ns() - begun

    def deliver(self, sends: Sequence[ToHosts], now: int) -> list[Message]:
        """Deliver; return answers by host."""
        self._answers = {}
        for send in sends:
            for host in receivers(send, len(self._machines)):
                self._deliver_one(host, send.message, now)
                while self._under_way:
                    self._deliver_one(*self._under_way.popleft(), now)
        flat = [message for host in sorted(self._answers) for message in self._answers[host]]
        return [self._through_wire(message, now) for message in flat] if self._encoded else flat

    def _deliver_one(self, host: HostId, message: Message, now: int) -> None:
        heard = self._through_wire(message, now) if self._encoded else message
        self._interpreter.perform(host, self._machines[host].handle(heard, now), now)

    def send(self, who: Address, said: ToHosts, now: int) -> None:  # noqa: ARG002
        """Queue a message; messages to the sender come next."""
        for host in receivers(said, len(self._machines)):
            if host == who:
                self._under_way.appendleft((host, said.message))
            else:
                self._under_way.append((host, said.message))

    def send_to_managers(self, who: Address, said: ToManagers, now: int) -> None:  # noqa: ARG002
        """Collect answers."""
        match said:
            case Reply(message=GatheredAnswers(answers=gathered)):
                self._answers.setdefault(who, []).extend(map(decode_nested, gathered))
            case _:
                self._answers.setdefault(who, []).append(said.message)

    def close(self) -> int:
        """Return 0."""
        return 0

    @staticmethod
    def _through_wire(message: Message, now: int) -> Message:
        return decode(encode([(now, message)]))[1][0][1]


class Lockstep:
    """Local task managers with hosts elsewhere."""

    def __init__(self, hosts: Hosts, executor: Executor) -> None:
        self._hosts = hosts
        self._here = hosts if isinstance(hosts, InProcessHosts) else None
        self._interpreter = Interpreter(self, executor=executor)
        self._said: list[ToHosts] = []

    def send(self, who: Address, said: ToHosts, now: int) -> None:  # noqa: ARG002
        """Queue a message."""
        self._said.append(said)

    def send_to_managers(self, who: Address, said: ToManagers, now: int) -> None:  # noqa: ARG002
        """Raise ProtocolError."""
        raise ProtocolError(f"a task manager sent {type(said.message).__name__}")

    def run_turn(self, talk: Dialogue | tuple[Effect, ...], now: int) -> int:
        """Run a dialogue; return remote CPU ns less this thread's exchange time."""
        if isinstance(talk, tuple):
            self._interpreter.perform(ONLY_MANAGER, talk, now)
            if self._said:
                raise ProtocolError(f"the answer to {type(self._said[0].message).__name__} has no receiver")
            return 0
        elsewhere = 0
        answers: Sequence[Message] | None = None
        while True:
            try:
                effects = next(talk) if answers is None else talk.send(answers)
            except StopIteration:
                return elsewhere
            answers = ()
            self._interpreter.perform(
                ONLY_MANAGER, effects, now
            )  # managers speak in turns, so the address is irrelevant
            if self._said:
                said, self._said = self._said, []
                if self._here is not None:
                    answers = self._here.deliver(said, now)
                    continue
                begun = cpu_ns()
                answers, remote = self._hosts.exchange(said, now)
                elsewhere += remote - (cpu_ns() - begun)


class Network(Protocol):
    """Message network."""

    def send(self, who: Address, said: ToHosts, now: int) -> None:
        """Send a message to hosts."""

    def send_to_managers(self, who: Address, said: ToManagers, now: int) -> None:
        """Send a message to task managers."""


class Timers(Protocol):
    """Timer service."""

    def set(self, who: Address, timer: SetTimer, now: int) -> None:
        """Timer in time."""


class Executor(Protocol):
    """Executor of jobs and node switches."""

    def execute(self, who: Address, deed: ExecutorAction, now: int) -> None:
        """Perform or record a deed."""


class NoServices:
    """No timers and no executor, for lock-step."""

    def set(self, who: Address, timer: SetTimer, now: int) -> None:  # noqa: ARG002
        """Raise ProtocolError."""
        raise ProtocolError(f"{who} sets a timer, but no message is late here")

    def execute(self, who: Address, deed: ExecutorAction, now: int) -> None:  # noqa: ARG002
        """Accept launches and kills only."""
        if not isinstance(deed, (Launch, Kill)):
            raise ProtocolError(f"{who} sent {type(deed).__name__}, but hosts only run jobs here")


NO_SERVICES = NoServices()


class Interpreter:
    """Only interpreter of effects."""

    def __init__(self, network: Network, timers: Timers = NO_SERVICES, executor: Executor = NO_SERVICES) -> None:
        doers: tuple[tuple[Any, Callable[[Address, Any, int], None]], ...] = (
            (ToManagers, network.send_to_managers), (ToHosts, network.send), (SetTimer, timers.set),
            (ExecutorAction, executor.execute),
        )  # fmt: skip
        self._doers = {kind: do for kinds, do in doers for kind in get_args(kinds) or (kinds,)}

    def perform(self, who: Address, effects: Iterable[Effect], now: int) -> None:
        """Perform effects in order."""
        for effect in effects:
            do = self._doers.get(type(effect))
            if do is None:
                raise ProtocolError(f"{type(effect).__name__} is no effect of a machine")
            do(who, effect, now)
