"""Encrypted links over TCP, authenticated by keys of this start.

*Turns* are requests with answers, *talk* needs none. Messages to absent hosts are dropped, and lost talk is reported.
Small parts limit the memory for unknown peers.
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

HEARTBEAT_S: Final = 0.5
"""In s, also the longest delay until a connection is known."""
_MOST_WAITING: Final = 10_000
_CHUNK_BYTES: Final = 1 << 16
_SECURED: Final = 256
_Options = dict[int, int | bytes]
_OPTIONS: Final[_Options] = {
    zmq.LINGER: 0, zmq.SNDHWM: _MOST_WAITING, zmq.RCVHWM: _MOST_WAITING, zmq.MAXMSGSIZE: _CHUNK_BYTES + _SECURED,
    # Connections cut without notice, and pending attempts, time out within seconds.
    zmq.HEARTBEAT_IVL: 1_000, zmq.HEARTBEAT_TIMEOUT: 5_000, zmq.HANDSHAKE_IVL: 5_000, zmq.CONNECT_TIMEOUT: 2_000,
    zmq.RECONNECT_IVL: 100, zmq.RECONNECT_IVL_MAX: 1_000,
}  # fmt: skip
_SERVER: Final[_Options] = {
    zmq.CURVE_SERVER: 1, zmq.ROUTER_MANDATORY: 1, zmq.ZAP_DOMAIN: b"dardis",
    zmq.ZAP_ENFORCE_DOMAIN: 1,  # refuse all peers while no handler runs
}  # fmt: skip
_AUTH_ENDPOINT: Final = "inproc://zeromq.zap.01"
_Socket = zmq.Socket[bytes]


@dataclass(frozen=True, slots=True)
class Keys:
    """CURVE key pair in Z85, 40 bytes each."""

    public: bytes
    secret: bytes = field(repr=False)


def new_keys() -> Keys:
    """New key pair."""
    return Keys(*zmq.curve_keypair())


def _socket(context: zmq.Context[_Socket], kind: int, keys: Keys, more: _Options) -> _Socket:
    own: _Options = {zmq.CURVE_PUBLICKEY: keys.public, zmq.CURVE_SECRETKEY: keys.secret}
    socket = context.socket(kind)
    for option, setting in (_OPTIONS | own | more).items():
        socket.set(option, setting)
    return socket


def _try_send(socket: _Socket, *parts: bytes) -> bool:
    try:
        socket.send_multipart(parts, zmq.NOBLOCK)
    except zmq.ZMQError as error:
        if error.errno not in {zmq.EAGAIN, zmq.EHOSTUNREACH}:
            raise
        return False
    return True


def _receive_frames(socket: _Socket) -> Iterator[list[zmq.Frame]]:
    with suppress(zmq.Again):
        while True:
            yield socket.recv_multipart(zmq.NOBLOCK, copy=False)


def _split_payload(payload: bytes) -> list[bytes]:
    return [payload[at : at + _CHUNK_BYTES] for at in range(0, max(len(payload), 1), _CHUNK_BYTES)]


def _join_frames(parts: Sequence[zmq.Frame]) -> bytes:
    return b"".join(part.buffer for part in parts)


def _numbered(parts: Sequence[zmq.Frame]) -> tuple[bytes, bytes | None]:
    number, *payload = parts
    return number.bytes, _join_frames(payload) if payload else None


def _number(value: int) -> bytes:
    return value.to_bytes(8, "big")


class _Channel:
    def __init__(self, context: zmq.Context[_Socket], keys: Keys) -> None:
        self.socket = _socket(context, zmq.ROUTER, keys, _SERVER)
        self.routes: dict[HostId, bytes] = {}

    def endpoint(self) -> str:
        return self.socket.get_string(zmq.LAST_ENDPOINT)

    def receive_all(self) -> Iterator[tuple[HostId, bool, bytes, bytes | None]]:
        for route, *parts in _receive_frames(self.socket):
            host = HostId(int(str(parts[-1].get("User-Id"))))  # set by `_authenticate_peers` for the proved key
            is_new = self.routes.get(host) != route.bytes
            self.routes[host] = route.bytes
            yield host, is_new, *_numbered(parts)


class Switchboard:
    """Server of all links."""

    def __init__(self, address: str, keys: Keys, allowed: Mapping[bytes, HostId]) -> None:
        """Listen for `allowed` keys on two free ports of a numeric local address. Raises InputError."""
        self._context = zmq.Context()
        door = self._context.socket(zmq.REP)
        door.bind(_AUTH_ENDPOINT)  # before any peer can connect
        # In a thread, since hosts also reconnect during a wait.
        Thread(target=_authenticate_peers, args=(door, dict(allowed)), name="links", daemon=True).start()
        self._turns, self._talk = self._ways = _Channel(self._context, keys), _Channel(self._context, keys)
        self._asked = 0
        self._said: dict[HostId, int] = {}
        self._heard_s: dict[HostId, float] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._heard: Callable[[HostId, bytes], None]
        self._broken: Callable[[HostId], None]
        try:
            for way in self._ways:
                way.socket.bind(f"tcp://{address}:*")
        except zmq.ZMQError as error:
            self.close()
            raise InputError(address, str(error), "a numeric address of this host") from None
        self.places = self._turns.endpoint(), self._talk.endpoint()
        """Addresses of turns and talk."""

    def request(self, payloads: Mapping[HostId, bytes], patience_s: float) -> dict[HostId, bytes]:
        """Send requests in parallel; return answers.

        A reconnected host gets the request again, and answers once. Raises HostDownError with the hosts silent after
        `patience_s`.
        """
        self._asked += 1
        number, until = _number(self._asked), monotonic_s() + patience_s
        missing, answers = dict(payloads), dict[HostId, bytes]()
        asked: dict[HostId, bytes] = {}
        while True:
            for host, _, answered, answer in self._turns.receive_all():
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
                if _try_send(self._turns.socket, route, number, *_split_payload(payload)):
                    asked[host] = route
            self._turns.socket.poll(int(left_s * 1_000) + 1)

    def listen(self, heard: Callable[[HostId, bytes], None], broken: Callable[[HostId], None] = lambda _: None) -> None:
        """Report talk to `heard` in the running loop.

        `broken` gets hosts with new connections or lost talk in either direction. Later messages are complete until the
        next report.
        """
        self._heard, self._broken = heard, broken
        self._loop = asyncio.get_running_loop()
        for way in self._ways:
            self._loop.add_reader(way.socket.fileno(), self._read)
        self._read()

    def send(self, host: HostId, payload: bytes) -> None:
        """Send talk, or drop it if the host is absent. Requires `listen`."""
        route = self._talk.routes.get(host)
        if route is None or not _try_send(self._talk.socket, route, *_split_payload(payload)):
            self._call_soon(self._broken, host)
        self._read()  # the descriptor signals a message once, perhaps during this send

    def seconds_since_contact(self, host: HostId) -> float:
        """Seconds since the last talk or heartbeat (inf: none)."""
        self._read()
        return monotonic_s() - self._heard_s.get(host, -inf)

    def _read(self) -> None:
        for _ in self._turns.receive_all():
            pass  # heartbeats and late answers
        if self._loop is None:
            return
        for host, is_new, number, payload in self._talk.receive_all():
            said = int.from_bytes(number, "big")
            if is_new or said != self._said[host] + (payload is not None):
                self._call_soon(self._broken, host)
            self._said[host] = said
            self._heard_s[host] = monotonic_s()
            if payload is not None:
                self._call_soon(self._heard, host, payload)

    def _call_soon(self, told: Callable[..., None], *what: object) -> None:
        if self._loop is not None:
            self._loop.call_soon(told, *what)

    def close(self) -> None:
        """Close all links."""
        for way in self._ways:
            if self._loop is not None:
                self._loop.remove_reader(way.socket.fileno())
            way.socket.close()
        self._context.term()


def _authenticate_peers(door: _Socket, allowed: Mapping[bytes, HostId]) -> None:
    with door, suppress(zmq.ContextTerminated):
        while True:
            version, request, *_, key = door.recv_multipart()
            host = allowed.get(z85.encode(key))
            code, name = (b"400", b"") if host is None else (b"200", b"%d" % host)
            door.send_multipart([version, request, code, b"", name, b""])


class Link:
    """Host end of a link."""

    def __init__(self, places: tuple[str, str], server: bytes, keys: Keys) -> None:
        self._context = zmq.Context()
        # Queue no messages for missing connections.
        client: _Options = {zmq.CURVE_SERVERKEY: server, zmq.IMMEDIATE: 1}
        self._turns, self._talk = self._sockets = tuple(
            _socket(self._context, zmq.DEALER, keys, client) for _ in places
        )
        for socket, place in zip(self._sockets, places, strict=True):
            socket.connect(place)
        self._said = 0
        self._stirred = asyncio.Event()
        self._answered = b""
        self._answer = b""

    async def run(self, answer: Callable[[bytes], bytes], heard: Callable[[bytes], None]) -> None:
        """Serve until cancelled. Errors of callbacks propagate."""
        loop = asyncio.get_running_loop()
        for socket in self._sockets:
            loop.add_reader(socket.fileno(), self._stirred.set)
        beat_s, known = -inf, False
        try:
            while True:
                self._stirred.clear()
                if not known or monotonic_s() >= beat_s:
                    known = all([_try_send(self._turns, b""), _try_send(self._talk, _number(self._said))])
                    beat_s = monotonic_s() + HEARTBEAT_S
                for parts in _receive_frames(self._turns):
                    number, payload = _numbered(parts)
                    assert payload is not None
                    self._answer_request(number, payload, answer)
                for parts in _receive_frames(self._talk):
                    heard(_join_frames(parts))
                with suppress(TimeoutError):
                    async with asyncio.timeout(beat_s - monotonic_s()):
                        await self._stirred.wait()
        finally:
            for socket in self._sockets:
                loop.remove_reader(socket.fileno())

    def _answer_request(self, number: bytes, payload: bytes, answer: Callable[[bytes], bytes]) -> None:
        if number != self._answered:
            self._answer = answer(payload)
            self._answered = number
        _try_send(self._turns, number, *_split_payload(self._answer))

    def send(self, payload: bytes) -> bool:
        """Send talk or drop it; return success."""
        self._said += 1
        sent = _try_send(self._talk, _number(self._said), *_split_payload(payload))
        self._stirred.set()  # the descriptor signals a message once, perhaps during this send
        return sent

    def close(self) -> None:
        """Close the link."""
        for socket in self._sockets:
            socket.close()
        self._context.term()
