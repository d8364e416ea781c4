"""A controller's Redfish service on loopback: takes power limits and resets, and can hang, refuse and lie."""

from __future__ import annotations

import base64
import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

USER, PASSWORD = "admin", "hidden words"
EXPECTED = "Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()


@dataclass
class Node:
    """What a controller knows of its node, and how it behaves: `trouble` by method, a status or a word."""

    limit_w: int | None = None
    on: bool = True
    resource: str = "Power"
    trouble: dict[str, int | str] = field(default_factory=dict)
    version: int = 0

    def shown(self, path: str) -> dict[str, Any] | None:
        if "/Systems/" in path:
            return {"PowerState": "On" if self.on else "Off"}
        if not path.endswith("/" + self.resource):
            return None
        if self.resource == "Power":
            return {"PowerControl": [{"PowerLimit": {"LimitInWatts": self.limit_w}}]}
        mode = "Disabled" if self.limit_w is None else "Automatic"
        return {"PowerLimitWatts": {"SetPoint": self.limit_w or 0, "ControlMode": mode}}

    def take(self, path: str, body: dict[str, Any]) -> None:
        if path.endswith("ComputerSystem.Reset"):
            self.on = body["ResetType"] == "On"
        elif self.resource == "Power":
            self.limit_w = body["PowerControl"][0]["PowerLimit"]["LimitInWatts"]
        else:
            self.limit_w = body["PowerLimitWatts"].get("SetPoint")


@dataclass
class Service:
    """Nodes by name, the requests that came, and where it listens."""

    nodes: dict[str, Node]
    asked: list[tuple[str, str]] = field(default_factory=list)
    url: str = ""
    released: threading.Event = field(default_factory=threading.Event)
    """Lets those go on who hang."""

    @property
    def changes(self) -> list[str]:
        """Method, node and what changed, in turn."""
        return [f"{method} {path}" for method, path in self.asked if method != "GET"]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, *_: object) -> None:
        pass

    def answer(self, status: int, body: dict[str, Any] | None = None, etag: str | None = None) -> None:
        content = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        if etag:
            self.send_header("ETag", etag)
        self.end_headers()
        self.wfile.write(content)

    def served(self) -> None:
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.service.asked.append((self.command, self.path))
        node = self.server.service.nodes.get(self.path.split("/")[4])
        if node is None:
            self.answer(404)
        elif not self.has_trouble(node):
            self.serve(node, content)

    def has_trouble(self, node: Node) -> bool:
        """Whether that was all that it answers."""
        match node.trouble.get(self.command):
            case "hangs":
                self.server.service.released.wait(20)
            case "floods":
                self.send_response(200)
                self.end_headers()
                for _ in range(100):
                    self.wfile.write(b" " * 65_536)
            case "lies":
                self.answer(204)
            case "changes":  # somebody else was there first, once
                del node.trouble[self.command]
                node.version += 1
                self.answer(412)
            case int(status):
                self.answer(status)
            case _:
                return False
        return True

    def serve(self, node: Node, content: bytes) -> None:
        shown = node.shown(self.path)
        if self.headers.get("Authorization") != EXPECTED:
            self.answer(401)
        elif shown is None and self.command != "POST":
            self.answer(404)
        elif self.command == "GET":
            self.answer(200, shown, f'"{node.version}"')
        elif self.command == "PATCH" and self.headers.get("If-Match") != f'"{node.version}"':
            self.answer(412)
        else:
            node.take(self.path, json.loads(content))
            node.version += 1
            self.answer(204)

    do_GET = do_PATCH = do_POST = served  # noqa: N815 (what the library calls)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    service: Service
    request_queue_size = 128

    def handle_error(self, *_: object) -> None:
        """Whoever hangs up early is no defect."""


@contextmanager
def serving(nodes: dict[str, Node], certificate: tuple[Path, Path] | None = None) -> Iterator[Service]:
    """The service in a thread; with a certificate (and its key) by TLS."""
    service = Service(nodes)
    server = _Server(("127.0.0.1", 0), _Handler)
    server.service = service
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    scheme = "http" if certificate is None else "https"
    service.url = f"{scheme}://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield service
    finally:
        service.released.set()
        server.shutdown()
        thread.join()
        server.server_close()
