"""Doors of agents' hosts: who asks is told, all is closed when the link is, and what hosts can hold open is bounded."""

import asyncio
import json
import os
import socket
import stat
from contextlib import asynccontextmanager, suppress

import pytest
from kit.stream_forwarding import PATIENCE_S, all_of, send, sockets_open, some_of
from kit.waiting import until_async

from dardis.live import remote_socket_server
from dardis.live import socket_server as doors
from dardis.live.remote_socket_server import ForwardedConnections
from dardis.live.socket_server import PeerUser, SocketServer, open_listener
from dardis.model.errors import InputError

HOST = 3
ME = PeerUser(os.getuid(), os.getgid())


class Site:
    """A door, and the service's end of it, with a link that may be away; whoever asks is told who he is, and echoed."""

    def __init__(self, folder, listener):
        self.path = str(folder / "gateway.sock")
        self.away = self.silent = False
        self.asked, self.said = [], []
        self.far = ForwardedConnections(self._to_agent, lambda _: self.silent)
        self.door = SocketServer(listener, self._to_service)
        self.echoing = set()

    def _to_service(self, payload):
        if not self.away:
            self.said.append(json.loads(payload))
            asyncio.get_running_loop().call_soon(self.far.on_message, HOST, json.loads(payload))
        return not self.away

    def _to_agent(self, host, **told):
        assert host == HOST
        if not self.away:
            asyncio.get_running_loop().call_soon(self.door.on_message, json.loads(json.dumps(told)))

    async def answer(self, connection, who):
        self.asked.append(who)
        task = asyncio.create_task(self._echo(connection))
        self.echoing.add(task)
        task.add_done_callback(self.echoing.discard)

    async def _echo(self, connection):
        connection.setblocking(False)
        with connection, suppress(OSError):
            while piece := await asyncio.get_running_loop().sock_recv(connection, 1 << 16):
                await asyncio.get_running_loop().sock_sendall(connection, piece)

    async def ask(self):
        """A connection to the door."""
        one = socket.socket(socket.AF_UNIX)
        one.setblocking(False)
        await asyncio.get_running_loop().sock_connect(one, self.path)
        return one

    async def echoes(self, one, word=b"hallo"):
        await send(one, word)
        return await some_of(one, len(word)) == word

    def carried(self):
        return self.door._tunnels.numbers, [*self.far._of[HOST].numbers] if HOST in self.far._of else []


@asynccontextmanager
async def socket_site(folder, answering=True):
    with open_listener(folder, users=False) as listener:
        site = Site(folder, listener)
        try:
            if answering:
                async with site.far.serve_connections(site.answer):
                    yield site
            else:
                yield site
        finally:
            await site.door.close()


def played(**how):
    """A test with a site and `monkeypatch`, after which nothing is left."""

    def of(test):
        async def all_of_it(folder, monkeypatch):
            before = sockets_open()
            async with asyncio.timeout(60):
                async with socket_site(folder, **how) as site:
                    await test(site, monkeypatch)
                await until_async(lambda: len(asyncio.all_tasks()) == 1)
            assert sockets_open() == before
            assert not (folder / "gateway.sock").exists()

        return lambda tmp_path, monkeypatch: asyncio.run(all_of_it(tmp_path, monkeypatch))

    return of


@played()
async def test_peer_credentials_are_passed_and_requests_answered(site, monkeypatch):
    one, other = await site.ask(), await site.ask()
    with one, other:
        assert await site.echoes(one)
        assert await site.echoes(other, os.urandom(300_000))
        assert site.asked == [ME, ME]
    await until_async(lambda: site.carried() == ([], []))


@played(answering=False)
async def test_connections_are_closed_while_no_handler_answers(site, monkeypatch):
    with await site.ask() as one:
        assert await all_of(one) == b""


@played()
async def test_connections_are_closed_while_the_service_is_away(site, monkeypatch):
    site.away = True
    with await site.ask() as one:
        assert await all_of(one) == b""
    assert site.carried() == ([], [])
    site.away = False
    with await site.ask() as one:
        assert await site.echoes(one)


@played()
async def test_all_connections_close_when_the_service_leaves(site, monkeypatch):
    with await site.ask() as one:
        assert await site.echoes(one)
        site.door.report_connections()
        assert await site.echoes(one)
        site.away = True
        site.door.report_connections()
        assert await all_of(one) == b""
        site.far.close_host(HOST)


@played()
async def test_connections_of_an_unreachable_host_are_closed(site, monkeypatch):
    monkeypatch.setattr(remote_socket_server, "LOOK_S", 0.05)
    with await site.ask() as one:
        assert await site.echoes(one)
        await asyncio.sleep(0.2)
        assert site.carried() == ([1], [1])
        site.silent = True
        await until_async(lambda: site.carried() == ([1], []) and not site.echoing)
        site.silent = False
        site.door.report_connections()
        assert await all_of(one) == b""


@played()
async def test_excess_connections_wait_for_a_free_slot(site, monkeypatch):
    monkeypatch.setattr(remote_socket_server, "MOST_CONNECTIONS", 2)
    first, second, third, fourth = [await site.ask() for _ in range(4)]
    with first, second, third, fourth:
        assert await site.echoes(first)
        assert await site.echoes(second)
        await send(third, b"third")
        await send(fourth, b"fourth")
        await asyncio.sleep(0.1)
        assert len(site.asked) == 2
        third.close()  # it has given up
        first.close()
        assert await some_of(fourth, 6) == b"fourth"
        site.far.close_host(HOST)
        site.door.report_connections()
        assert await all_of(second) == await all_of(fourth) == b""
        with await site.ask() as one:
            assert await site.echoes(one)


@played()
async def test_accept_is_retried_when_the_system_has_no_descriptors(site, monkeypatch):
    monkeypatch.setattr(doors, "AGAIN_S", 0.05)
    loop = asyncio.get_running_loop()
    accept, failures = loop.sock_accept, iter([OSError(24, "Too many open files")] * 3)

    async def accepts(listener):
        for failure in failures:
            raise failure
        return await accept(listener)

    monkeypatch.setattr(loop, "sock_accept", accepts)
    with await site.ask() as one:
        assert await site.echoes(one)  # by the one that waits already
    for _ in range(2):
        with await site.ask() as one:
            assert await site.echoes(one)


@played(answering=False)
async def test_response_sent_before_the_close_arrives(site, monkeypatch):
    data = os.urandom(1_000_000)

    async def answer(connection, _):
        connection.setblocking(False)
        with connection:
            await asyncio.get_running_loop().sock_recv(connection, 1)
            ended.set()
            await asyncio.get_running_loop().sock_sendall(connection, data)

    async def begin(connection, who):
        answers.append(asyncio.create_task(answer(connection, who)))

    ended, answers = asyncio.Event(), []
    async with site.far.serve_connections(begin):
        one = await site.ask()
        await send(one, b"a")
        await ended.wait()
        reading = asyncio.create_task(all_of(one))
    with one:
        assert await reading == data


@played()
async def test_unexpected_server_error_is_raised(site, monkeypatch):
    monkeypatch.setattr(doors, "peer_user", lambda connection: connection.close() or 1 // 0)
    with await site.ask():
        await until_async(site.door._taking.done)
        with pytest.raises(ZeroDivisionError):
            site.door.report_connections()


@pytest.mark.parametrize(("users", "mode"), [(False, 0o600), (True, 0o666)])
def test_stale_socket_is_replaced_and_its_mode_follows_the_users(tmp_path, users, mode):
    place = tmp_path / "gateway.sock"
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(place))
    with open_listener(tmp_path, users=users):
        assert stat.S_IMODE(place.stat().st_mode) == mode
        with socket.socket(socket.AF_UNIX) as one:
            one.settimeout(PATIENCE_S)
            one.connect(str(place))
    assert not place.exists()


def test_invalid_socket_path_is_refused(tmp_path):
    (tmp_path / "gateway.sock").mkdir()
    with pytest.raises(InputError, match=r"gateway.sock: can't be used as a socket \(Is a directory\)"), open_listener(
        tmp_path, users=False
    ):  # fmt: skip
        pass
    with pytest.raises(InputError, match="too long for a socket"), open_listener(tmp_path / ("a" * 100), users=False):
        pass
