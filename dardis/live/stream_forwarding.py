"""Stream forwarding: connections carried over a link as messages.

Unacknowledged data are bounded; lost data close a connection.
"""

from __future__ import annotations

import asyncio
import select
import socket
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Final

PIECE: Final = 1 << 16
PIECES: Final = 4
"""Most unacknowledged messages."""

Send = Callable[[Mapping[str, Any]], object]


class StreamForwarder:
    """Local ends of connections over a link."""

    def __init__(self, say: Send) -> None:
        self._say = say
        self._open: dict[int, tuple[_End, asyncio.Task[None]]] = {}

    @property
    def numbers(self) -> list[int]:
        """Open connections."""
        return list(self._open)

    @property
    def tasks(self) -> list[asyncio.Task[None]]:
        """Tasks of open connections."""
        return [task for _, task in self._open.values()]

    def forward(self, number: int, opened: AbstractAsyncContextManager[socket.socket]) -> asyncio.Task[None]:
        """Forward a non-blocking socket until the returned task ends."""
        end = _End(lambda **told: self._say({"door": number, **told}))
        task = asyncio.create_task(end.forward(opened))
        self._open[number] = end, task
        task.add_done_callback(lambda task: self._forget(number, task))
        return task

    def on_message(self, told: Mapping[str, Any]) -> None:
        """Handle a message of the other end; ignore closed connections."""
        if told["door"] in self._open:
            self._open[told["door"]][0].on_message(told)

    def close_all(self) -> None:
        """Close all connections without notice."""
        for _, task in self._open.values():
            task.cancel()
        self._open.clear()

    def _forget(self, number: int, task: asyncio.Task[None]) -> None:
        if number in self._open and self._open[number][1] is task:
            del self._open[number]


class _OverError(Exception):
    """The connection is over."""


class _End:
    def __init__(self, say: Callable[..., object]) -> None:
        self._say = say
        self._free = asyncio.Semaphore(PIECES)
        self._sent = 0
        self._heard = 0
        self._came: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._both_ways = 2

    def on_message(self, told: Mapping[str, Any]) -> None:
        if "took" in told:
            self._free.release()
        elif told.get("piece") == self._heard:
            self._heard += 1
            self._came.put_nowait(b64decode(told["bytes"]))
        else:  # closed there, or a piece is missing
            self._came.put_nowait(None)

    async def forward(self, opened: AbstractAsyncContextManager[socket.socket]) -> None:
        try:
            async with opened as here, asyncio.TaskGroup() as both:
                both.create_task(self._send(here))
                both.create_task(self._take(here))
        except* (_OverError, OSError):
            self._say(closed=True)

    async def _send(self, here: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await self._free.acquire()
            data = await loop.sock_recv(here, PIECE)
            if not data and _is_closed(here):
                raise _OverError
            self._say(piece=self._sent, bytes=b64encode(data).decode())
            self._sent += 1
            if not data:
                self._end_direction()
                return

    async def _take(self, here: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while (data := await self._came.get()) is not None:
            if data:
                await loop.sock_sendall(here, data)
                self._say(took=True)
            else:
                here.shutdown(socket.SHUT_WR)
                self._end_direction()
        raise _OverError

    def _end_direction(self) -> None:
        self._both_ways -= 1
        if not self._both_ways:
            raise _OverError


def _is_closed(here: socket.socket) -> bool:
    look = select.poll()
    look.register(here, 0)
    return any(event & select.POLLHUP for _, event in look.poll(0))
