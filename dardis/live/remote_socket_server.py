"""The service's end of other hosts' doors: what is carried from there is answered as what is asked here."""

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
"""Connections of one user that are answered at once, of all hosts together; further ones wait until there is room."""
LOOK_S: Final = 1.0
"""How often it is looked whether hosts are silent, s."""
LEAVE_S: Final = 1.0
"""How long last answers may take to leave, s."""

Answer = Callable[[socket.socket, Who], Awaitable[None]]
"""Begins to answer what comes from a socket, as asked by somebody; closes it."""


class FarDoors:
    """All connections from other hosts. They are closed when a link breaks, or a host falls silent."""

    def __init__(self, say: Callable[..., None], is_silent: Callable[[HostId], bool]) -> None:
        """`say` says words to a host's agent. Nobody is answered yet."""
        self._is_silent = is_silent
        self._say = say
        self._of: dict[HostId, Tunnels] = {}
        self._room = defaultdict[int, asyncio.Semaphore](lambda: asyncio.Semaphore(MOST))
        """By user."""
        self._answer: Answer | None = None

    def hear(self, host: HostId, told: Mapping[str, Any]) -> None:
        """Take what a host's agent says."""
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
        """Close all of a host: its agent finds that out."""
        if host in self._of:
            self._of[host].break_off()

    @asynccontextmanager
    async def answering(self, answer: Answer) -> AsyncIterator[None]:
        """Have them answered until the end; what was answered by then is still carried."""
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
        """The end here of a connection that is answered."""
        async with self._room[who.uid]:
            if self._answer is None:
                raise ConnectionError
            here, there = socket.socketpair()
            with here:
                here.setblocking(False)
                await self._answer(there, who)
                yield here
