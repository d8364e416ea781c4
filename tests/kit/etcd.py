"""Real etcd on loopback: one, three, with certificates; and what stands between a journal and it."""

import shutil
import socket
import subprocess
import threading
import urllib.request
from contextlib import closing, contextmanager, suppress

import pytest
from kit.slurm_cluster import free_ports
from kit.waiting import until

from dardis.live.etcd import Etcd, delete, journal_address


class Cluster:
    """Members of one etcd."""

    def __init__(self, folder, members=1, more=(), scheme="http"):
        if shutil.which("etcd") is None:
            pytest.skip("needs etcd (Debian's etcd-server)")
        ports = free_ports(2 * members)
        self.folder, self.ports, peers = folder, ports[:members], ports[members:]
        urls = [f"http://127.0.0.1:{port}" for port in peers]
        every = ",".join(f"m{at}={url}" for at, url in enumerate(urls))
        self._words = [
            [
                "etcd", "--name", f"m{at}", "--data-dir", folder / f"m{at}", "--initial-cluster", every,
                "--listen-peer-urls", url, "--initial-advertise-peer-urls", url,
                "--listen-client-urls", f"{scheme}://127.0.0.1:{self.ports[at]}",
                "--advertise-client-urls", f"{scheme}://127.0.0.1:{self.ports[at]}", *more,
            ]
            for at, url in enumerate(urls)
        ]  # fmt: skip
        self.members = [None] * members
        for at in range(members):
            self.begin(at)

    def begin(self, at):
        with (self.folder / f"m{at}.log").open("ab") as said:
            self.members[at] = subprocess.Popen(self._words[at], stdout=said, stderr=said)

    def ready(self):
        """Wait until somebody leads; not for those that ask for certificates."""

        def leads():
            with (
                suppress(OSError),
                urllib.request.urlopen(f"http://127.0.0.1:{self.ports[0]}/health", timeout=5) as one,
            ):
                return b'"true"' in one.read()

        until(leads, lambda: (self.folder / "m0.log").read_text()[-2000:], 60)
        return self

    def text(self, name="main", ports=None):
        return "etcd://" + ",".join(f"127.0.0.1:{port}" for port in ports or self.ports) + f"/{name}"

    def place(self, name="main", ports=None):
        return journal_address(self.text(name, ports), None, None, None)()

    def kill(self, at):
        self.members[at].kill()
        self.members[at].wait()

    def end(self):
        for at in range(len(self.members)):
            self.kill(at)


@contextmanager
def etcd(folder, members=1):
    cluster = Cluster(folder, members)
    try:
        yield cluster.ready()
    finally:
        cluster.end()


def end_lease(place):
    """As if a leader had been gone for longer than its lease."""
    key = f"dardis/{place.name}/leader".encode()
    transact(place, [delete(key, key + b"\0")])


def transact(place, do):
    with closing(Etcd(place)) as door:
        return door.transact([], do)


def keys(place, kind=""):
    begin = f"dardis/{place.name}/{kind}".encode()
    with closing(Etcd(place)) as door:
        found = list(door.read(begin, begin + b"~"))
    return [one.key.decode().removeprefix(f"dardis/{place.name}/") for one in found]


class Between:
    """Stands before a member of etcd, and has requests and answers go astray."""

    def __init__(self, port):
        self._to = port
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = self._server.getsockname()[1]
        self.loses = lambda _request: ""
        """What becomes of a request: "" (it is answered), "request" (it is lost), "answer" (that is), or "late"."""
        self.late = []
        """Requests that arrive when somebody says so (`arrive`)."""
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with suppress(OSError):
            while True:
                connection, _ = self._server.accept()
                threading.Thread(target=self._carry, args=(connection,), daemon=True).start()

    def _carry(self, connection):
        with connection, suppress(OSError):
            while request := _message(connection):
                match self.loses(request):
                    case "request":
                        return
                    case "late":
                        self.late.append(request)
                        return
                    case "answer":
                        self._asked(request)
                        return
                connection.sendall(self._asked(request))

    def _asked(self, request):
        with socket.create_connection(("127.0.0.1", self._to), timeout=20) as there:
            there.sendall(request.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n", 1))
            answer = b""
            while data := there.recv(1 << 16):
                answer += data
        return answer.replace(b"Connection: close\r\n", b"")

    def arrive(self):
        """Have what was late arrive."""
        for request in self.late:
            self._asked(request)
        self.late.clear()

    def close(self):
        self._server.close()


def _message(connection):
    """A whole request; empty at the end."""
    data = b""
    while b"\r\n\r\n" not in data:
        if not (more := connection.recv(1 << 16)):
            return b""
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    length = next(
        int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")
    )
    while len(body) < length:
        body += connection.recv(1 << 16)
    return head + b"\r\n\r\n" + body
