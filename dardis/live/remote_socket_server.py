"""Connections forwarded from other hosts."""

from __future__ import annotations

import asyncio
import socket
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

from dardis.live.socket_server import PeerUser
from dardis.live.stream_forwarding import StreamForwarder
from dardis.model.addresses import HostId

MOST_CONNECTIONS: Final = 256
"""Per user, on all hosts; more wait."""
LOOK_S: Final = 1.0
LEAVE_S: Final = 1.0
"""Longest wait for last answers, s."""

Answer = Callable[[socket.socket, PeerUser], Awaitable[None]]
"""Answers a socket for a user, then closes."""


class ForwardedConnections:
    """Connections from other hosts, closed with the link."""

    def __init__(self, say: Callable[..., None], is_silent: Callable[[HostId], bool]) -> None:
        self._is_silent = is_silent
        self._say = say
        self._of: dict[HostId, StreamForwarder] = {}
        self._room = defaultdict[int, asyncio.Semaphore](lambda: asyncio.Semaphore(MOST_CONNECTIONS))
        self._answer: Answer | None = None

    def on_message(self, host: HostId, told: Mapping[str, Any]) -> None:
        """Handle a message of an agent."""
        if host not in self._of:
            self._of[host] = StreamForwarder(lambda told: self._say(host, **told))
        tunnels = self._of[host]
        if "who" in told:
            tunnels.forward(told["door"], self._served_socket(PeerUser(*told["who"])))
        elif "open" in told:
            for number in {*told["open"]}.difference(tunnels.numbers):
                self._say(host, door=number, closed=True)
        else:
            tunnels.on_message(told)

    def close_host(self, host: HostId) -> None:
        """Close all connections of a host."""
        if host in self._of:
            self._of[host].close_all()

    @asynccontextmanager
    async def serve_connections(self, answer: Answer) -> AsyncIterator[None]:
        """Answer connections; finally finish current answers."""
        self._answer = answer
        looking = asyncio.create_task(self._watch_hosts())
        try:
            yield
        finally:
            self._answer = None
            looking.cancel()
            if tasks := [task for tunnels in self._of.values() for task in tunnels.tasks]:
                await asyncio.wait(tasks, timeout=LEAVE_S)
            for host in self._of:
                self.close_host(host)

    async def _watch_hosts(self) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            for host in filter(self._is_silent, [*self._of]):
                self.close_host(host)

    @asynccontextmanager
    async def _served_socket(self, who: PeerUser) -> AsyncIterator[socket.socket]:
        async with self._room[who.uid]:
            if self._answer is None:
                raise ConnectionError
            here, there = socket.socketpair()
            with here:
                here.setblocking(False)
                await self._answer(there, who)
                yield here
