"""HTTP API for job steps."""

from __future__ import annotations

import asyncio
import json
from base64 import b64decode
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any, Final

from aiohttp import web

from dardis.live.job_option_texts import check_text
from dardis.live.job_request import check_environment
from dardis.live.job_steps import STREAMS, JobStep, StepCommand, unknown_record
from dardis.live.keeper_client import SupervisorError
from dardis.live.keeper_mailbox import MOST_TEXT
from dardis.live.live_jobs import LiveJob
from dardis.live.service import Service
from dardis.model.errors import InputError

QUIET_S: Final = 5.0
"""Longest silence towards a client, s."""
MOST_NUMBER: Final = 1 << 63


class StepApi:
    """Repeated requests start a step only once."""

    def __init__(
        self, service: Service, owned: Callable[[web.Request], LiveJob], body: Callable[[web.Request], Awaitable[Any]]
    ) -> None:  # fmt: skip
        self._service, self._owned, self._body = service, owned, body

    def routes(self) -> list[web.RouteDef]:
        """Routes of job steps."""
        return [
            web.post("/jobs/{id}/parts", self._follow),
            web.delete(r"/jobs/{id}/parts/{attempt:\d+}.{number:\d+}", self._leave),
        ]

    async def _leave(self, request: web.Request) -> web.Response:
        job, told = self._owned(request), request.match_info
        if (part := self._service.gateway.steps.get(f"{job.number}.{told['attempt']}.{told['number']}")) is not None:
            self._service.release_step(part)
        return web.json_response({})

    async def _follow(self, request: web.Request) -> web.StreamResponse:
        number, told = self._owned(request).number, await self._body(request)
        run = f"{number}.{integer_field(told, 'attempt')}.{integer_field(told, 'number')}"
        offsets = {stream: integer_field(told, stream) for stream in STREAMS}
        part = self.requested_step(run, told["node"], read_command(told), told.get("mark"))
        del told  # may be long
        response = web.StreamResponse()
        await response.prepare(request)
        if part is None:
            await write_line(
                response,
                end_of(unknown_record(run, "unknown: its record was lost, or its host was declared lost")),
            )
            return response
        part.clients += 1
        try:
            with suppress(SupervisorError, ConnectionError):  # the client retries
                await write_line(response, {"mark": part.incarnation})
                await self.stream_output(response, part, offsets, {})
        finally:
            part.clients -= 1
        return response

    def requested_step(self, run: str, node: str, asked: StepCommand, mark: str | None) -> JobStep | None:
        """Requested step; None: unknown end."""
        gateway = self._service.gateway
        job = self.running_job(run.rpartition(".")[0])
        if node not in (nodes := [share.node for share in job.shares]):
            raise InputError("NODE", repr(node), f"a node of the job: {', '.join(nodes)}")
        part, host = gateway.steps.get(run), self._service.machine.host(node)
        if part is not None and part.is_lost:
            return part
        if part is None and host is not None and host not in job.hosts:
            return None  # the host was given up
        post = None if host is None else self._service.mailbox(host)
        if host is None or post is None or not gateway.liveness.is_reachable(host):
            raise web.HTTPServiceUnavailable(text=f"the host of {node} is unreachable")
        if part is not None:
            return part
        if job.cancelled:
            raise web.HTTPConflict(text=f"job {job.number} is being cancelled")
        if (part := gateway.start_step(job, run, host, mark)) is not None:
            post.start_step(part, job, node, asked)
        return part

    def running_job(self, run: str) -> LiveJob:
        """Run's job. Raises HTTPConflict if it does not run."""
        if (job := self._service.gateway.job_of_run(run)) is None:
            number, attempt = run.split(".")
            raise web.HTTPConflict(text=f"job {number} does not run, or not in attempt {attempt}")
        return job

    async def stream_output(
        self, response: web.StreamResponse, part: JobStep, offsets: dict[str, int], tag: Mapping[str, Any]
    ) -> None:  # fmt: skip
        """Write output and exit record, lines with the entries of `tag`."""
        with self._service.subscribe_step(part.run) as news:
            while self._service.gateway.steps.get(part.run) is part:
                news.clear()
                record = part.record  # read first: then all output is there
                pieces = {} if part.is_lost else await self._more(part, offsets, news, over=record is not None)
                for stream, piece in pieces.items():
                    offsets[stream] += len(b64decode(piece))
                if pieces or record is None:
                    await write_line(response, {**tag, **pieces})
                else:
                    await write_line(response, {**tag, **end_of(record)})
                    return

    async def _more(
        self, part: JobStep, offsets: Mapping[str, int], news: asyncio.Event, *, over: bool
    ) -> Mapping[str, str]:  # fmt: skip
        """New output; unless `over`, wait for some or for news. Raises SupervisorError."""
        post = self._service.mailbox(part.host)
        if post is None:
            raise SupervisorError("its job supervisor is unreachable")
        if over:
            return await post.read(part.run, offsets, 0.0)
        reading = asyncio.create_task(post.read(part.run, offsets, QUIET_S))
        hearing = asyncio.create_task(news.wait())
        try:
            await asyncio.wait([reading, hearing], return_when=asyncio.FIRST_COMPLETED)
            return reading.result() if reading.done() else {}
        finally:
            reading.cancel()
            hearing.cancel()


async def write_line(response: web.StreamResponse, told: Mapping[str, Any]) -> None:
    """Write an answer of a stream."""
    await response.write(json.dumps(told).encode() + b"\n")


def end_of(record: Mapping[str, Any]) -> dict[str, Any]:
    """Last answer of a stream, with the exit record."""
    return {"end": {name: record[name] for name in ("state", "code", "signal", "why")}}


def integer_field(told: Mapping[str, Any], name: str) -> int:
    """Integer field of a request; 0 for streams. Raises InputError."""
    value = told.get(name, 0 if name in STREAMS else None)
    if type(value) is not int or not 0 <= value < MOST_NUMBER:
        raise InputError(name, repr(value), "a whole number")
    return value


def read_command(told: Mapping[str, Any]) -> StepCommand:
    """Request's command. Raises InputError."""
    argv, environment, cwd = told.get("argv"), told.get("environment", {}), told.get("cwd")
    if not isinstance(argv, list) or not argv:
        raise InputError("argv", "there is no command", "the words of a command")
    for word in argv:
        check_text("argv", word)
    check_environment(cwd, environment)
    size = sum(len(text.encode()) for text in [*argv, *environment, *environment.values()])
    if size > MOST_TEXT:
        raise InputError("exec", f"words and environment of {size} bytes", f"at most {MOST_TEXT}")
    if (stdin := told.get("stdin")) is not None:
        check_text("stdin", stdin)
    return StepCommand(argv, environment, str(cwd), stdin)
