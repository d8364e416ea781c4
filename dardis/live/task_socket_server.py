"""HTTP API for `srun` tasks: job steps that start together, with own cores."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final

from aiohttp import web

from dardis.engine.clock import monotonic_s, unix_ms
from dardis.live.job_option_texts import SIGNAL_NUMBERS, check_text
from dardis.live.job_steps import STREAMS, StepCommand, unknown_record
from dardis.live.keeper_client import SupervisorError
from dardis.live.live_jobs import LiveJob
from dardis.live.service import Service
from dardis.live.step_allocation import TaskPlace, place_tasks, task_variables
from dardis.live.step_socket_server import QUIET_S, StepApi, end_of, integer_field, read_command, write_line
from dardis.live.task_request import TaskRequest
from dardis.model.errors import InputError

RECONNECT_S: Final = 3.0
"""For clients of running tasks, after a start, s."""
LOOK_S: Final = 1.0
"""Pause between checks for free cores, s."""


@dataclass(slots=True, eq=False)
class _Allocation:
    first: int
    step: int
    places: Sequence[TaskPlace]
    overlap: bool
    clients: int = 0


class TaskApi:
    """Places tasks on their job's cores, in order of requests, and starts them once."""

    def __init__(
        self, service: Service, steps: StepApi, owned: Callable[[web.Request], LiveJob],
        body: Callable[[web.Request], Awaitable[Any]],
    ) -> None:  # fmt: skip
        self._service, self._steps, self._owned, self._body = service, steps, owned, body
        self._allocations: dict[str, dict[int, _Allocation]] = {}
        self._queues: dict[str, deque[asyncio.Event]] = {}
        self._next_step: dict[str, int] = {}
        self._began_s = monotonic_s()

    def routes(self) -> list[web.RouteDef]:
        """Routes of tasks."""
        return [
            web.post("/jobs/{id}/steps", self._run),
            web.delete(r"/jobs/{id}/steps/{attempt:\d+}.{number:\d+}", self._leave),
            web.post(r"/jobs/{id}/steps/{attempt:\d+}.{number:\d+}/signal", self._signal),
        ]

    async def _leave(self, request: web.Request) -> web.Response:
        job, told = self._owned(request), request.match_info
        run, first = f"{job.number}.{told['attempt']}", int(told["number"])
        if (allocation := self._allocations.get(run, {}).get(first)) is not None:
            for name in _names(run, allocation):
                if (part := self._service.gateway.steps.get(name)) is not None:
                    self._service.release_step(part)
        self._wake(run)
        return web.json_response({})

    async def _signal(self, request: web.Request) -> web.Response:
        job, told = self._owned(request), request.match_info
        number = (await self._body(request)).get("number")
        if number not in SIGNAL_NUMBERS:
            raise InputError("number", repr(number), "the number of a signal")
        run, first = f"{job.number}.{told['attempt']}", int(told["number"])
        if (allocation := self._allocations.get(run, {}).get(first)) is not None:
            steps = filter(None, map(self._service.gateway.steps.get, _names(run, allocation)))
            self._service.send_signal([(step.run, step.host) for step in steps], number, first_only=False)
        return web.json_response({})

    async def _run(self, request: web.Request) -> web.StreamResponse:
        number, told = self._owned(request).number, await self._body(request)
        run, first = f"{number}.{integer_field(told, 'attempt')}", integer_field(told, "number")
        asked, commands = _read_tasks(told)
        place_tasks(self._steps.running_job(run).shares, (), asked)  # refused before the answer begins
        response = web.StreamResponse()
        await response.prepare(request)
        with suppress(ConnectionError, SupervisorError):  # the client retries
            allocation = self._known(run, first, asked, told) or await self._allocate(response, run, first, asked)
            if allocation is None:
                await write_line(response, {"refused": f"job {number} does not run any more"})
                return response
            allocation.clients += 1
            try:
                places = [[place.node, place.cores, place.gpus] for place in allocation.places]
                near = self._near(run, allocation)
                await write_line(response, {"step": allocation.step, "places": places, "near": near})
                if (pipes := told.get("stdin_pipes")) is not None:
                    check_text("stdin_pipes", pipes)
                    commands = [
                        replace(commands[rank % len(commands)], stdin=f"{pipes}{rank}" if rank in near else None)
                        for rank in range(asked.tasks)
                    ]
                await self._stream_tasks(response, run, allocation, commands, told.get("seen") or [])
            finally:
                allocation.clients -= 1
                self._wake(run)
        return response

    def _near(self, run: str, allocation: _Allocation) -> list[int]:
        machine, job = self._service.machine, self._steps.running_job(run)
        return [rank for rank, place in enumerate(allocation.places) if machine.host(place.node) == job.host]

    def _known(self, run: str, first: int, asked: TaskRequest, told: Mapping[str, Any]) -> _Allocation | None:
        if not told.get("places"):
            return self._allocations.get(run, {}).get(first)  # a request whose answer was lost
        places, step = [TaskPlace.of_list(place) for place in told["places"]], integer_field(told, "step")
        if len(places) != asked.tasks:
            raise InputError("places", f"{len(places)} places", f"{asked.tasks}")
        self._next_step[run] = max(self._next_step.get(run, 0), step + 1)
        known = self._allocations.setdefault(run, {})
        return known.setdefault(first, _Allocation(first, step, places, asked.overlap))

    async def _allocate(
        self, response: web.StreamResponse, run: str, first: int, asked: TaskRequest
    ) -> _Allocation | None:
        """Wait for a request's turn and free cores. None: the job has ended."""
        queue, turn = self._queues.setdefault(run, deque()), asyncio.Event()
        queue.append(turn)
        try:
            while (job := self._service.gateway.job_of_run(run)) is not None and not job.cancelled:
                self._forget_ended()
                if queue[0] is turn and self._is_settled(job):
                    places = place_tasks(job.shares, self._used(run), asked)
                    if places is not None:
                        step = self._next_step.get(run, 0)
                        self._next_step[run] = step + 1
                        found = _Allocation(first, step, places, asked.overlap)
                        return self._allocations.setdefault(run, {}).setdefault(first, found)
                turn.clear()
                with suppress(TimeoutError):
                    await asyncio.wait_for(turn.wait(), LOOK_S if queue[0] is turn else QUIET_S)
                await write_line(response, {})  # fails without a client
            return None
        finally:
            queue.remove(turn)
            self._wake(run)

    def _forget_ended(self) -> None:
        for known in (self._allocations, self._next_step):
            for run in [run for run in known if self._service.gateway.job_of_run(run) is None]:
                del known[run]

    def _is_settled(self, job: LiveJob) -> bool:
        elapsed_s = monotonic_s() - self._began_s
        return elapsed_s > RECONNECT_S or (job.started_ms or 0) > unix_ms() - elapsed_s * 1000

    def _used(self, run: str) -> list[TaskPlace]:
        known, steps = self._allocations.get(run, {}), self._service.gateway.steps
        for one in list(known.values()):
            parts = map(steps.get, _names(run, one))
            if not one.clients and all(part is None or part.record is not None for part in parts):
                del known[one.first]
        return [place for one in known.values() if not one.overlap for place in one.places]

    def _wake(self, run: str) -> None:
        if queue := self._queues.get(run):
            queue[0].set()
        else:
            self._queues.pop(run, None)

    async def _stream_tasks(
        self, response: web.StreamResponse, run: str, allocation: _Allocation,
        commands: Sequence[StepCommand], seen: Sequence[Mapping[str, Any]],
    ) -> None:  # fmt: skip
        """Start remaining tasks, and write output. `seen`: by rank, what the client has had."""
        tasks = []
        for rank, name in enumerate(_names(run, allocation)):
            had = seen[rank] if rank < len(seen) else {}
            if not had.get("over"):
                command = commands[rank] if len(commands) > 1 else commands[0]
                variables = task_variables(allocation.places, rank, allocation.step)
                command = replace(command, variables=variables, cores=allocation.places[rank].cores)
                tasks.append(asyncio.create_task(self._stream_task(response, name, rank, allocation, command, had)))
        try:
            for task in asyncio.as_completed(tasks):
                await task
        finally:
            for one in tasks:
                one.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _stream_task(
        self, response: web.StreamResponse, run: str, rank: int, allocation: _Allocation, command: StepCommand,
        had: Mapping[str, Any],
    ) -> None:  # fmt: skip
        tag = {"rank": rank}
        try:
            part = self._steps.requested_step(run, allocation.places[rank].node, command, had.get("mark"))
        except web.HTTPServiceUnavailable as error:
            raise SupervisorError(error.text or "the host is unreachable") from None
        except (web.HTTPException, InputError) as error:
            told = error.text if isinstance(error, web.HTTPException) else str(error)
            await write_line(response, tag | {"refused": told or "the task is refused"})
            return
        if part is None:
            lost = unknown_record(run, "unknown: its record was lost, or its host was declared lost")
            await write_line(response, tag | end_of(lost))
            return
        part.clients += 1
        try:
            await write_line(response, tag | {"mark": part.incarnation})
            await self._steps.stream_output(response, part, {name: integer_field(had, name) for name in STREAMS}, tag)
        finally:
            part.clients -= 1


def _names(run: str, allocation: _Allocation) -> list[str]:
    return [f"{run}.{allocation.first + rank}" for rank in range(len(allocation.places))]


def _read_tasks(told: Mapping[str, Any]) -> tuple[TaskRequest, list[StepCommand]]:
    request, lines = told.get("request"), told.get("commands")
    if not isinstance(request, dict) or not isinstance(lines, list):
        raise InputError("steps", "no request and commands", "an object and a list")
    lists = {name: tuple(map(str, request.get(name, ()))) for name in ("nodelist", "exclude")}
    asked = TaskRequest(**{**request, **lists})
    if len(lines) not in (1, asked.tasks):
        raise InputError("commands", f"{len(lines)} commands", f"1 or {asked.tasks}")
    command = read_command({**told, "argv": lines[0]})  # the environment is checked once
    for line in lines:
        if not isinstance(line, list) or not line:
            raise InputError("commands", repr(line), "the words of a command")
        for word in line:
            check_text("commands", word)
    return asked, [replace(command, argv=line) for line in lines]
