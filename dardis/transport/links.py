"""Talks with hosts over TCP, encrypted: only who proves a key of this start gets in. The only door to pyzmq.

Two ways lead to each host: *turns*, which are asked and waited for, and *talk*, which nobody waits for. Who speaks is
known by its key. Nothing waits for a host that is away: what can't be sent is dropped, and a talk of which something
may be lost is said to be broken. Payloads go in small parts: strangers can have no more than one set aside.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from math import inf
from threading import Thread
from typing import Final

import zmq
from zmq.utils import z85

from dardis.engine.clock import monotonic_s
from dardis.model.addresses import HostId
from dardis.model.errors import InputError
from dardis.transport.base import HostDownError

BEAT_S: Final = 0.5
"""How often a link says that it is there, s. It may take as long until a new connection is known."""
_MOST_WAITING: Final = 10_000
"""Messages of a connection that wait to be sent, or to be read."""
_PART: Final = 1 << 16
"""Bytes of a part of a payload."""
_SECURED: Final = 256
"""More bytes than a part has in addition, encrypted; a handshake's parts are no larger than ours either."""
_Options = dict[int, int | bytes]
_OPTIONS: Final[_Options] = {
    zmq.LINGER: 0, zmq.SNDHWM: _MOST_WAITING, zmq.RCVHWM: _MOST_WAITING, zmq.MAXMSGSIZE: _PART + _SECURED,
    # A connection that was cut without a word is given up within seconds, and so is an attempt to make one.
    zmq.HEARTBEAT_IVL: 1_000, zmq.HEARTBEAT_TIMEOUT: 5_000, zmq.HANDSHAKE_IVL: 5_000, zmq.CONNECT_TIMEOUT: 2_000,
    zmq.RECONNECT_IVL: 100, zmq.RECONNECT_IVL_MAX: 1_000,
}  # fmt: skip
_SERVER: Final[_Options] = {
    zmq.CURVE_SERVER: 1, zmq.ROUTER_MANDATORY: 1, zmq.ZAP_DOMAIN: b"dardis",
    zmq.ZAP_ENFORCE_DOMAIN: 1,  # nobody is let in while nobody is at the door
}  # fmt: skip
_DOOR: Final = "inproc://zeromq.zap.01"
_Socket = zmq.Socket[bytes]


@dataclass(frozen=True, slots=True)
class Keys:
    """A pair of CURVE keys, in Z85: 40 bytes each."""

    public: bytes
    secret: bytes = field(repr=False)


def new_keys() -> Keys:
    """Keys that nobody has had before."""
    return Keys(*zmq.curve_keypair())


def _socket(context: zmq.Context[_Socket], kind: int, keys: Keys, more: _Options) -> _Socket:
    own: _Options = {zmq.CURVE_PUBLICKEY: keys.public, zmq.CURVE_SECRETKEY: keys.secret}
    socket = context.socket(kind)
    for option, setting in (_OPTIONS | own | more).items():
        socket.set(option, setting)
    return socket


def _sent(socket: _Socket, *parts: bytes) -> bool:
    """Send at once, or not at all: whether it is on its way."""
    try:
        socket.send_multipart(parts, zmq.NOBLOCK)
    except zmq.ZMQError as error:
        if error.errno not in {zmq.EAGAIN, zmq.EHOSTUNREACH}:
            raise
        return False
    return True


def _arrived(socket: _Socket) -> Iterator[list[zmq.Frame]]:
    """What has come."""
    with suppress(zmq.Again):
        while True:
            yield socket.recv_multipart(zmq.NOBLOCK, copy=False)


def _parts(payload: bytes) -> list[bytes]:
    """What a payload is sent as: one part at least."""
    return [payload[at : at + _PART] for at in range(0, max(len(payload), 1), _PART)]


def _whole(parts: Sequence[zmq.Frame]) -> bytes:
    """The payload that was sent as these."""
    return b"".join(part.buffer for part in parts)


def _numbered(parts: Sequence[zmq.Frame]) -> tuple[bytes, bytes | None]:
    """A number and the payload that comes with it, if one does."""
    number, *payload = parts
    return number.bytes, _whole(payload) if payload else None


def _number(value: int) -> bytes:
    return value.to_bytes(8, "big")


class _Way:
    """One of the two ways to all hosts."""

    def __init__(self, context: zmq.Context[_Socket], keys: Keys) -> None:
        self.socket = _socket(context, zmq.ROUTER, keys, _SERVER)
        self.routes: dict[HostId, bytes] = {}
        """The connection by which each host has spoken last."""

    def place(self) -> str:
        """Where it is to be had."""
        return self.socket.get_string(zmq.LAST_ENDPOINT)

    def arrived(self) -> Iterator[tuple[HostId, bool, bytes, bytes | None]]:
        """What has come: of whom, whether by another connection than before, its number, and payload if it has one."""
        for route, *parts in _arrived(self.socket):
            host = HostId(int(str(parts[-1].get("User-Id"))))  # as `_let_in` has said of the key that was proved
            is_new = self.routes.get(host) != route.bytes
            self.routes[host] = route.bytes
            yield host, is_new, *_numbered(parts)


class Switchboard:
    """The end to which all hosts have links."""

    def __init__(self, address: str, keys: Keys, allowed: Mapping[bytes, HostId]) -> None:
        """Let in who has these public keys, at two free ports of this numeric address of ours. Raises InputError."""
        self._context = zmq.Context()
        door = self._context.socket(zmq.REP)
        door.bind(_DOOR)  # before anybody can come
        # In a thread of its own: hosts come back also while others are waited for.
        Thread(target=_let_in, args=(door, dict(allowed)), name="links", daemon=True).start()
        self._turns, self._talk = self._ways = _Way(self._context, keys), _Way(self._context, keys)
        self._asked = 0
        self._said: dict[HostId, int] = {}
        """How many payloads each host has said, as it counts them."""
        self._heard_s: dict[HostId, float] = {}
        """When it was heard last."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._heard: Callable[[HostId, bytes], None]
        self._broken: Callable[[HostId], None]
        try:
            for way in self._ways:
                way.socket.bind(f"tcp://{address}:*")
        except zmq.ZMQError as error:
            self.close()
            raise InputError(address, str(error), "a numeric address of this host") from None
        self.places = self._turns.place(), self._talk.place()
        """Where turns and talk are to be had."""

    def ask(self, payloads: Mapping[HostId, bytes], patience_s: float) -> dict[HostId, bytes]:
        """What these hosts answer, each to what is for it; they are asked side by side, and waited for.

        A host that has a new connection meanwhile is asked again, and answers once. Raises HostDownError with those
        that have not answered within `patience_s`; what they answer later nobody hears.
        """
        self._asked += 1
        number, until = _number(self._asked), monotonic_s() + patience_s
        missing, answers = dict(payloads), dict[HostId, bytes]()
        asked: dict[HostId, bytes] = {}
        """By which connection."""
        while True:
            for host, _, answered, answer in self._turns.arrived():
                if host in missing and answered == number and answer is not None:
                    answers[host] = answer
                    del missing[host]
            if not missing:
                return answers
            left_s = until - monotonic_s()
            if left_s <= 0:
                raise HostDownError(sorted(missing))
            for host, payload in missing.items():
                route = self._turns.routes.get(host)
                if route is None or route == asked.get(host):
                    continue
                if _sent(self._turns.socket, route, number, *_parts(payload)):
                    asked[host] = route
            self._turns.socket.poll(int(left_s * 1_000) + 1)

    def listen(self, heard: Callable[[HostId, bytes], None], broken: Callable[[HostId], None] = lambda _: None) -> None:
        """From now on tell what hosts say, in the running loop.

        `broken` is told of a host whose connection is new, or of whose talk something is lost, whichever way it went:
        what was said before may not have come, what is heard from then on comes whole until it is told again.
        """
        self._heard, self._broken = heard, broken
        self._loop = asyncio.get_running_loop()
        for way in self._ways:
            self._loop.add_reader(way.socket.fileno(), self._read)
        self._read()

    def say(self, host: HostId, payload: bytes) -> None:
        """Say something to a host, or drop it where that is away; never waits. Only after `listen`."""
        route = self._talk.routes.get(host)
        if route is None or not _sent(self._talk.socket, route, *_parts(payload)):
            self._later(self._broken, host)
        self._read()  # what has come is shown once, and that may have been while this was sent

    def silent_s(self, host: HostId) -> float:
        """For how long a host has said nothing, not even that it is there, s; inf: since `listen`."""
        self._read()
        return monotonic_s() - self._heard_s.get(host, -inf)

    def _read(self) -> None:
        """Take what has come; the loop tells it, in that order."""
        for _ in self._turns.arrived():
            pass  # beats, and answers that came too late
        if self._loop is None:
            return
        for host, is_new, number, payload in self._talk.arrived():
            said = int.from_bytes(number, "big")
            if is_new or said != self._said[host] + (payload is not None):
                self._later(self._broken, host)
            self._said[host] = said
            self._heard_s[host] = monotonic_s()
            if payload is not None:
                self._later(self._heard, host, payload)

    def _later(self, told: Callable[..., None], *what: object) -> None:
        """Have the loop tell it: whoever is told may say something."""
        if self._loop is not None:
            self._loop.call_soon(told, *what)

    def close(self) -> None:
        """Let go of all hosts."""
        for way in self._ways:
            if self._loop is not None:
                self._loop.remove_reader(way.socket.fileno())
            way.socket.close()
        self._context.term()


def _let_in(door: _Socket, allowed: Mapping[bytes, HostId]) -> None:
    """Say of each that has proved a key whether it is let in, and as which host (ZeroMQ's RFC 27), until all ends."""
    with door, suppress(zmq.ContextTerminated):
        while True:
            version, request, *_, key = door.recv_multipart()
            host = allowed.get(z85.encode(key))
            code, name = (b"400", b"") if host is None else (b"200", b"%d" % host)
            door.send_multipart([version, request, code, b"", name, b""])


class Link:
    """A host's end."""

    def __init__(self, places: tuple[str, str], server: bytes, keys: Keys) -> None:
        """Talk with whoever has proved to have the key `server`, at these places."""
        self._context = zmq.Context()
        # Nothing waits for a connection that isn't there.
        client: _Options = {zmq.CURVE_SERVERKEY: server, zmq.IMMEDIATE: 1}
        self._turns, self._talk = self._sockets = tuple(
            _socket(self._context, zmq.DEALER, keys, client) for _ in places
        )
        for socket, place in zip(self._sockets, places, strict=True):
            socket.connect(place)
        self._said = 0
        self._stirred = asyncio.Event()
        self._answered = b""
        """The last question's number, and its answer."""
        self._answer = b""

    async def run(self, answer: Callable[[bytes], bytes], heard: Callable[[bytes], None]) -> None:
        """Answer turns, hear talk, and keep the connection, until cancelled; raises what `answer` and `heard` raise."""
        loop = asyncio.get_running_loop()
        for socket in self._sockets:
            loop.add_reader(socket.fileno(), self._stirred.set)
        beat_s, known = -inf, False
        try:
            while True:
                self._stirred.clear()
                if not known or monotonic_s() >= beat_s:
                    known = all([_sent(self._turns, b""), _sent(self._talk, _number(self._said))])
                    beat_s = monotonic_s() + BEAT_S
                for parts in _arrived(self._turns):
                    number, payload = _numbered(parts)
                    assert payload is not None
                    self._take_turn(number, payload, answer)
                for parts in _arrived(self._talk):
                    heard(_whole(parts))
                with suppress(TimeoutError):
                    async with asyncio.timeout(beat_s - monotonic_s()):
                        await self._stirred.wait()
        finally:
            for socket in self._sockets:
                loop.remove_reader(socket.fileno())

    def _take_turn(self, number: bytes, payload: bytes, answer: Callable[[bytes], bytes]) -> None:
        """Answer a question; one that was heard already, and is asked again on a new connection, as before."""
        if number != self._answered:
            self._answer = answer(payload)
            self._answered = number
        _sent(self._turns, number, *_parts(self._answer))

    def say(self, payload: bytes) -> bool:
        """Say something, or drop it where that can't be sent: the other end sees that it is lost. Never waits.

        Whether it is on its way.
        """
        self._said += 1
        sent = _sent(self._talk, _number(self._said), *_parts(payload))
        self._stirred.set()  # what has come is shown once, and that may have been while this was sent
        return sent

    def close(self) -> None:
        """Let go."""
        for socket in self._sockets:
            socket.close()
        self._context.term()
