"""The socket at which commands ask; on hosts of agents what is asked there is carried to the service, with who asks."""

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

from dardis.live.client import socket_of
from dardis.live.stream_forwarding import Tunnels
from dardis.model.errors import InputError

MOST: Final = 128
"""Connections of one user that are carried at once from a host; further ones are closed at once."""
BACKLOG: Final = 128
"""How many wait."""
AGAIN_S: Final = 1.0
"""How long it waits where the system has no room for another connection, s."""


class Who(NamedTuple):
    """Who asks, by number."""

    uid: int
    gid: int


def peer_of(connection: socket.socket) -> Who:
    """Who has connected to a Unix socket of this host, as the kernel says."""
    told = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    _, uid, gid = struct.unpack("3i", told)
    return Who(uid, gid)


@contextmanager
def listening(folder: Path, *, users: bool) -> Iterator[socket.socket]:
    """Listen in a folder whose lock is ours, for its user alone or for all. Raises InputError where that can't be."""
    path = socket_of(folder)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.setblocking(False)
        before = os.umask(0o177)
        try:
            path.unlink(missing_ok=True)  # whoever held it is gone
            listener.bind(os.fsencode(path))
        except OSError as error:
            raise InputError(path, f"can't be listened at ({error.strerror})", "a place for a socket") from None
        finally:
            os.umask(before)
        if users:
            path.chmod(0o666)
        listener.listen(BACKLOG)
        try:
            yield listener
        finally:
            path.unlink(missing_ok=True)


class Door:
    """Carries what is asked on an agent's host to the service, which sees whether who asks may."""

    def __init__(self, listener: socket.socket, say: Callable[[bytes], bool]) -> None:
        """Take connections from now on. `say` says something to the service, and whether it is on its way."""
        self._listener, self._send = listener, say
        self._tunnels = Tunnels(self._say)
        self._of = Counter[int]()
        """How many are carried, by user."""
        self._last = 0
        self._taking = asyncio.create_task(self._take())

    def hear(self, told: Mapping[str, Any]) -> None:
        """Take what the service says of connections."""
        self._tunnels.hear(told)

    def look(self) -> None:
        """See that all connections are the service's too: it may have closed some, and it couldn't be told."""
        if self._taking.done():
            self._taking.result()  # raises what nobody has expected
        if (numbers := self._tunnels.numbers) and not self._say({"door": 0, "open": numbers}):
            self._tunnels.break_off()

    async def close(self) -> None:
        """Take no more connections, and close all."""
        self._taking.cancel()
        await asyncio.wait([self._taking])
        self._tunnels.break_off()

    def _say(self, told: Mapping[str, Any]) -> bool:
        return self._send(json.dumps(told).encode())

    async def _take(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection, _ = await loop.sock_accept(self._listener)
            except OSError:  # the system has no room for another one, or who came is gone
                await asyncio.sleep(AGAIN_S)
            else:
                self._carry(connection)

    def _carry(self, connection: socket.socket) -> None:
        """Carry a connection to the service; where that is away, or who asks has too many, close it."""
        who = peer_of(connection)
        self._of[who.uid] += 1

        def leave(_: object = None) -> None:
            connection.close()
            self._of -= Counter([who.uid])

        self._last += 1
        if self._of[who.uid] <= MOST and self._say({"door": self._last, "who": who}):
            self._tunnels.begin(self._last, nullcontext(connection)).add_done_callback(leave)
        else:
            leave()
