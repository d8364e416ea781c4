"""Socket with a key for the workers of an `Executor`."""

from __future__ import annotations

import os
import shutil
import socket
import struct
import tempfile
from collections.abc import Callable, Collection
from contextlib import suppress
from multiprocessing import AuthenticationError
from multiprocessing.connection import Connection, answer_challenge, deliver_challenge
from threading import Thread
from time import sleep
from typing import Final

from dardis.model.errors import InputError

_BACKLOG: Final = 1024
_GREETING_S: Final = 20
_PAUSE_S: Final = 0.1
_ANYWHERE: Final = "192.0.2.1"
"""Address for documentation, beyond the default route."""
_LONGEST_PATH: Final = 100


class WorkerListener:
    """Accepts workers with the key. Slow or keyless peers delay no worker."""

    def __init__(self, key: bytes, hosts: Collection[str], on_worker: Callable[[int, Connection], None]) -> None:
        """Listen for workers on `hosts`: on a Unix socket if they are this host, else by TCP.

        `on_worker` gets job and connection of each, in its own thread. Raises InputError.
        """
        self._key, self._on_worker, self._is_closed = key, on_worker, False
        self._folder = ""
        self.address: str | tuple[str, int]
        if {*hosts} <= {"localhost", socket.gethostname()}:
            self._folder = _short_folder()
            self.address = f"{self._folder}/socket"
            self._socket = socket.socket(socket.AF_UNIX)
            self._socket.bind(self.address)
        else:
            self._socket = socket.create_server(("0.0.0.0", 0))  # noqa: S104 (workers run on other hosts)
            self.address = _own_address(hosts), self._socket.getsockname()[1]
        self._socket.listen(_BACKLOG)
        Thread(target=self._accept, name="dardis-executor-accept", daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                peer, _ = self._socket.accept()
            except OSError:  # closed, or a limit on open files
                if self._is_closed:
                    return
                sleep(_PAUSE_S)
                continue
            try:
                Thread(target=self._greet, args=(peer,), name="dardis-executor-greet", daemon=True).start()
            except RuntimeError:  # a limit on threads
                peer.close()
                sleep(_PAUSE_S)

    def _greet(self, peer: socket.socket) -> None:
        with peer:
            try:
                connection = Connection(os.dup(peer.fileno()))
            except OSError:  # a limit on open files
                return
            try:
                _limit_waits(peer, _GREETING_S)
                find_lost_peer(peer)
                deliver_challenge(connection, self._key)
                answer_challenge(connection, self._key)
                job = int(connection.recv_bytes(20))
                _limit_waits(peer, 0)
            except (AuthenticationError, EOFError, OSError, ValueError):
                connection.close()
                return
        self._on_worker(job, connection)

    def close(self) -> None:
        """Accept no more."""
        self._is_closed = True
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # ends `accept`
        self._socket.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def abandon(self) -> None:
        """Leave the socket to the process that forked this one."""
        self._is_closed = True
        self._socket.close()


def _limit_waits(peer: socket.socket, seconds: int) -> None:
    """0: no limit. The connection shares the socket: its waits are limited, too."""
    for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
        peer.setsockopt(socket.SOL_SOCKET, option, struct.pack("ll", seconds, 0))


def find_lost_peer(peer: socket.socket) -> None:
    """Let TCP notice the other host's loss within two minutes."""
    if peer.family == socket.AF_INET:
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option, value in ((socket.TCP_KEEPIDLE, 60), (socket.TCP_KEEPINTVL, 15), (socket.TCP_KEEPCNT, 4)):
            peer.setsockopt(socket.IPPROTO_TCP, option, value)


def _short_folder() -> str:
    folder = tempfile.mkdtemp(prefix="dardis-")
    if len(os.fsencode(folder)) + len("/socket") <= _LONGEST_PATH:
        return folder
    shutil.rmtree(folder)
    return tempfile.mkdtemp(prefix="dardis-", dir="/tmp")


def _own_address(hosts: Collection[str]) -> str:
    """Address of this host as others reach it; its name may lead to loopback only."""
    for host in (*hosts, _ANYWHERE):
        with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as route:
            route.connect((host, 1))  # sends nothing
            if not (address := str(route.getsockname()[0])).startswith("127."):
                return address
    try:
        return socket.gethostbyname(socket.gethostname())
    except OSError as error:
        raise InputError("executor", f"this host has no address ({error.strerror})", "a host name with one") from None
