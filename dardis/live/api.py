"""HTTP API of the service: JSON on a Unix socket; the kernel names users."""

from __future__ import annotations

import asyncio
import json
import os
import pwd
import socket
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from itertools import groupby, islice
from math import inf, isnan
from typing import Any, Final

from aiohttp import web

from dardis import __version__
from dardis.engine.clock import monotonic_s, unix_ms
from dardis.live.connections import BODY_S, MOST_BODIES, ClientConnections
from dardis.live.job_items import read_items
from dardis.live.job_option_texts import SIGNAL_NUMBERS, check_text
from dardis.live.job_request import JobRequest, check_environment
from dardis.live.journal import JournalError
from dardis.live.keeper_mailbox import MOST_TEXT
from dardis.live.live_jobs import JobUser, LiveJob, LiveJobState, Submission
from dardis.live.metrics_endpoint import metrics_response
from dardis.live.node_switching import SwitchRule
from dardis.live.output import output_path
from dardis.live.output_end import output_end
from dardis.live.power_cap import Cap
from dardis.live.remote_socket_server import ForwardedConnections
from dardis.live.service import Service
from dardis.live.socket_server import PeerUser
from dardis.live.step_socket_server import StepApi
from dardis.live.task_socket_server import TaskApi
from dardis.live.user_limits import UserLimits
from dardis.model.errors import DardisError, InputError
from dardis.model.platform import platform_to_dict
from dardis.power.unit_power import MILLI

MOST_OPEN_JOBS: Final = 1_000_000
"""Most unfinished jobs per answer."""
MOST_AT_ONCE: Final = 500
"""Most other jobs per answer."""
PIECE: Final = 50
"""Jobs processed per turn."""
PIECE_CHARACTERS: Final = 1 << 16
"""Characters of a queue sent at once."""
MOST_PIECES: Final = 1000
CLIENT_CHECK_S: Final = 10.0
MOST_NUMBER: Final = (1 << 63) - 1

Answer = Awaitable[web.StreamResponse]


class Api:
    """HTTP API of the service."""

    def __init__(
        self, service: Service, user_jobs: int, new_link: Callable[[PeerUser], str] | None = None
    ) -> None:  # fmt: skip
        """`user_jobs`: most unfinished jobs of another user. `new_link`: link to the page; None: no page."""
        self._service, self._new_link = service, new_link
        self._me = os.geteuid()
        self._limits = UserLimits(user_jobs, self._open_jobs)
        self._callers = ClientConnections()
        self._listing = defaultdict[int, asyncio.Semaphore](lambda: asyncio.Semaphore(MOST_BODIES))
        self._looking = asyncio.Lock()

    def app(self) -> web.Application:
        """Application with all routes."""
        steps = StepApi(self._service, self._owned_job, self._callers.read_body)
        app = web.Application(middlewares=[self._count_requests])
        app.add_routes(
            [
                web.post("/jobs", self._submit),
                web.get("/jobs", self._list),
                web.get("/counts", self._counts),
                web.get("/jobs/{id}", self._show),
                web.get("/jobs/{id}/wait", self._wait),
                web.post("/jobs/{id}/{do:cancel|hold|release|retry}", self._change),
                web.post("/jobs/{do:cancel|hold}", self._change_range),
                web.post("/jobs/{id}/signal", self._signal),
                web.get("/nodes", self._nodes),
                web.get("/platform", self._platform),
                web.post("/nodes/{name}/{do:drain|resume}", self._drain),
                web.post("/nodes/{name}/lost", self._give_up),
                web.get("/cap", self._cap),
                web.post("/cap", self._set_cap),
                web.get("/switching", self._rule),
                web.post("/switching", self._set_rule),
                web.get("/status", self._status),
                web.get("/metrics", self._metrics),
                web.post("/stop", self._stop),
                web.post("/page", self._page_link),
                *steps.routes(),
                *TaskApi(self._service, steps, self._owned_job, self._callers.read_body).routes(),
            ]
        )
        return app

    def page_routes(self) -> list[web.RouteDef]:
        """Routes shared with the page."""
        get, post = (partial(self._page_route, method) for method in (web.get, web.post))
        return [
            get("/api/jobs/{id:[0-9]+}", self._show),
            get("/api/jobs/{id:[0-9]+}/output", self._output),
            post("/api/jobs/{id:[0-9]+}/{do:cancel|hold|release|retry}", self._change),
            post("/api/nodes/{name}/{do:drain|resume}", self._drain),
            post("/api/cap", self._set_cap),
        ]

    def _page_route(
        self, method: Callable[..., web.RouteDef], path: str, handler: Callable[[web.Request], Answer]
    ) -> web.RouteDef:  # fmt: skip
        return method(path, partial(self._count_requests, handler=handler))

    @asynccontextmanager
    async def serve_connections(
        self, listener: socket.socket, doors: ForwardedConnections | None = None
    ) -> AsyncIterator[None]:
        """Answer local and forwarded connections."""
        runner = web.AppRunner(self.app(), access_log=None, shutdown_timeout=1.0, auto_decompress=False)
        await runner.setup()
        assert runner.server is not None
        async with AsyncExitStack() as stack:
            if doors is not None:
                await stack.enter_async_context(
                    doors.serve_connections(partial(self._callers.serve_forwarded, runner.server))
                )
            stack.push_async_callback(runner.cleanup)
            stack.callback((await self._callers.listen(runner.server, listener)).close)
            yield

    @web.middleware
    async def _count_requests(
        self, request: web.Request, handler: Callable[[web.Request], Answer]
    ) -> web.StreamResponse:
        status = 500
        try:
            answer = await self._handle_errors(request, handler)
            status = answer.status
            return answer
        finally:
            self._service.metrics.on_request(request.method, status)

    async def _handle_errors(
        self, request: web.Request, handler: Callable[[web.Request], Answer]
    ) -> web.StreamResponse:
        try:
            request["uid"], request["gid"] = self._peer_user(request)
            return await handler(request)
        except web.HTTPException as error:
            return _refusal(error.status, error.text or error.reason)
        except InputError as error:
            return _refusal(400, str(error))
        except JournalError as error:
            return _refusal(503, str(error))
        except DardisError as error:
            return _refusal(500, str(error))
        except ConnectionError:
            return _refusal(400, "the request is incomplete")  # the client is gone
        except (ArithmeticError, AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
            return _refusal(400, f"the request is malformed ({type(error).__name__}: {error})")

    def _peer_user(self, request: web.Request) -> PeerUser:
        if (who := self._callers.user_of(request)) is None:
            raise web.HTTPForbidden(text="the user of this connection is unknown")
        if who.uid != self._me and not self._service.users:
            raise web.HTTPForbidden(text="this service belongs to another user")
        return who

    def _is_owner(self, request: web.Request, job: LiveJob) -> bool:
        return request["uid"] in (job.submission.user.uid, self._me)

    def _check_owner(self, request: web.Request, job: LiveJob) -> LiveJob:
        if not self._is_owner(request, job):
            raise web.HTTPForbidden(text=f"job {job.number} belongs to {job.submission.user.name}")
        return job

    def _owned_job(self, request: web.Request) -> LiveJob:
        return self._check_owner(request, self._find_job(request))

    def _check_operator(self, request: web.Request) -> None:
        if request["uid"] != self._me:
            raise web.HTTPForbidden(text="only the user of the service may do that")

    def _open_jobs(self) -> list[LiveJob]:
        return self._service.gateway.jobs()  # the gateway may be replaced

    # ------------------------------------------------------------------------------------------------------------------

    async def _submit(self, request: web.Request) -> web.Response:
        who = request["uid"], request["gid"]
        # Another machine may know the users, so this runs in a thread.
        asker = await asyncio.get_running_loop().run_in_executor(None, _job_user, *who)
        submission = _submission(await self._callers.read_body(request), asker)
        if submission.request.priority > 0 and asker.uid != self._me:
            raise InputError(
                "--priority", str(submission.request.priority), "0 or less, as for all users but the operator"
            )
        may = (lambda: None) if asker.uid == self._me else (lambda: self._limits.add(submission))
        numbers = await self._service.submit(submission, may)
        return web.json_response({"ids": list(numbers), "warnings": []})

    async def _list(self, request: web.Request) -> web.StreamResponse:
        state, user = request.query.get("state", "open"), request.query.get("user")
        limit = min(int(request.query.get("limit", MOST_OPEN_JOBS)), MOST_OPEN_JOBS)
        if state not in ("open", "over", "all"):
            raise InputError("state", repr(state), "open, over or all")
        if state != "open":
            return await self._history(request, min(limit, MOST_AT_ONCE), only_over=state == "over")
        return await self._queue(request, user, limit)

    async def _queue(self, request: web.Request, user: str | None, most: int) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json; charset=utf-8"})
        async with self._listing[request["uid"]]:
            jobs = self._service.gateway.jobs()
            jobs = [job for job in jobs if user is None or job.submission.user.name == user]
            arrays = request.query.get("array") == "1"
            told = self._arrays_as_json(request, jobs, most) if arrays else self._each_as_json(request, jobs[:most])
            with suppress(ConnectionError, TimeoutError):  # no reader
                async with asyncio.timeout(BODY_S):
                    await response.prepare(request)
                    unsent = '{"arrays": [' if arrays else '{"jobs": ['
                    separator = ""
                    async for one in told:
                        unsent, separator = f"{unsent}{separator}{json.dumps(one)}", ", "
                        if len(unsent) > PIECE_CHARACTERS:
                            await response.write(unsent.encode())
                            unsent = ""
                    await response.write(f"{unsent}]}}".encode())
                    return response
        if request.transport is not None:
            request.transport.abort()
        return response

    async def _each_as_json(self, request: web.Request, jobs: Iterable[LiveJob]) -> AsyncIterator[dict[str, Any]]:
        async for job in _in_pieces(jobs):
            yield self._job_as_json(request, job)

    async def _arrays_as_json(
        self, request: web.Request, jobs: Iterable[LiveJob], most: int
    ) -> AsyncIterator[dict[str, Any]]:
        """First job of each array, last number and index, and counts of states and wait reasons."""
        for _, group in islice(groupby(jobs, lambda job: job.submission.first), most):
            array, states, reasons = list(group), Counter[str](), Counter[str]()
            async for job in _in_pieces(array):
                states[job.state] += 1
                if job.state is not LiveJobState.RUNNING and self._is_owner(request, job):
                    reasons[self._reason(job)] += 1
            told = {"last_id": array[-1].number, "last_index": array[-1].index, "states": states, "reasons": reasons}
            yield self._job_as_json(request, array[0]) | told

    async def _history(self, request: web.Request, most: int, *, only_over: bool) -> web.Response:
        """Recent jobs below a number, newest first, and where to continue.

        Searches run singly and yield to other requests.
        """
        query = request.query
        since_ms = int(query["since_ms"]) if "since_ms" in query else None
        before, told = int(query.get("before", MOST_NUMBER)), list[dict[str, Any]]()
        async with self._looking:
            for _ in range(MOST_PIECES):
                began_s = monotonic_s()
                jobs, before = self._service.history(before, PIECE, query.get("user"), since_ms)
                told += [
                    self._job_as_json(request, job) for job in jobs
                    if (job.state.is_over or not only_over) and (since_ms is None or (job.ended_ms or 0) >= since_ms)
                ]  # fmt: skip
                if before == 0 or len(told) >= most or request.transport is None:
                    break
                await asyncio.sleep(monotonic_s() - began_s)
        if len(told) > most:
            before = told[most - 1]["id"]
        return web.json_response({"jobs": told[:most], "next": before or None})

    def _job_as_json(self, request: web.Request, job: LiveJob) -> dict[str, Any]:
        lost = bool(self._service.gateway.liveness.lost_reason(job))
        told = job.as_dict() | {"lost": lost, "why": self._reason(job)}
        return told if self._is_owner(request, job) else told | _HIDDEN

    def _reason(self, job: LiveJob) -> str:
        gateway = self._service.gateway
        return gateway.liveness.lost_reason(job) or job.why or gateway.wait_reason(job)

    def _find_job(self, request: web.Request) -> LiveJob:
        number = int(request.match_info["id"])
        if (job := self._service.find(number)) is None:
            raise web.HTTPNotFound(text=f"there is no job {number}")
        return job

    async def _counts(self, request: web.Request) -> web.Response:
        first, last = int(request.query.get("first", 0)), int(request.query.get("last", MOST_NUMBER))
        return web.json_response(self._service.gateway.counts(first, last))

    async def _show(self, request: web.Request) -> web.Response:
        return web.json_response(self._job_as_json(request, self._find_job(request)))

    async def _wait(self, request: web.Request) -> web.Response:
        job = self._find_job(request)
        patience = float(request.query["timeout"]) if "timeout" in request.query else None
        if patience is not None and (patience < 0 or isnan(patience)):
            raise InputError("timeout", str(patience), "seconds")
        until_s = inf if patience is None else monotonic_s() + patience
        while True:  # a waiting client is checked at times
            left_s = max(until_s - monotonic_s(), 0.0)
            ended = await self._service.wait_for_end(job.number, min(left_s, CLIENT_CHECK_S))
            assert ended is not None
            if ended.state.is_over or left_s <= CLIENT_CHECK_S or request.transport is None:
                return web.json_response(self._job_as_json(request, ended))

    async def _change(self, request: web.Request) -> web.Response:
        job, do = self._owned_job(request), request.match_info["do"]
        self._service.check_ready()
        jobs = self._service.array(job.submission.first) if request.query.get("array") == "1" else [job]
        changed = [self._change_job(one, do) for one in jobs]
        if not any(changed):
            raise web.HTTPConflict(text=f"job {job.number} is {job.state}: it can't be {_PAST[do]} any more")
        await self._service.wait_until_written()
        return web.json_response(self._job_as_json(request, self._find_job(request)))

    async def _change_range(self, request: web.Request) -> web.Response:
        told = await self._callers.read_body(request)
        first, last, do = int(told["first"]), int(told["last"]), request.match_info["do"]
        self._service.check_ready()
        changed = 0
        for job in [job for job in self._open_jobs() if first <= job.number <= last and self._is_owner(request, job)]:
            changed += self._change_job(job, do)
        if changed:
            await self._service.wait_until_written()
        return web.json_response({"changed": changed})

    async def _signal(self, request: web.Request) -> web.Response:
        job, told = self._owned_job(request), await self._callers.read_body(request)
        number = told.get("number")
        if number not in SIGNAL_NUMBERS:
            raise InputError("number", repr(number), "the number of a signal")
        if job.state is not LiveJobState.RUNNING:
            raise web.HTTPConflict(text=f"job {job.number} is {job.state}: it gets no signals")
        if told.get("script"):
            self._service.send_signal([(job.run, job.host)], number, first_only=not told.get("steps"))
        if told.get("steps"):
            steps = [(step.run, step.host) for step in self._service.gateway.steps.of_run(job.run)]
            self._service.send_signal(steps, number, first_only=False)
        return web.json_response({})

    def _change_job(self, job: LiveJob, do: str) -> bool:
        service = self._service
        if do in {"release", "retry"}:
            return service.release(job) if do == "release" else service.retry(job)
        mine = service.gateway.job(job.number)  # jobs only in the journal are finished
        if mine is None or mine.state.is_over:
            return False
        if do == "hold":
            return service.gateway.hold(mine)
        service.gateway.cancel(mine, unix_ms())
        return True

    async def _nodes(self, _: web.Request) -> web.Response:
        silent = self._service.unreachable_hosts
        nodes = [
            node | {"why": (silent.get(node["host"]) if node["silent"] else "") or node["why"]}
            for node in self._service.gateway.nodes()
        ]
        return web.json_response({"nodes": nodes})

    async def _platform(self, _: web.Request) -> web.Response:
        machine = self._service.gateway.machine
        return web.json_response({"platform": platform_to_dict(machine.platform), "nodes": machine.names})

    async def _drain(self, request: web.Request) -> web.Response:
        self._check_operator(request)
        name = request.match_info["name"]
        if name not in self._service.machine.names:
            raise web.HTTPNotFound(text=f"there is no node {name}")
        self._service.check_ready()
        if request.match_info["do"] == "resume":
            self._service.gateway.resume(name)
        else:
            told = await self._callers.read_body(request)
            self._service.gateway.drain(name, str(told.get("why", "")))
        await self._service.wait_until_written()
        return await self._nodes(request)

    async def _give_up(self, request: web.Request) -> web.Response:
        self._check_operator(request)
        self._service.check_ready()
        name, gateway = request.match_info["name"], self._service.gateway
        if gateway.machine.host(name) is None and name not in {*gateway.machine.hosts, *gateway.removed_hosts}:
            raise web.HTTPNotFound(text=f"there is no host or node {name}")
        refuses = name in self._service.gateway.liveness.refusing
        if not (count := self._service.gateway.give_up(name, unix_ms())) and not refuses:
            raise web.HTTPConflict(text=f"no job on {name} is unreachable")
        await self._service.wait_until_written()
        return web.json_response({"given_up": count})

    async def _cap(self, _: web.Request) -> web.Response:
        account = self._service.gateway.account
        use, cap = account.use(unix_ms() // 1000), account.cap
        measured, trouble = account.measured, self._service.meter.trouble
        return web.json_response({
            "cap": None if cap is None else cap.as_dict(), "now": None if use is None else use._asdict(),
            "next": None if cap is None else cap.next_step(unix_ms() // 1000),
            "shares_w": {name: mw / MILLI for name, mw in account.shares(self._service.gateway.switching.off)},
            "measured_w": sum(measured.values()) if measured else None, "trouble": trouble,
        })  # fmt: skip

    async def _set_cap(self, request: web.Request) -> web.Response:
        self._check_operator(request)
        told = _rule_of(await self._callers.read_body(request), "cap")
        self._service.check_ready()
        cap = Cap.from_dict(told) if told else None
        if cap is not None and cap.is_measured and not self._service.gateway.account.measured:
            why = f" ({self._service.meter.trouble})" if self._service.meter.trouble else ""
            found, expected = f"no power is measured{why}", "a --power-program, or hosts with readable counters"
            raise InputError("--measured", found, expected)
        self._service.gateway.set_cap(cap)
        await self._service.wait_until_written()
        return await self._cap(request)

    async def _rule(self, _: web.Request) -> web.Response:
        switching = self._service.gateway.switching
        states = Counter(str(switching.state(name)) for name in switching.switchable)
        rule = None if switching.rule is None else switching.rule.as_dict()
        return web.json_response({
            "programs": switching.settings.has_programs, "rule": rule, "nodes": states,
            "spares": switching.settings.spares, "idle_s": switching.settings.idle_s,
        })  # fmt: skip

    async def _set_rule(self, request: web.Request) -> web.Response:
        self._check_operator(request)
        told = _rule_of(await self._callers.read_body(request), "switching")
        self._service.check_ready()
        self._service.gateway.set_switching(SwitchRule.from_dict(told) if told else None)
        await self._service.wait_until_written()
        return await self._rule(request)

    async def _status(self, _: web.Request) -> web.Response:
        service = self._service
        return web.json_response({
            "version": __version__, "folder": str(service.folder), "epoch": service.journal.epoch, "pid": os.getpid(),
            "trouble": service.trouble, "silent": service.unreachable_hosts, "queued": service.gateway.queued,
            "running": service.gateway.running, "max_time_s": service.max_time_s,
        })  # fmt: skip

    async def _metrics(self, request: web.Request) -> web.Response:
        return metrics_response(self._service.metrics, request)

    async def _page_link(self, request: web.Request) -> web.Response:
        if self._new_link is None:
            raise web.HTTPConflict(text="this service has no page: dardis serve --page")
        return web.json_response({"link": self._new_link(PeerUser(request["uid"], request["gid"]))})

    async def _output(self, request: web.Request) -> web.Response:
        job = self._owned_job(request)
        path = output_path(self._job_as_json(request, job), error=request.query.get("error") == "1")
        text, why = await output_end(path, job.submission.user if self._service.users else None)
        return web.json_response({"path": str(path), "text": text, "why": why})

    async def _stop(self, request: web.Request) -> web.Response:
        self._check_operator(request)
        told = await self._callers.read_body(request)
        running = self._service.gateway.running
        await self._service.stop(kill=bool(told.get("kill", False)))
        return web.json_response({"running": running})


async def _in_pieces(jobs: Iterable[LiveJob]) -> AsyncIterator[LiveJob]:
    for at, job in enumerate(jobs):
        if at % PIECE == 0:
            await asyncio.sleep(0)
        yield job


def _job_user(uid: int, gid: int) -> JobUser:
    try:
        entry = pwd.getpwuid(uid)
    except KeyError:
        return JobUser(uid, gid, str(uid), (gid,))
    return JobUser(uid, entry.pw_gid, entry.pw_name, tuple(os.getgrouplist(entry.pw_name, entry.pw_gid)))


def _rule_of(told: object, place: str) -> dict[str, Any] | None:
    if told == {"off": True}:
        return None
    if not isinstance(told, dict) or not told:
        raise InputError(place, "no rule", '{"off": true}, or an object with the rule')
    return told


def _submission(told: dict[str, Any], asker: JobUser) -> Submission:
    asked = JobRequest.from_dict(told.get("jobs"))
    script, key, cwd = told.get("script", ""), told.get("key"), told.get("cwd")
    environment = told.get("environment", {})
    for place, text in [("script", script), ("key", "" if key is None else key)]:
        check_text(place, text)
    check_environment(cwd, environment)
    if not (asked.argv or script):
        raise InputError("jobs", "there is no command", "argv, or a script")
    items = read_items(told.get("items") or [], asked)
    is_json = told.get("json_items") is True
    submission = Submission(0, asker, asked, script, environment, str(cwd), unix_ms(), key, items, is_json)
    if submission.size > MOST_TEXT:
        raise InputError("jobs", f"words, environment and script of {submission.size} bytes", f"at most {MOST_TEXT}")
    return submission


_HIDDEN: Final[dict[str, Any]] = {
    "argv": [], "name": "", "cwd": "", "chdir": None, "output": "", "error": "", "export": "none", "why": "",
    "comment": "", "stdin": None,
}  # fmt: skip
_PAST: Final = {"cancel": "cancelled", "hold": "held", "release": "released", "retry": "retried"}


def _refusal(status: int, line: str) -> web.Response:
    return web.json_response({"error": line}, status=status)
