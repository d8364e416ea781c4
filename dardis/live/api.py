"""What people ask the service for, as HTTP and JSON on a Unix socket; who asks is who the kernel says."""

from __future__ import annotations

import os
import pwd
import socket
import struct
from collections.abc import Awaitable, Callable
from math import isnan
from typing import Any, Final

from aiohttp import web

from dardis import __version__
from dardis.engine.clock import unix_now
from dardis.live.asked import JobAsked, check_text
from dardis.live.jobs import Asker, LiveJob, Submission
from dardis.live.journal import JournalError
from dardis.live.service import MOST_TEXT, Service
from dardis.model.errors import DardisError, InputError

MOST_BYTES: Final = 64 << 20
"""The longest request."""
MOST_TOLD: Final = 1_000_000
"""How many jobs are told at most, whatever is asked for."""

Answer = Awaitable[web.StreamResponse]


class Api:
    """The service's door."""

    def __init__(self, service: Service) -> None:
        """Open nothing yet."""
        self._service = service
        self._me = os.geteuid()

    def app(self) -> web.Application:
        """What answers requests."""
        app = web.Application(client_max_size=MOST_BYTES, middlewares=[self._guard])
        app.add_routes(
            [
                web.post("/jobs", self._submit),
                web.get("/jobs", self._list),
                web.get("/jobs/{id}", self._show),
                web.get("/jobs/{id}/wait", self._wait),
                web.post("/jobs/{id}/{do:cancel|hold|release}", self._change),
                web.get("/nodes", self._nodes),
                web.post("/nodes/{name}/{do:drain|resume}", self._drain),
                web.get("/status", self._status),
                web.post("/stop", self._stop),
            ]
        )
        return app

    @web.middleware
    async def _guard(self, request: web.Request, handler: Callable[[web.Request], Answer]) -> web.StreamResponse:
        """Answer nobody who is not allowed to ask, and tell mistakes in a line."""
        try:
            request["asker"] = self._asker(request)
            return await handler(request)
        except web.HTTPException as error:
            return _refusal(error.status, error.text or error.reason)
        except InputError as error:
            return _refusal(400, str(error))
        except JournalError as error:
            return _refusal(503, str(error))
        except DardisError as error:
            return _refusal(500, str(error))
        except (ArithmeticError, AttributeError, KeyError, TypeError, ValueError) as error:
            return _refusal(400, f"the request makes no sense ({type(error).__name__}: {error})")

    def _asker(self, request: web.Request) -> Asker:
        transport = request.transport
        assert transport is not None
        connection: socket.socket = transport.get_extra_info("socket")
        told = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        _, uid, gid = struct.unpack("3i", told)
        if uid != self._me and not self._service.users:
            raise web.HTTPForbidden(text="this service is somebody else's")
        try:
            entry = pwd.getpwuid(uid)
        except KeyError:
            return Asker(uid, gid, str(uid), (gid,))
        return Asker(uid, entry.pw_gid, entry.pw_name, tuple(os.getgrouplist(entry.pw_name, entry.pw_gid)))

    def _owned(self, request: web.Request, job: LiveJob) -> LiveJob:
        """The job, if who asks may touch it."""
        asker: Asker = request["asker"]
        if asker.uid not in (job.of.asker.uid, self._me):
            raise web.HTTPForbidden(text=f"job {job.number} is {job.of.asker.name}'s")
        return job

    def _led(self, request: web.Request) -> None:
        """See that who asks may say what becomes of nodes and the service."""
        if request["asker"].uid != self._me:
            raise web.HTTPForbidden(text="only who runs the service may do that")

    # ------------------------------------------------------------------------------------------------------------------

    async def _submit(self, request: web.Request) -> web.Response:
        submission = _submission(await request.json(), request["asker"])
        numbers = await self._service.submit(submission)
        return web.json_response({"ids": list(numbers), "warnings": []})

    async def _list(self, request: web.Request) -> web.Response:
        state, user = request.query.get("state", "open"), request.query.get("user")
        limit = min(int(request.query.get("limit", MOST_TOLD)), MOST_TOLD)
        if state not in ("open", "over", "all"):
            raise InputError("state", repr(state), "open, over or all")
        jobs = self._service.gateway.jobs() if state == "open" else self._service.history(limit)
        told = [
            self._told(job) for job in jobs
            if (state != "over" or job.state.is_over) and (user is None or job.of.asker.name == user)
        ]  # fmt: skip
        return web.json_response({"jobs": told[:limit]})

    def _told(self, job: LiveJob) -> dict[str, Any]:
        return job.as_dict(self._service.machine.names)

    def _found(self, request: web.Request) -> LiveJob:
        number = int(request.match_info["id"])
        if (job := self._service.find(number)) is None:
            raise web.HTTPNotFound(text=f"there is no job {number}")
        return job

    async def _show(self, request: web.Request) -> web.Response:
        return web.json_response(self._told(self._found(request)))

    async def _wait(self, request: web.Request) -> web.Response:
        job = self._found(request)
        patience = float(request.query["timeout"]) if "timeout" in request.query else None
        if patience is not None and (patience < 0 or isnan(patience)):
            raise InputError("timeout", str(patience), "seconds")
        ended = await self._service.ended(job.number, patience)
        assert ended is not None
        return web.json_response(self._told(ended))

    async def _change(self, request: web.Request) -> web.Response:
        """Cancel, hold or release a job, or all of an array by its first number."""
        job, do = self._owned(request, self._found(request)), request.match_info["do"]
        self._service.see_ready()
        jobs = self._service.array(job.of.first) if request.query.get("array") == "1" else [job]
        changed = [self._changed(one, do) for one in jobs]
        if not any(changed):
            raise web.HTTPConflict(text=f"job {job.number} is {job.state}: it can't be {_PAST[do]} any more")
        await self._service.written()
        return web.json_response(self._told(self._found(request)))

    def _changed(self, job: LiveJob, do: str) -> bool:
        """Change a job; whether it could be."""
        service = self._service
        if do == "release":
            return service.release(job)
        mine = service.gateway.job(job.number)  # what the journal alone has is over
        if mine is None or mine.state.is_over:
            return False
        if do == "hold":
            return service.gateway.hold(mine)
        service.gateway.cancel(mine, int(unix_now() * 1000))
        return True

    async def _nodes(self, _: web.Request) -> web.Response:
        return web.json_response({"nodes": self._service.gateway.nodes()})

    async def _drain(self, request: web.Request) -> web.Response:
        self._led(request)
        name = request.match_info["name"]
        if name not in self._service.machine.names:
            raise web.HTTPNotFound(text=f"there is no node {name}")
        self._service.see_ready()
        if request.match_info["do"] == "resume":
            self._service.gateway.resume(name)
        else:
            told = await request.json() if request.can_read_body else {}
            self._service.gateway.drain(name, str(told.get("why", "")))
        await self._service.written()
        return await self._nodes(request)

    async def _status(self, _: web.Request) -> web.Response:
        service = self._service
        return web.json_response({
            "version": __version__, "folder": str(service.folder), "epoch": service.journal.epoch, "pid": os.getpid(),
            "trouble": service.trouble, "queued": service.gateway.queued, "running": service.gateway.running,
        })  # fmt: skip

    async def _stop(self, request: web.Request) -> web.Response:
        self._led(request)
        told = await request.json() if request.can_read_body else {}
        running = self._service.gateway.running
        await self._service.stop(kill=bool(told.get("kill", False)))
        return web.json_response({"running": running})


def _submission(told: dict[str, Any], asker: Asker) -> Submission:
    """What somebody asks for, whoever wrote the client. Raises InputError."""
    asked = JobAsked.from_dict(told.get("jobs"))
    script, key, cwd = told.get("script", ""), told.get("key"), told.get("cwd")
    environment = told.get("environment", {})
    if not isinstance(environment, dict):
        raise InputError("environment", "is no object", "names and values")
    for place, text in [("script", script), ("key", "" if key is None else key), ("cwd", cwd), *environment.items()]:
        if not isinstance(text, str):
            raise InputError(place, "is no text", "one")
        check_text(place, text)
    if not (cwd or "").startswith("/"):
        raise InputError("cwd", repr(cwd), "an absolute path")
    if not (asked.argv or script):
        raise InputError("jobs", "there is no command", "argv, or a script")
    for name in environment:
        check_text("environment", name)
        if not name or "=" in name:
            raise InputError("environment", f"a variable can't be called {name!r}")
    submission = Submission(0, asker, asked, script, environment, str(cwd), int(unix_now() * 1000), key)
    if submission.size > MOST_TEXT:
        raise InputError("jobs", f"words and environment of {submission.size} bytes", f"at most {MOST_TEXT}: no more")
    return submission


_PAST: Final = {"cancel": "cancelled", "hold": "held", "release": "released"}


def _refusal(status: int, line: str) -> web.Response:
    return web.json_response({"error": line}, status=status)
