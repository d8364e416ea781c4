"""Keeps a page's port for the next service.

A separate process holds the sockets, since browsers send the cookie to any owner of the port. It ends, with all
sessions, at `dardis stop` or after some minutes without a service.
"""

from __future__ import annotations

import errno
import os
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

from dardis.live.socket_server import BACKLOG, peer_user
from dardis.model.errors import InputError

SOCKET: Final = "page.sock"
"""Holder's socket in the service's folder."""
PATIENCE_S: Final = 300.0
"""Longest time without a service, s."""
HOSTS: Final = (("127.0.0.1", socket.AF_INET), ("::1", socket.AF_INET6))
"""Browsers ask both for `localhost`: other users must get neither."""
_END: Final = b"end"
_TRIES: Final = 20
_LINK_S: Final = 5.0


def listening_sockets(port: int, place: str) -> list[socket.socket]:
    """Sockets on both loopback addresses. `port` 0: free. Raises InputError if in use."""
    for _ in range(1 if port else _TRIES):
        found = list[socket.socket]()
        try:
            for host, family in HOSTS:
                one = _bound(host, family, found[0].getsockname()[1] if found else port)
                found += [] if one is None else [one]
            return found
        except OSError as error:
            for one in found:
                one.close()
            why = os.strerror(error.errno or 0)
    raise InputError(place, f"port {port}: {why}" if port else why, "a free port")


def _bound(host: str, family: socket.AddressFamily, port: int) -> socket.socket | None:
    try:
        one = socket.socket(family, socket.SOCK_STREAM)
    except OSError:
        return None
    try:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        one.bind((host, port))
        one.listen(BACKLOG)
    except OSError as error:
        one.close()
        if family == socket.AF_INET6 and error.errno == errno.EADDRNOTAVAIL:
            return None
        raise
    return one


class PortHolder:
    """Process that holds the sockets, as seen by the service."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / SOCKET
        self._link: socket.socket | None = None

    def inherited(self) -> list[socket.socket]:
        """Sockets of an earlier service, if any."""
        if (link := self._connected()) is None:
            return []
        numbers = list[int]()
        with suppress(OSError):
            _, numbers, _, _ = socket.recv_fds(link, 16, len(HOSTS))
        if not numbers:
            link.close()
            return []
        self._link = link
        for number in numbers:
            os.set_inheritable(number, False)
        return [socket.socket(fileno=number) for number in numbers]

    def _connected(self) -> socket.socket | None:
        link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        link.settimeout(_LINK_S)
        with suppress(OSError):
            link.connect(os.fsencode(self._path))
            if peer_user(link).uid == os.geteuid():
                return link
        link.close()
        return None

    def hold(self, sockets: list[socket.socket]) -> None:
        """Start the holder of new sockets."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as door:
            self._path.unlink(missing_ok=True)
            before = os.umask(0o177)
            try:
                door.bind(os.fsencode(self._path))
            finally:
                os.umask(before)
            door.listen(1)
            numbers = [door.fileno(), *(one.fileno() for one in sockets)]
            words = [sys.executable, "-m", "dardis.live.page_port", *map(str, numbers)]
            subprocess.Popen(
                words, pass_fds=numbers, start_new_session=True, stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip
            self._link = self._connected()  # tells the holder that a service is there

    def end(self) -> None:
        """End the holder: the service has stopped."""
        if self._link is not None:
            with suppress(OSError):
                self._link.sendall(_END)
                self._path.unlink(missing_ok=True)
            self._link.close()


def hold_until_ended(door: socket.socket, numbers: list[int], patience_s: float) -> None:
    """Hand sockets to each new service, until one stops or none comes."""
    door.settimeout(patience_s)
    while True:
        try:
            link, _ = door.accept()
        except OSError:  # no service came
            break
        with link:
            if peer_user(link).uid != os.geteuid():
                continue
            with suppress(OSError):
                socket.send_fds(link, [b"port"], numbers)
                if link.recv(16) == _END:
                    break


if __name__ == "__main__":
    door, *more = map(int, sys.argv[1:])
    hold_until_ended(socket.socket(fileno=door), more, PATIENCE_S)
