"""Connections to remote job supervisors, through agents."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from dardis.engine.clock import monotonic_s
from dardis.live.job_files import SmallFile
from dardis.live.keeper_client import Heard, Keeper, KeeperError
from dardis.live.remote_socket_server import FarDoors
from dardis.model.addresses import HostId

if TYPE_CHECKING:
    from dardis.transport.links import Switchboard

FIRST_S: Final = 1.0
"""Longest wait for a first message, s."""
SILENT_S: Final = 10.0
"""Time without message until unreachable, s."""
LOOK_S: Final = 1.0
LEAVE: Final = "leave"


class Talks:
    """Connections to agents, at most one per host."""

    def __init__(self, switchboard: Switchboard) -> None:
        self._switchboard = switchboard
        self._talks: dict[HostId, FarKeeper] = {}
        self._last = 0
        self._left: dict[HostId, asyncio.Event] = {}
        self.doors = FarDoors(self.say, self.is_silent)

    def listen(self) -> None:
        """Receive messages of agents. Call first."""
        self._switchboard.listen(self._hear, self._break)

    def begin(self, host: HostId, talk: FarKeeper) -> int:
        """Replace the connection of a host; return the new number."""
        self._last += 1
        self._talks[host] = talk
        return self._last

    def say(self, host: HostId, **told: Any) -> None:  # noqa: ANN401 (plain values)
        """Send a message to an agent; lost without a link."""
        self._switchboard.send(host, json.dumps(told).encode())

    def is_silent(self, host: HostId) -> bool:
        """Whether a host has sent nothing for too long."""
        return self._switchboard.seconds_since_contact(host) > SILENT_S

    def _hear(self, host: HostId, payload: bytes) -> None:
        told = json.loads(payload)
        if "door" in told:
            self.doors.hear(host, told)
        elif "left" in told:
            self._left.setdefault(host, asyncio.Event()).set()
        elif (talk := self._talks.get(host)) is not None:
            talk.hear(told)

    def _break(self, host: HostId) -> None:
        self.doors.break_off(host)
        if (talk := self._talks.get(host)) is not None:
            talk.close("the connection was broken")

    async def dismiss(self, hosts: Iterable[HostId], patience_s: float) -> list[HostId]:
        """Stop agents. Return hosts without a confirmation."""
        left = {host: self._left.setdefault(host, asyncio.Event()) for host in hosts}
        for host in left:
            if not self.is_silent(host):
                self.say(host, talk=0, do=LEAVE)
        with suppress(TimeoutError):
            async with asyncio.timeout(patience_s):
                await asyncio.gather(*(event.wait() for event in left.values()))
        return [host for host, event in left.items() if not event.is_set()]


class FarKeeper(Keeper):
    """Connection to a remote supervisor. Ends if messages may be lost."""

    def __init__(self, talks: Talks, host: HostId, heard: Heard) -> None:
        super().__init__(heard)
        self._talks, self._host = talks, host
        self._number = talks.begin(host, self)
        self._looking = asyncio.create_task(self._look())

    @classmethod
    async def connect(cls, talks: Talks, host: HostId, heard: Heard) -> FarKeeper:
        """Connect to a supervisor. Raises KeeperError if the host is unreachable."""
        until = monotonic_s() + FIRST_S
        while talks.is_silent(host):
            if monotonic_s() >= until:
                raise KeeperError("nothing is heard of it")
            await asyncio.sleep(FIRST_S / 20)
        await asyncio.sleep(0)  # the notice of a new link would end a connection
        return cls(talks, host, heard)

    async def intend(
        self, runs: Sequence[Mapping[str, Any]], files: Sequence[SmallFile], lease: Mapping[str, int]
    ) -> Mapping[str, str]:
        """See `Keeper.intend`."""
        told = await self.ask("intend", runs=runs, files=[file.as_list() for file in files], lease=lease)
        refused: Mapping[str, str] = told["refused"]
        return refused

    async def read(self, run: str, offsets: Mapping[str, int], wait_s: float) -> Mapping[str, str]:
        """See `Keeper.read`."""
        told = await self.ask("read", run=run, offsets=offsets, wait_s=wait_s)
        pieces: Mapping[str, str] = told["read"]
        return pieces

    def hear(self, told: dict[str, Any]) -> None:
        """Handle a message of the agent; ignore older connections."""
        if told["talk"] != self._number or self.lost.is_set():
            return
        if "lost" in told:
            self.close(told["lost"])
        else:
            self._take(told)

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            if self._talks.is_silent(self._host):
                self.close("nothing is heard of it any more")

    def _send(self, asked: Mapping[str, Any]) -> None:
        self._talks.say(self._host, talk=self._number, **asked)

    def _end(self) -> None:
        self._looking.cancel()
