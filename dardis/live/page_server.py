"""Page: static files, events and requests of browsers, on the loopback device."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractContextManager, AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from html import escape
from pathlib import Path
from typing import Any, Final, Protocol

from aiohttp import web

from dardis.engine.clock import monotonic_s, unix_now
from dardis.live.connections import SESSION_USER, PendingConnection
from dardis.live.page_access import LINK_S, SESSION_S, PageAccess, is_foreign
from dardis.live.page_feed import Subscriber
from dardis.live.page_port import PortHolder, listening_sockets
from dardis.live.random_keys import fresh_key
from dardis.live.socket_server import PeerUser
from dardis.model.errors import InputError
from dardis.model.files import atomic_text, read_text

FILE: Final = "page.json"
"""Host name and sessions, to outlive a service."""
MOST_CONNECTIONS: Final = 512
MOST_STRANGERS: Final = 64
"""Connections without a session; the oldest makes room."""
STRANGER_S: Final = 10.0
MOST_STREAMS: Final = 16
BEAT_S: Final = 15.0
"""Longest silence of a stream, s."""
WRITE_S: Final = 20.0
"""Longest time until a client takes an event, s."""
STATIC: Final = {
    "/": ("index.html", "text/html"), "/page.js": ("page.js", "text/javascript"),
    "/charts.js": ("charts.js", "text/javascript"), "/page.css": ("page.css", "text/css"),
    "/open.js": ("open.js", "text/javascript"), "/uPlot.js": ("uPlot.iife.min.js", "text/javascript"),
    "/uPlot.css": ("uPlot.min.css", "text/css"), "/uPlot.LICENSE": ("uPlot.LICENSE", "text/plain"),
}  # fmt: skip
_USUAL_PORT: Final = 80
_FOLDER: Final = Path(__file__).parent / "page"
_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}  # fmt: skip
_OPEN: Final = """<!doctype html><html lang="en"><meta charset="utf-8"><title>DARDIS</title>
<meta name="viewport" content="width=device-width"><link rel="stylesheet" href="/page.css?key={key}">
<main><h1>DARDIS</h1><form method="post" action="/open"><input type="hidden" name="key" value="{key}">
<button>Open the page</button></form></main><script src="/open.js?key={key}"></script></html>
"""
_REFUSED: Final = """<!doctype html><html lang="en"><meta charset="utf-8"><title>DARDIS</title>
<main><h1>{line}</h1><p>{what}</p></main></html>
"""
_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class PageSource(Protocol):
    """What the page shows."""

    def subscribe(self, uid: int, /) -> AbstractContextManager[Subscriber]:
        """User's client, which receives changes until it leaves."""

    def first_events(self, uid: int, /) -> AsyncIterator[str]:
        """All that a new client needs."""


class PageServer:
    """Serves a source's page."""

    def __init__(
        self, source: PageSource, folder: Path | None, port: int | None, again: str,
        allows: Callable[[int], bool] = lambda _: True, is_kept: Callable[[], bool] = lambda: False,
    ) -> None:  # fmt: skip
        """Take over port and sessions of an earlier page in `folder`, if its port was held; None: no folder.

        `port` None: a free one. `again`: how to get a new link. `allows`: a user may see the page; `is_kept`: the port
        is kept. Raises InputError for a port in use.
        """
        self._source, self._again, self._allows, self._is_kept = source, again, allows, is_kept
        self._path = None if folder is None else folder / FILE
        self._holder = None if folder is None else PortHolder(folder)
        self._sockets = [] if self._holder is None else self._holder.inherited()
        if self._sockets and port not in (None, self._port):
            for one in self._sockets:
                one.close()
            self._sockets = []
        known = _read(self._path) if self._sockets and self._path is not None else {}
        if not self._sockets:
            self._sockets = listening_sockets(port or 0, "--page-port")
            if self._holder is not None:
                self._holder.hold(self._sockets)
        self.access = PageAccess(fresh_key, known)
        self._streams: dict[int, int] = {}
        self._strangers: dict[asyncio.BaseTransport, None] = {}

    @property
    def _port(self) -> int:
        return int(self._sockets[0].getsockname()[1])

    @property
    def origin(self) -> str:
        """Page's address, without a path."""
        port = "" if self._port == _USUAL_PORT else f":{self._port}"  # browsers leave the usual one out
        return f"http://{self.access.host}{port}"

    def new_link(self, who: PeerUser) -> str:
        """Link that works once, for a user."""
        return f"{self.origin}/open?key={self.access.new_link(who, monotonic_s())}"

    def _write(self) -> None:
        if self._path is not None:
            with suppress(OSError), atomic_text(self._path) as file:  # a full disk: they end with this service
                os.fchmod(file.fileno(), 0o600)
                json.dump(self.access.as_dict(), file)

    @asynccontextmanager
    async def serve(self, routes: list[web.RouteDef]) -> AsyncIterator[None]:
        """Serve until the block ends. `routes`: requests of users with a session. Raises InputError."""
        app = web.Application(middlewares=[self._guard])
        app.add_routes(routes)
        app.add_routes(web.get(path, self._static) for path in STATIC)
        app.add_routes([
            web.get("/open", self._show_link), web.post("/open", self._open_link), web.post("/close", self._close),
            web.get("/events", self._events), web.get("/ping", self._ping),
        ])  # fmt: skip
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.5, handler_cancellation=True)
        await runner.setup()
        server = runner.server
        assert server is not None

        entry = partial(PendingConnection, self._admit, server, PeerUser(-1, -1))
        self._server = server
        self._write()
        loop = asyncio.get_running_loop()
        try:
            async with AsyncExitStack() as stack:
                for one in self._sockets:
                    stack.callback((await loop.create_server(entry, sock=one)).close)
                yield
        finally:
            await runner.cleanup()
            if self._holder is not None and not self._is_kept():
                self._holder.end()

    def _admit(self, transport: asyncio.BaseTransport, _: PeerUser) -> bool:
        if len(self._server.connections) >= MOST_CONNECTIONS:
            return False
        while len(self._strangers) >= MOST_STRANGERS:
            self._expel(next(iter(self._strangers)))
        self._strangers[transport] = None
        asyncio.get_running_loop().call_later(STRANGER_S, self._expel, transport)
        return True

    def _expel(self, transport: asyncio.BaseTransport) -> None:
        if transport in self._strangers:
            del self._strangers[transport]
            assert isinstance(transport, asyncio.Transport)
            transport.abort()

    # ------------------------------------------------------------------------------------------------------------------

    @web.middleware
    async def _guard(self, request: web.Request, handler: _Handler) -> web.StreamResponse:
        try:
            answer = await self._checked(request, handler)
        except web.HTTPException as error:
            error.headers.update(_HEADERS)
            raise
        if not answer.prepared:
            answer.headers.update(_HEADERS)
        return answer

    async def _checked(self, request: web.Request, handler: _Handler) -> web.StreamResponse:
        is_link = request.path == "/open"
        headers = dict(request.headers)
        if is_link and request.method == "GET":  # a link on another page may lead here
            headers.pop("Sec-Fetch-Site", None)
        if len(request.headers.getall("Host", [])) != 1 or is_foreign(headers, self.origin):
            return self._refuse(403, "This request comes from another page.", "Use the link of " + self._again + ".")
        who = self.access.user(request.cookies.get(self.access.cookie, ""), unix_now())
        if who is not None and not self._allows(who.uid):
            who = None
        if who is not None and request.transport is not None:
            self._strangers.pop(request.transport, None)
        if who is None and not is_link:
            if request.path in ("/open.js", "/page.css") and self._has_link(request):
                return await self._static(request)
            return self._refuse(401, "No access.", f"{self._again} prints a link that works once.")
        request[SESSION_USER] = who
        return await handler(request)

    def _refuse(self, status: int, line: str, what: str) -> web.Response:
        text = _REFUSED.format(line=escape(line), what=escape(what))
        return web.Response(status=status, text=text, content_type="text/html")

    def _has_link(self, request: web.Request) -> bool:
        return self.access.has_link(request.query.get("key", ""), monotonic_s())

    async def _show_link(self, request: web.Request) -> web.Response:
        """Show a form that opens the link, so that a preview does not use it up."""
        if not self._has_link(request):
            if request[SESSION_USER] is not None:  # the link that brought the cookie, once more
                raise web.HTTPSeeOther("/")
            return self._bad_link()
        return web.Response(text=_OPEN.format(key=escape(request.query["key"])), content_type="text/html")

    async def _open_link(self, request: web.Request) -> web.Response:
        key = str((await request.post()).get("key", ""))
        cookie = self.access.open_link(key, monotonic_s(), unix_now())
        if cookie is None:
            return self._bad_link()
        self._write()
        answer = web.Response(status=303, headers={"Location": "/"})
        answer.set_cookie(self.access.cookie, cookie, max_age=SESSION_S, path="/", httponly=True, samesite="Strict")
        return answer

    def _bad_link(self) -> web.Response:
        what = f"A link works once, within {LINK_S // 60} minutes. {self._again} prints a new one."
        return self._refuse(401, "This link does not work any more.", what)

    async def _close(self, request: web.Request) -> web.Response:
        self.access.close(request.cookies.get(self.access.cookie, ""))
        self._write()
        return web.json_response({})

    async def _ping(self, _: web.Request) -> web.Response:
        return web.Response(status=204)

    async def _static(self, request: web.Request) -> web.Response:
        name, content_type = STATIC[request.path]
        return web.Response(body=(_FOLDER / name).read_bytes(), content_type=content_type, charset="utf-8")

    # ------------------------------------------------------------------------------------------------------------------

    async def _events(self, request: web.Request) -> web.StreamResponse:
        """Send everything, then changes. A slow client is closed, and starts anew."""
        uid = request[SESSION_USER].uid
        if self._streams.get(uid, 0) >= MOST_STREAMS:
            return self._refuse(429, "Too many pages are open.", "Close some of them.")
        self._streams[uid] = self._streams.get(uid, 0) + 1
        answer = web.StreamResponse(headers=_HEADERS | {"Content-Type": "text/event-stream; charset=utf-8"})
        try:
            with self._source.subscribe(uid) as client:
                await answer.prepare(request)
                async for text in self._source.first_events(uid):
                    await _write_in_time(answer, text)
                while not client.is_slow:
                    await _write_in_time(answer, await _next_text(client))
        except (ConnectionError, TimeoutError):  # no reader
            pass
        finally:
            self._streams[uid] -= 1
        if request.transport is not None:
            request.transport.abort()
        return answer


async def _next_text(client: Subscriber) -> str:
    try:
        async with asyncio.timeout(BEAT_S):
            return await client.queue.get()
    except TimeoutError:
        return ": still here\n\n"


async def _write_in_time(answer: web.StreamResponse, text: str) -> None:
    async with asyncio.timeout(WRITE_S):
        await answer.write(text.encode())


def _read(path: Path) -> dict[str, Any]:
    with suppress(InputError, ValueError, TypeError, AttributeError, KeyError):
        told = json.loads(read_text(path))
        PageAccess(fresh_key, told)
        return dict(told)
    return {}
