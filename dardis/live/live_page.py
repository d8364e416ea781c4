"""Page of a live service."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from aiohttp import web

from dardis.live.api import Api
from dardis.live.connections import SESSION_USER
from dardis.live.page_feed import PageFeed
from dardis.live.page_server import PageServer
from dardis.live.service import Service

COMMAND: Final = "dardis page"


class LivePage:
    """Service's page, with requests that change jobs and nodes."""

    def __init__(self, service: Service, port: int | None) -> None:
        self._service = service
        self._feed = PageFeed(service)
        self.server = PageServer(
            self._feed,
            service.folder,
            port,
            COMMAND,
            lambda uid: service.users or uid == os.geteuid(),
            lambda: not service.stopped,
        )

    @asynccontextmanager
    async def serve(self, api: Api) -> AsyncIterator[None]:
        """Serve until the block ends. Raises InputError."""
        routes = [
            web.get("/api/forecast/{id:[0-9]+}", self._forecast), web.get("/api/nodes/{name}", self._node),
            web.get("/api/energy", self._energy), *api.page_routes(),
        ]  # fmt: skip
        async with self.server.serve(routes):
            self._service.watchers.append(self._feed.on_output)
            looking = asyncio.create_task(self._feed.keep_looking())
            try:
                yield
            finally:
                looking.cancel()
                self._service.watchers.remove(self._feed.on_output)

    async def _forecast(self, request: web.Request) -> web.Response:
        found = (await self._feed.forecast()).get(int(request.match_info["id"]))
        return web.json_response({"expected_ms": None if found is None else found[0] * 1000})

    async def _node(self, request: web.Request) -> web.Response:
        return web.json_response(await self._feed.node(request.match_info["name"]))

    async def _energy(self, request: web.Request) -> web.Response:
        return web.json_response(await self._feed.energy(request[SESSION_USER].uid))
