"""Who asks at a service's door: how many connections and bodies of one user there may be, beside those of others."""

import asyncio
import json
import os
import socket
from contextlib import ExitStack, asynccontextmanager

from aiohttp import web

from dardis.live import connections
from dardis.live.connections import ClientConnections
from dardis.live.socket_server import PeerUser, open_listener

ME, OTHER = PeerUser(os.getuid(), os.getgid()), PeerUser(os.getuid() + 4711, 12)


class Door:
    """Echoes bodies."""

    def __init__(self, folder):
        self.path = str(folder / "gateway.sock")
        self.callers = ClientConnections()

    @asynccontextmanager
    async def open(self, listener):
        app = web.Application()
        app.add_routes([web.post("/", self._echo)])
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        self.server = runner.server
        entrance = await self.callers.listen(runner.server, listener)
        try:
            yield
        finally:
            entrance.close()
            await runner.cleanup()

    async def _echo(self, request):
        return web.json_response(await self.callers.read_body(request))

    async def come(self, stack, who=None):
        """A connection, of who I am or as an agent says."""
        one, there = socket.socket(socket.AF_UNIX), None
        if who is not None:
            one.close()
            one, there = socket.socketpair()
            await self.callers.serve_forwarded(self.server, there, who)
        stack.enter_context(one)
        one.setblocking(False)
        if who is None:
            await asyncio.get_running_loop().sock_connect(one, self.path)
        return one


async def send_request(one, body, length=None):
    data = json.dumps(body).encode()
    head = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % (len(data) if length is None else length)
    await asyncio.get_running_loop().sock_sendall(one, head + data)


async def answer(one):
    """Status and body; None: it was closed."""
    try:
        told = await asyncio.get_running_loop().sock_recv(one, 1 << 16)
    except ConnectionError:
        return None
    head, _, body = told.partition(b"\r\n\r\n")
    return (int(head.split()[1]), body) if told else None


def played(test):
    """A test with a door, a stack and `monkeypatch`."""

    async def all_of_it(folder, monkeypatch):
        door = Door(folder)
        with open_listener(folder, users=False) as listener, ExitStack() as stack:
            async with asyncio.timeout(60), door.open(listener):
                await test(door, stack, monkeypatch)

    return lambda tmp_path, monkeypatch: asyncio.run(all_of_it(tmp_path, monkeypatch))


@played
async def test_further_connections_of_one_user_are_closed_at_once(door, stack, monkeypatch):
    monkeypatch.setattr(connections, "MOST_CONNECTIONS", 3)
    held = [await door.come(stack, ME), await door.come(stack), await door.come(stack)]
    for who in (None, ME):
        assert await answer(await door.come(stack, who)) is None
    others = await door.come(stack, OTHER)
    await send_request(others, 1)
    assert await answer(others) == (200, b"1")
    for one in held:  # who was there is answered
        await send_request(one, 2)
        assert await answer(one) == (200, b"2")
    held.pop().close()
    await asyncio.sleep(0.1)
    again = await door.come(stack)
    await send_request(again, 3)
    assert await answer(again) == (200, b"3")
    assert await answer(await door.come(stack)) is None


@played
async def test_concurrent_bodies_of_one_user_are_limited_in_number_and_time(door, stack, monkeypatch):
    monkeypatch.setattr(connections, "MOST_BODIES", 2)
    monkeypatch.setattr(connections, "BODY_S", 1.0)
    slow = [await door.come(stack, who) for who in (ME, None)]
    for one in slow:
        await send_request(one, 1, length=100)
    await asyncio.sleep(0.1)
    waits, others = await door.come(stack), await door.come(stack, OTHER)
    await send_request(waits, 2)
    answered = asyncio.create_task(answer(waits))
    await send_request(others, 3)
    assert await answer(others) == (200, b"3")
    assert not answered.done()
    for one in slow:
        status, said = await answer(one)
        assert (status, said) == (408, b"the request did not arrive within 1 s")
    assert await answered == (200, b"2")


@played
async def test_long_request_is_refused_whatever_its_stated_length(door, stack, monkeypatch):
    monkeypatch.setattr(connections, "MOST_BYTES", 1000)
    one = await door.come(stack)
    await send_request(one, "x" * 998)
    assert (await answer(one))[0] == 200
    await send_request(one, "x" * 999)
    assert (await answer(one))[0] == 413
    one = await door.come(stack)
    head = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 999999999\r\n\r\n"
    await asyncio.get_running_loop().sock_sendall(one, head)  # and no byte of the body
    assert (await answer(one))[0] == 413
    one, data = await door.come(stack), b"400\r\n" + b" " * 1024 + b"\r\n0\r\n\r\n"
    head = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    await asyncio.get_running_loop().sock_sendall(one, head + data)
    assert (await answer(one))[0] == 413
