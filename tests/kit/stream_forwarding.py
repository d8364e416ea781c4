"""Both ends of a link that carries connections, in one process; who is at either end talks over plain sockets."""

import asyncio
import json
import socket
from contextlib import asynccontextmanager
from pathlib import Path

from kit.waiting import PATIENCE_S, until_async


class Wire:
    """Carries what both ends say, in order, a turn of the loop later; may lose things."""

    def __init__(self):
        self.hears = [None, None]
        """What takes what is said to either end."""
        self.lost = lambda _to, _told: False
        self.said = []
        """All that was: to which end, and what."""

    def say(self, to, told):
        """Whether it is on its way."""
        told = json.loads(json.dumps(told))
        if self.lost(to, told):
            return False
        self.said.append((to, told))
        asyncio.get_running_loop().call_soon(lambda: self.hears[to](told))
        return True


class Both:
    """Tunnels at both ends of a wire."""

    def __init__(self, tunnels):
        self.wire = Wire()
        self.ends = [tunnels(lambda told, to=to: self.wire.say(to, told)) for to in (1, 0)]
        self.wire.hears = [end.on_message for end in self.ends]
        self.last = 0

    @asynccontextmanager
    async def carried(self):
        """A connection: what who is at either end has of it."""
        self.last += 1
        pairs = [socket.socketpair() for _ in self.ends]
        for pair in pairs:
            for one in pair:
                one.setblocking(False)
        for end, (_, inner) in zip(self.ends, pairs, strict=True):
            end.forward(self.last, closing_socket(inner))
        try:
            yield [outer for outer, _ in pairs]
        finally:
            for outer, _ in pairs:
                outer.close()

    async def all_over(self):
        """Wait until nothing is carried any more, nor kept."""
        await until_async(lambda: not any(end.numbers for end in self.ends) and len(asyncio.all_tasks()) == 1)


@asynccontextmanager
async def closing_socket(one):
    with one:
        yield one


async def all_of(one):
    """All that comes over a socket until its end."""
    data = bytearray()
    async with asyncio.timeout(PATIENCE_S):
        while piece := await asyncio.get_running_loop().sock_recv(one, 1 << 16):
            data += piece
    return bytes(data)


async def some_of(one, count):
    """So many bytes that come."""
    data = bytearray()
    async with asyncio.timeout(PATIENCE_S):
        while len(data) < count:
            piece = await asyncio.get_running_loop().sock_recv(one, count - len(data))
            assert piece, "closed"
            data += piece
    return bytes(data)


async def send(one, data):
    async with asyncio.timeout(PATIENCE_S):
        await asyncio.get_running_loop().sock_sendall(one, data)


def sockets_open():
    """How many sockets this process has."""
    links = []
    for entry in Path("/proc/self/fd").iterdir():
        try:
            links.append(entry.readlink())
        except OSError:
            continue
    return sum(str(link).startswith("socket:") for link in links)
