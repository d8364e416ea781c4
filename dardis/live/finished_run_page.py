"""Page of a finished run."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any, Protocol

from aiohttp import web

from dardis.live.page_feed import CHUNK, Subscriber, event
from dardis.live.page_server import PageServer
from dardis.live.socket_server import PeerUser


class RunData(Protocol):
    """Data of a finished run."""

    def hello(self) -> dict[str, Any]:
        """All but the jobs."""

    def rows(self) -> Iterator[list[Any]]:
        """Rows of jobs."""

    def job(self, number: int, /) -> dict[str, Any] | None:
        """Job's facts; None: unknown."""

    def jobs_of(self, name: str, /) -> list[int]:
        """Jobs on a node."""

    def energy(self) -> dict[str, Any]:
        """Energy by hour and user."""


class RunPage:
    """Serves a run until it is interrupted."""

    def __init__(self, data: RunData, port: int | None, again: str) -> None:
        """`port` None: a free one. `again`: command for another page."""
        self._data = data
        self._server = PageServer(self, None, port, again)

    @contextmanager
    def subscribe(self, uid: int) -> Iterator[Subscriber]:
        """Client without changes."""
        yield Subscriber(uid)

    async def first_events(self, _: int) -> AsyncIterator[str]:
        """Whole run."""
        yield event("hello", json.dumps(self._data.hello()))
        rows = self._data.rows()
        while some := list(islice(rows, CHUNK)):
            yield event("jobs", json.dumps({"jobs": some}))
            await asyncio.sleep(0)
        yield event("ready", "{}")

    async def serve(self, on_start: Callable[[str], None]) -> None:
        """Serve; `on_start` gets a link. Raises InputError."""
        stopping = asyncio.Event()
        for which in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(which, stopping.set)
        routes = [
            web.get("/api/jobs/{id}", self._job), web.get("/api/nodes/{name}", self._node),
            web.get("/api/energy", self._energy),
        ]  # fmt: skip
        async with self._server.serve(routes):
            on_start(self._server.new_link(PeerUser(os.geteuid(), os.getegid())))
            await stopping.wait()

    async def _job(self, request: web.Request) -> web.Response:
        text = request.match_info["id"]
        if (found := self._data.job(int(text)) if text.isdecimal() else None) is None:
            return web.json_response({"error": f"there is no job {text}"}, status=404)
        return web.json_response(found)

    async def _node(self, request: web.Request) -> web.Response:
        return web.json_response({"jobs": self._data.jobs_of(request.match_info["name"]), "reservations": []})

    async def _energy(self, _: web.Request) -> web.Response:
        return web.json_response(self._data.energy())
