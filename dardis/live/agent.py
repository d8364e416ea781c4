"""Host's agent: forwards messages between service and job supervisor.

Runs node managers and a socket server. Keeps no state.
"""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dardis.live.job_files import SmallFile
from dardis.live.keeper.lease import boot_ms
from dardis.live.keeper_client import (
    EPOCH_REFUSED,
    Connect,
    HigherEpochError,
    LocalSupervisorClient,
    SupervisorClient,
    SupervisorError,
)
from dardis.live.remote_keeper import LEAVE
from dardis.live.socket_server import SocketServer, open_listener

if TYPE_CHECKING:
    from dardis.transport.links import Link

LOOK_S: Final = 1.0
STOPPED_S: Final = 5.0
"""Gap that proves a stopped process, s."""
LAST_MESSAGE_S: Final = 0.3
"""Longest wait, s."""


class Agent:
    """Forwards messages of the newest connection."""

    def __init__(
        self,
        connect: Connect,
        say: Callable[[bytes], object],
        door: Callable[[Mapping[str, Any]], None] = lambda _: None,
    ) -> None:
        """`connect` reaches the supervisor; `say` the service, `door` the socket server."""
        self._connect, self._say, self._door = connect, say, door
        self._number = 0
        self._talk: _SupervisorRelay | None = None
        self._looked_ms = boot_ms()
        self.leaving = asyncio.Event()

    def on_message(self, payload: bytes) -> None:
        """Handle a message of the service."""
        self.check()
        told = json.loads(payload)
        if "door" in told:
            self._door(told)
            return
        number, do = told.pop("talk"), told["do"]
        if do == LEAVE:
            self.leaving.set()
        elif do == "hello" and number > self._number:
            self.end("a newer connection replaced this one")
            self._number = number
            self._talk = _SupervisorRelay(
                self._connect, lambda **told: self._say(json.dumps({"talk": number, **told}).encode())
            )
        if self._talk is not None and number == self._number:
            self._talk.requests.put_nowait(told)

    def check(self) -> None:
        """Detect a stopped process, and raise unexpected errors."""
        if self._talk is not None:
            self._talk.raise_errors()
        now_ms = boot_ms()
        if now_ms - self._looked_ms > STOPPED_S * 1000:
            self.end("its agent was stopped for a while")
        self._looked_ms = now_ms

    def end(self, why: str) -> None:
        """End the current connection."""
        if self._talk is not None:
            self._talk.end(why)
            self._talk = None


class _SupervisorRelay:
    def __init__(self, connect: Connect, say: Callable[..., object]) -> None:
        self.requests: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._connect, self._say = connect, say
        self._over = False
        self._passing = asyncio.create_task(self._pass_on())

    async def _pass_on(self) -> None:
        try:
            keeper = await self._connect(self._on_record)
        except (SupervisorError, OSError) as error:
            self.end(str(error))
            return
        try:
            async with asyncio.TaskGroup() as asking:
                while True:  # in this order; answers in any order
                    asking.create_task(self._forward_one(keeper, **await self.requests.get()))
        finally:
            keeper.close()

    async def _forward_one(self, keeper: SupervisorClient, id: int, do: str, **more: Any) -> None:  # noqa: A002, ANN401
        try:
            if do == "intend":
                files = [SmallFile.from_list(file) for file in more["files"]]
                answer: dict[str, Any] = {"refused": await keeper.intend(more["runs"], files, more["lease"])}
            elif do == "old files":
                answer = {"files": await keeper.old_files(more["before_ms"])}
            elif do == "remove files":
                await keeper.remove_files(more["paths"])
                answer = {}
            elif do == "power":
                answer = {"power": await keeper.power()}
            elif do == "read":
                answer = {"read": await keeper.read(**more)}
            else:
                answer = await keeper.request(do, **more)
        except HigherEpochError as error:
            self._say(id=id, error=EPOCH_REFUSED, highest=error.highest)
        except SupervisorError as error:
            self.end(str(error))  # the service reconnects after a refusal
        else:
            self._say(**answer | {"id": id})

    def raise_errors(self) -> None:
        if self._passing.done() and not self._passing.cancelled():
            self._passing.result()

    def _on_record(self, record: Any) -> None:  # noqa: ANN401 (a record in JSON)
        if record is None:
            self.end("its job supervisor is gone")
        else:
            self._say(event="over", record=record)

    def end(self, why: str) -> None:
        if not self._over:
            self._over = True
            self._say(lost=why)
            self._passing.cancel()


async def run_agent(
    folder: Path, link: Link, answer: Callable[[bytes], bytes], *, users: bool = False, apart: bool = False
) -> None:
    """Run an agent until stopped. Raises InputError without a socket.

    `answer`: of turns. `users`: open to all users. `apart`: separately started supervisor.
    """
    with open_listener(folder, users=users) as listener:
        door = SocketServer(listener, link.send)
        agent = Agent(partial(LocalSupervisorClient.connect, folder, apart=apart), link.send, door.on_message)
        loop = asyncio.get_running_loop()
        for which in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(which, agent.leaving.set)
        linking = asyncio.create_task(link.run(answer, agent.on_message))
        leaving = asyncio.create_task(agent.leaving.wait())
        try:
            while not (linking.done() or leaving.done()):
                await asyncio.wait([linking, leaving], timeout=LOOK_S, return_when=asyncio.FIRST_COMPLETED)
                agent.check()
                door.report_connections()
            link.send(json.dumps({"left": True}).encode())
            await asyncio.wait([linking], timeout=LAST_MESSAGE_S)
        finally:
            agent.end("its agent stops")
            leaving.cancel()
            linking.cancel()
            with suppress(asyncio.CancelledError):
                await linking
            await door.close()
            link.close()
