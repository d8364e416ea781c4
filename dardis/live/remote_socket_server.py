"""Client connections forwarded from other hosts."""

from __future__ import annotations

import asyncio
import socket
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

from dardis.live.socket_server import Who
from dardis.live.stream_forwarding import Tunnels
from dardis.model.addresses import HostId

MOST: Final = 256
"""Per user, on all hosts; more wait."""
LOOK_S: Final = 1.0
LEAVE_S: Final = 1.0
"""Longest wait for last answers, s."""

Answer = Callable[[socket.socket, Who], Awaitable[None]]
"""Answers a socket for a user, then closes."""


class FarDoors:
    """Connections from other hosts. They close with the link."""

    def __init__(self, say: Callable[..., None], is_silent: Callable[[HostId], bool]) -> None:
        """`say` sends a message to an agent."""
        self._is_silent = is_silent
        self._say = say
        self._of: dict[HostId, Tunnels] = {}
        self._room = defaultdict[int, asyncio.Semaphore](lambda: asyncio.Semaphore(MOST))
        self._answer: Answer | None = None

    def hear(self, host: HostId, told: Mapping[str, Any]) -> None:
        """Handle a message of an agent."""
        if host not in self._of:
            self._of[host] = Tunnels(lambda told: self._say(host, **told))
        tunnels = self._of[host]
        if "who" in told:
            tunnels.begin(told["door"], self._answered(Who(*told["who"])))
        elif "open" in told:
            for number in {*told["open"]}.difference(tunnels.numbers):
                self._say(host, door=number, closed=True)
        else:
            tunnels.hear(told)

    def break_off(self, host: HostId) -> None:
        """Close all connections of a host."""
        if host in self._of:
            self._of[host].break_off()

    @asynccontextmanager
    async def answering(self, answer: Answer) -> AsyncIterator[None]:
        """Answer connections; finally finish current answers."""
        self._answer = answer
        looking = asyncio.create_task(self._look())
        try:
            yield
        finally:
            self._answer = None
            looking.cancel()
            if tasks := [task for tunnels in self._of.values() for task in tunnels.tasks]:
                await asyncio.wait(tasks, timeout=LEAVE_S)
            for host in self._of:
                self.break_off(host)

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            for host in filter(self._is_silent, [*self._of]):
                self.break_off(host)

    @asynccontextmanager
    async def _answered(self, who: Who) -> AsyncIterator[socket.socket]:
        async with self._room[who.uid]:
            if self._answer is None:
                raise ConnectionError
            here, there = socket.socketpair()
            with here:
                here.setblocking(False)
                await self._answer(there, who)
                yield here
