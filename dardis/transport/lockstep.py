"""Talks with hosts where nothing is late: what is said is answered before anybody says anything else."""

from __future__ import annotations

from collections.abc import Sequence

from dardis.engine.clock import cpu_ns
from dardis.model.addresses import ONLY_MANAGER, Address
from dardis.model.errors import ProtocolError
from dardis.transport.base import Hosts, HostsHere
from dardis.transport.interpreter import Executor, Interpreter
from dardis.wire.effects import Effect, Talk, ToHosts, ToManagers
from dardis.wire.messages import Message


class Lockstep:
    """Task managers here, hosts there; what is neither said nor answered is the executor's."""

    def __init__(self, hosts: Hosts, executor: Executor) -> None:
        """Talk with these hosts."""
        self._hosts = hosts
        self._here = hosts if isinstance(hosts, HostsHere) else None
        self._interpreter = Interpreter(self, executor=executor)
        self._said: list[ToHosts] = []

    def send(self, who: Address, said: ToHosts, now: int) -> None:  # noqa: ARG002
        """Say it when all effects are carried out, together with the rest."""
        self._said.append(said)

    def tell(self, who: Address, said: ToManagers, now: int) -> None:  # noqa: ARG002
        """Hosts alone tell."""
        raise ProtocolError(f"a task manager tells {type(said.message).__name__}")

    def hold(self, talk: Talk | tuple[Effect, ...], now: int) -> int:
        """Hold a talk to its end; return CPU ns of machines elsewhere, less what this thread took to hear of them.

        What machines of this thread take is seen on its own clock.
        """
        if isinstance(talk, tuple):
            self._interpreter.obey(ONLY_MANAGER, talk, now)
            if self._said:
                raise ProtocolError(f"nobody takes the answer to {type(self._said[0].message).__name__}")
            return 0
        elsewhere = 0
        answers: Sequence[Message] | None = None
        while True:
            try:
                effects = next(talk) if answers is None else talk.send(answers)
            except StopIteration:
                return elsewhere
            answers = ()
            self._interpreter.obey(ONLY_MANAGER, effects, now)  # they speak in turns: whoever it is
            if self._said:
                said, self._said = self._said, []
                if self._here is not None:
                    answers = self._here.deliver(said, now)
                    continue
                begun = cpu_ns()
                answers, remote = self._hosts.exchange(said, now)
                elsewhere += remote - (cpu_ns() - begun)
