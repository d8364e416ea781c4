"""Users of connections, with limits per user."""

from __future__ import annotations

import asyncio
import json
import socket
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from typing import Any, Final
from weakref import WeakKeyDictionary, WeakSet

from aiohttp import web

from dardis.live.socket_server import BACKLOG, PeerUser, peer_user

MOST_CONNECTIONS: Final = 512
"""Per user, on all hosts."""
MOST_BYTES: Final = 64 << 20
MOST_BODIES: Final = 4
"""Bodies read at a time per user."""
BODY_S: Final = 60.0
SESSION_USER: Final = "session user"


class ClientConnections:
    """All current connections."""

    def __init__(self) -> None:
        self._of = WeakKeyDictionary[asyncio.BaseTransport, PeerUser]()
        self._connections = defaultdict[int, WeakSet[asyncio.BaseTransport]](WeakSet)
        self._reading = defaultdict[int, asyncio.Semaphore](lambda: asyncio.Semaphore(MOST_BODIES))

    async def listen(self, server: web.Server, listener: socket.socket) -> asyncio.Server:
        """Serve a Unix socket until the result is closed."""
        entry = partial(PendingConnection, self._admit, server, None)
        return await asyncio.get_running_loop().create_unix_server(entry, sock=listener, backlog=BACKLOG)

    async def serve_forwarded(self, server: web.Server, connection: socket.socket, who: PeerUser) -> None:
        """Serve a connection forwarded by an agent."""
        entry = partial(PendingConnection, self._admit, server, who)
        await asyncio.get_running_loop().connect_accepted_socket(entry, connection)

    def user_of(self, request: web.Request) -> PeerUser | None:
        """Request's user, or None."""
        if (who := request.get(SESSION_USER)) is not None:
            return PeerUser(*who)
        return None if request.transport is None else self._of.get(request.transport)

    async def read_body(self, request: web.Request) -> Any:  # noqa: ANN401 (as JSON has it)
        """Read a JSON body. Raises ConnectionError if incomplete."""
        who = self.user_of(request)
        if who is None:
            raise ConnectionError
        if (stated := request.content_length or 0) > MOST_BYTES:
            raise web.HTTPRequestEntityTooLarge(MOST_BYTES, stated)
        data = bytearray()
        async with self._reading[who.uid]:
            try:
                async with asyncio.timeout(BODY_S):
                    async for piece in request.content.iter_any():
                        data += piece
                        if len(data) > MOST_BYTES:
                            raise web.HTTPRequestEntityTooLarge(MOST_BYTES, len(data))
            except TimeoutError:
                raise web.HTTPRequestTimeout(text=f"the request did not arrive within {BODY_S:.0f} s") from None
            return json.loads(data) if data else {}

    def _admit(self, transport: asyncio.BaseTransport, who: PeerUser) -> bool:
        # Closed connections stay until garbage collection, unless room is short.
        his = self._connections[who.uid]
        if len(his) >= MOST_CONNECTIONS:
            his.difference_update([one for one in his if _is_closed(one)])
        if len(his) >= MOST_CONNECTIONS:
            return False
        his.add(transport)
        self._of[transport] = who
        return True


class PendingConnection(asyncio.Protocol):
    """Connection before admission. `let_in` gets it and its user (`who`, else from the kernel)."""

    def __init__(
        self, let_in: Callable[[asyncio.BaseTransport, PeerUser], bool], server: web.Server, who: PeerUser | None
    ) -> None:  # fmt: skip
        self._let_in, self._server, self._who = let_in, server, who

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Hand the connection to the server, or close it."""
        assert isinstance(transport, asyncio.Transport)
        if self._let_in(transport, self._who or peer_user(transport.get_extra_info("socket"))):
            handler = self._server()
            transport.set_protocol(handler)
            handler.connection_made(transport)
        else:
            transport.abort()


def _is_closed(transport: asyncio.BaseTransport) -> bool:
    return bool(transport.get_extra_info("socket").fileno() < 0)
