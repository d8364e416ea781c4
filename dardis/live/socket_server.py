"""Socket for commands; agents forward connections to the service."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import struct
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, Final, NamedTuple

from dardis.live.client import socket_path
from dardis.live.stream_forwarding import StreamForwarder
from dardis.model.errors import InputError

MOST_CONNECTIONS: Final = 128
"""Per user and host; more are closed."""
BACKLOG: Final = 128
AGAIN_S: Final = 1.0
"""Pause without room for a connection, s."""


class PeerUser(NamedTuple):
    """Connection's user."""

    uid: int
    gid: int


def peer_user(connection: socket.socket) -> PeerUser:
    """User of a Unix socket connection, from the kernel."""
    told = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    _, uid, gid = struct.unpack("3i", told)
    return PeerUser(uid, gid)


@contextmanager
def open_listener(folder: Path, *, users: bool) -> Iterator[socket.socket]:
    """Listen in a locked folder, for its user or for all. Raises InputError."""
    path = socket_path(folder)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.setblocking(False)
        before = os.umask(0o177)
        try:
            path.unlink(missing_ok=True)  # remains of a dead service
            listener.bind(os.fsencode(path))
        except OSError as error:
            raise InputError(path, f"can't be used as a socket ({error.strerror})", "a place for a socket") from None
        finally:
            os.umask(before)
        if users:
            path.chmod(0o666)
        listener.listen(BACKLOG)
        try:
            yield listener
        finally:
            path.unlink(missing_ok=True)


class SocketServer:
    """Forwards connections to the service."""

    def __init__(self, listener: socket.socket, say: Callable[[bytes], bool]) -> None:
        self._listener, self._send = listener, say
        self._tunnels = StreamForwarder(self._send_message)
        self._of = Counter[int]()
        self._last = 0
        self._taking = asyncio.create_task(self._take())

    def on_message(self, told: Mapping[str, Any]) -> None:
        """Handle a message of the service."""
        self._tunnels.on_message(told)

    def report_connections(self) -> None:
        """Report open connections, as the service may have closed some."""
        if self._taking.done():
            self._taking.result()  # raises unexpected errors
        if (numbers := self._tunnels.numbers) and not self._send_message({"door": 0, "open": numbers}):
            self._tunnels.close_all()

    async def close(self) -> None:
        """Close all connections."""
        self._taking.cancel()
        await asyncio.wait([self._taking])
        self._tunnels.close_all()

    def _send_message(self, told: Mapping[str, Any]) -> bool:
        return self._send(json.dumps(told).encode())

    async def _take(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection, _ = await loop.sock_accept(self._listener)
            except OSError:  # no room, or the client is gone
                await asyncio.sleep(AGAIN_S)
            else:
                self._forward(connection)

    def _forward(self, connection: socket.socket) -> None:
        who = peer_user(connection)
        self._of[who.uid] += 1

        def leave(_: object = None) -> None:
            connection.close()
            self._of -= Counter([who.uid])

        self._last += 1
        if self._of[who.uid] <= MOST_CONNECTIONS and self._send_message({"door": self._last, "who": who}):
            self._tunnels.forward(self._last, nullcontext(connection)).add_done_callback(leave)
        else:
            leave()
