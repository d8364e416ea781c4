"""`/metrics` over TCP on loopback, for clients with a token."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from functools import partial
from hmac import compare_digest
from pathlib import Path
from typing import Final

from aiohttp import web

from dardis.live.connections import PendingConnection
from dardis.live.random_keys import fresh_key
from dardis.live.service_metrics import ServiceMetrics
from dardis.live.socket_server import PeerUser
from dardis.model.errors import InputError
from dardis.model.files import read_text

TOKEN_FILE: Final = "metrics.token"  # noqa: S105 (a name)
HOST: Final = "127.0.0.1"
MOST_CONNECTIONS: Final = 32
"""More are closed: clients without the token take few open files."""


def read_token(folder: Path) -> str:
    """Token in a service's folder, created if missing. Raises InputError."""
    path = folder / TOKEN_FILE
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(f"{fresh_key()}\n")
    except FileExistsError:
        pass
    except OSError as error:
        raise InputError(path, f"can't be written ({error.strerror})", "a folder that you may write") from None
    found = path.stat()
    if found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o077:
        raise InputError(path, f"has mode {stat.S_IMODE(found.st_mode):04o}", "a file of your own with mode 0600")
    if len(words := read_text(path).split()) != 1:
        raise InputError(path, "has no token", "one word, or no file: it is made then")
    return words[0]


@asynccontextmanager
async def serve_metrics(metrics: ServiceMetrics, folder: Path, port: int | None) -> AsyncIterator[None]:
    """Serve on this loopback port, if any. Raises InputError."""
    if port is None:
        yield
        return
    token = read_token(folder).encode()

    async def answer(request: web.Request) -> web.Response:
        scheme, _, stated = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not compare_digest(stated.strip().encode(errors="replace"), token):
            raise web.HTTPUnauthorized(headers={"WWW-Authenticate": "Bearer"})
        return metrics_response(metrics, request)

    app = web.Application()
    app.add_routes([web.get("/metrics", answer)])
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    server = runner.server
    assert server is not None

    def has_room(*_: object) -> bool:
        return len(server.connections) < MOST_CONNECTIONS

    entry = partial(PendingConnection, has_room, server, PeerUser(-1, -1))

    try:
        try:
            listening = await asyncio.get_running_loop().create_server(entry, HOST, port)
        except OSError as error:
            raise InputError("--metrics", f"port {port}: {os.strerror(error.errno or 0)}", "a free port") from None
        with closing(listening):
            yield
    finally:
        await runner.cleanup()


def metrics_response(metrics: ServiceMetrics, request: web.Request) -> web.Response:
    """Metrics in a format that the request accepts."""
    body, content_type = metrics.text(request.headers.get("Accept", ""))
    return web.Response(body=body, headers={"Content-Type": content_type})
