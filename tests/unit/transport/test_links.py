"""Who gets in over the network, what is answered, and what becomes of what is lost. All over loopback."""

import asyncio
import socket as sockets
from contextlib import contextmanager, suppress
from threading import Event, Thread

import pytest
import zmq

from dardis.model.errors import InputError
from dardis.scale.tally import resident_bytes
from dardis.transport import links
from dardis.transport.base import HostDownError
from dardis.transport.links import Link, Switchboard, new_keys

PATIENT_S, IMPATIENT_S = 60.0, 0.6


@pytest.fixture(scope="module")
def server():
    return new_keys()


@contextmanager
def switchboard(server, *hosts):
    """Lets hosts 0, 1, … in by these keys."""
    opened = Switchboard("127.0.0.1", server, {keys.public: host for host, keys in enumerate(hosts)})
    try:
        yield opened
    finally:
        opened.close()


class DiedError(Exception):
    """A host's end."""


@contextmanager
def running(places, server, keys, answer=bytes.upper, heard=lambda _: None):
    """A link that works in a thread of its own."""
    ready, ended = Event(), []

    async def work():
        link = Link(places, server.public, keys)
        task = asyncio.ensure_future(link.run(answer, heard))
        ended.append((asyncio.get_running_loop(), task))
        ready.set()
        with suppress(asyncio.CancelledError, DiedError):
            await task
        link.close()

    thread = Thread(target=asyncio.run, args=(work(),))
    thread.start()
    ready.wait()
    loop, task = ended[0]
    try:
        yield
    finally:
        with suppress(RuntimeError):  # it has died
            loop.call_soon_threadsafe(task.cancel)
        thread.join()


def test_hosts_are_queried_concurrently_and_answer_their_own_requests(server):
    both = [new_keys(), new_keys()]
    met = Event(), Event()

    def answer(host):
        def say(payload):
            met[host].set()
            assert met[1 - host].wait(30)  # if one were asked after the other, this would never be
            return payload + b" by %d" % host

        return say

    with (
        switchboard(server, *both) as board,
        running(board.places, server, both[0], answer(0)),
        running(board.places, server, both[1], answer(1)),
    ):
        assert board.request({1: b"one", 0: b"none"}, PATIENT_S) == {0: b"none by 0", 1: b"one by 1"}


def no_peer_connects(board):
    with pytest.raises(HostDownError) as down:
        board.request({0: b"hallo"}, IMPATIENT_S)
    return down.value.hosts == (0,)


@pytest.mark.parametrize("wrong", ["the host's key", "the server's key", "nobody at the door"])
def test_unauthenticated_peers_are_refused(server, wrong, monkeypatch):
    asked, keys = [], new_keys()
    if wrong == "nobody at the door":
        monkeypatch.setattr(links, "_authenticate_peers", lambda door, _allowed: door.close())
    shown = new_keys() if wrong == "the host's key" else keys
    expected = new_keys() if wrong == "the server's key" else server
    with switchboard(server, keys) as board, running(board.places, expected, shown, asked.append):
        assert no_peer_connects(board)
    assert not asked


GREETING = b"\xff" + bytes(7) + b"\x01\x7f\x03\x00" + b"CURVE".ljust(52, b"\0")
"""What a client of ZMTP 3.0 says first."""
MIB = 1 << 20


@pytest.mark.parametrize("begins", [
    GREETING + b"\x06",  # a long command
    GREETING + b"\x02",  # a long message
    GREETING + b"\x04\xc8" + b"\x05HELLO" + bytes(194) + b"\x06",  # after the handshake's first word, with no key
    b"\xff",  # what ZMTP 1.0 began with
], ids=["command", "message", "hello", "old"])  # fmt: skip
def test_unauthenticated_senders_are_disconnected_without_buffering(server, begins):
    keys = new_keys()
    with switchboard(server, keys) as board, running(board.places, server, keys):
        assert board.request({0: b"a"}, PATIENT_S) == {0: b"A"}
        for place in board.places:
            before = resident_bytes()
            strangers = []
            for _ in range(4):
                strangers.append(sockets.create_connection(place.removeprefix("tcp://").rsplit(":", 1), PATIENT_S))
                with suppress(ConnectionError):
                    strangers[-1].sendall(begins + (255 * MIB).to_bytes(8, "big"))
                    for _ in range(64):
                        strangers[-1].sendall(bytes(MIB))
            assert resident_bytes() - before < 64 * MIB
            for stranger in strangers:
                with stranger, suppress(ConnectionError):
                    while stranger.recv(1 << 16):
                        pass
            assert board.request({0: b"b"}, PATIENT_S) == {0: b"B"}


@contextmanager
def forged_client(place, server, keys, identity):
    """A client that proves `keys` and says to be somebody else."""
    with zmq.Context() as context, context.socket(zmq.DEALER) as socket:
        socket.setsockopt(zmq.LINGER, 0)
        socket.setsockopt(zmq.ROUTING_ID, identity)
        socket.curve_serverkey, socket.curve_publickey, socket.curve_secretkey = server.public, keys.public, keys.secret
        socket.connect(place)
        yield socket


def test_host_identity_is_its_key(server):
    honest, other = new_keys(), new_keys()
    with switchboard(server, honest, other) as board, running(board.places, server, honest, lambda _: b"honest"):
        assert board.request({0: b""}, PATIENT_S) == {0: b"honest"}
        route = board._turns.routes[0]
        with forged_client(board.places[0], server, other, b"0") as socket:
            socket.send(b"")
            while 1 not in board._turns.routes:
                with suppress(HostDownError):
                    board.request({1: b""}, 0.05)
            socket.send_multipart([(board._asked + 1).to_bytes(8, "big"), b"forged"])
            assert board.request({0: b""}, PATIENT_S) == {0: b"honest"}
            assert board._turns.routes[0] == route


def test_late_response_does_not_answer_a_later_request(server):
    keys, go_on = new_keys(), Event()

    def answer(payload):
        if payload == b"first":
            go_on.wait(PATIENT_S)
        return payload

    with switchboard(server, keys) as board, running(board.places, server, keys, answer):
        assert board.request({0: b"hallo"}, PATIENT_S)
        with pytest.raises(HostDownError, match="no answer from host 0"):
            board.request({0: b"first"}, 0.1)
        go_on.set()
        assert board.request({0: b"second"}, PATIENT_S) == {0: b"second"}


def test_host_that_returns_during_a_request_answers(server):
    keys, died = new_keys(), Event()

    def dies(payload):
        died.set()
        raise DiedError

    def comes_back():
        died.wait(PATIENT_S)
        with running(board.places, server, keys):
            answered.wait(PATIENT_S)

    answered = Event()
    with switchboard(server, keys) as board, running(board.places, server, keys, dies):
        back = Thread(target=comes_back)
        back.start()
        try:
            assert board.request({0: b"a"}, PATIENT_S) == {0: b"A"}
        finally:
            answered.set()
            back.join()


class Wire:
    """Between a link and a switchboard: can be cut, or lose without a word what goes over it."""

    def __init__(self, place):
        self.target = place.removeprefix("tcp://").rsplit(":", 1)
        self.door = sockets.create_server(("127.0.0.1", 0))
        self.place = f"tcp://127.0.0.1:{self.door.getsockname()[1]}"
        self.pairs, self.dead, self.threads, self.closing = [], set(), [], False
        self._begin(self._accept)

    def _begin(self, work, *what):
        self.threads.append(Thread(target=work, args=what))
        self.threads[-1].start()

    def _accept(self):
        while True:
            near, _ = self.door.accept()
            if self.closing:
                near.close()
                return
            far = sockets.create_connection(self.target)
            self.pairs.append((near, far))
            self._begin(self._pass_on, near, far)
            self._begin(self._pass_on, far, near)

    def _pass_on(self, one, other):
        with suppress(OSError):
            while data := one.recv(1 << 16):
                if one not in self.dead:
                    other.sendall(data)
        self._hang_up(one, other)

    @staticmethod
    def _hang_up(*ends):
        for end in ends:
            with suppress(OSError):
                end.shutdown(sockets.SHUT_RDWR)

    def cut(self):
        for pair in self.pairs:
            self._hang_up(*pair)

    def fall_silent(self):
        """For those that are connected now."""
        self.dead.update(end for pair in self.pairs for end in pair)

    def close(self):
        self.closing = True
        sockets.create_connection(self.door.getsockname()).close()
        self.threads[0].join()  # who accepts begins others
        self.cut()
        for thread in self.threads:
            thread.join()
        self.door.close()
        for end in (end for pair in self.pairs for end in pair):
            end.close()


@contextmanager
def wires(places):
    both = [Wire(place) for place in places]
    try:
        yield both
    finally:
        for wire in both:
            wire.close()


def test_request_repeated_on_a_new_connection_is_answered_once(server):
    keys, asked = new_keys(), []

    def answer(payload):
        asked.append(payload)
        for wire in both:
            wire.cut()  # so that this answer is lost
        return payload

    with (
        switchboard(server, keys) as board,
        wires(board.places) as both,
        running([wire.place for wire in both], server, keys, answer),
    ):
        assert board.request({0: b"a"}, PATIENT_S) == {0: b"a"}
    assert asked == [b"a"]


class Talk:
    """What a switchboard and its only host have heard of each other."""

    def __init__(self, board, link):
        self.board, self.link = board, link
        self.here, self.there = asyncio.Queue(), asyncio.Queue()
        board.listen(lambda host, said: self.here.put_nowait((host, said)), self.here.put_nowait)

    async def next(self, queue):
        async with asyncio.timeout(PATIENT_S):
            return await queue.get()


def talking(server, work, wired=None):
    """Let `work` see a talk in one loop; its wires are put into a list, if there is one."""

    async def all_of_it():
        keys = new_keys()
        with switchboard(server, keys) as board, wires(board.places if wired is not None else []) as both:
            if wired is not None:
                wired.extend(both)
            link = Link([wire.place for wire in both] or board.places, server.public, keys)
            talk = Talk(board, link)
            task = asyncio.ensure_future(link.run(bytes, talk.there.put_nowait))
            try:
                await work(talk)
            finally:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
                link.close()

    asyncio.run(all_of_it())


def test_messages_to_a_disconnected_host_are_not_queued(server):
    async def work(talk):
        talk.link.send(b"too early")
        talk.board.send(0, b"too early")
        assert await talk.next(talk.here) == 0
        while (told := await talk.next(talk.here)) == 0:
            talk.link.send(b"heard")
            talk.board.send(0, b"heard")
        assert told == (0, b"heard")
        assert await talk.next(talk.there) == b"heard"

    talking(server, work)


def test_lost_message_breaks_the_session(server):
    async def work(talk):
        assert await talk.next(talk.here) == 0
        talk.link.send(b"a")
        talk.link._said += 1  # as if another could not have been sent
        assert [await talk.next(talk.here) for _ in range(2)] == [(0, b"a"), 0]
        talk.link._said += 1
        talk.link.send(b"b")
        assert [await talk.next(talk.here) for _ in range(2)] == [0, (0, b"b")]

    talking(server, work)


@pytest.mark.parametrize("speaks", ["link", "board"])
def test_full_send_queue_breaks_the_session_without_blocking(server, monkeypatch, speaks):
    monkeypatch.setitem(links._OPTIONS, zmq.SNDHWM, 2)
    monkeypatch.setitem(links._OPTIONS, zmq.RCVHWM, 2)

    async def work(talk):
        assert await talk.next(talk.here) == 0
        for _ in range(60):  # more than connections hold
            if speaks == "link":
                talk.link.send(bytes(1 << 20))
            else:
                talk.board.send(0, bytes(1 << 20))
        while await talk.next(talk.here) != 0:
            pass

    talking(server, work)


@pytest.mark.parametrize("address", ["nowhere.invalid", "192.0.2.1", ""])
def test_foreign_address_is_refused(server, address):
    with pytest.raises(InputError, match="expected a numeric address of this host"):
        Switchboard(address, server, {})
