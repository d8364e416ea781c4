"""Connections to remote job supervisors, through agents."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from dardis.engine.clock import monotonic_s
from dardis.live.job_files import SmallFile
from dardis.live.keeper_client import OnRecord, SupervisorClient, SupervisorError
from dardis.live.remote_socket_server import ForwardedConnections
from dardis.model.addresses import HostId

if TYPE_CHECKING:
    from dardis.transport.links import Switchboard

FIRST_S: Final = 1.0
"""Longest wait for a first message, s."""
UNREACHABLE_S: Final = 10.0
"""Without message, s."""
LOOK_S: Final = 1.0
LEAVE: Final = "leave"


class AgentConnections:
    """Connections to agents, at most one per host."""

    def __init__(self, switchboard: Switchboard) -> None:
        self._switchboard = switchboard
        self._talks: dict[HostId, RemoteSupervisorClient] = {}
        self._last = 0
        self._left: dict[HostId, asyncio.Event] = {}
        self.forwarded_connections = ForwardedConnections(self.send, self.is_unreachable)

    def listen(self) -> None:
        """Receive messages of agents. Call first."""
        self._switchboard.listen(self._on_message, self._on_link_broken)

    def add(self, host: HostId, talk: RemoteSupervisorClient) -> int:
        """Replace a host's connection; return the new number."""
        self._last += 1
        self._talks[host] = talk
        return self._last

    def send(self, host: HostId, **told: Any) -> None:  # noqa: ANN401 (plain values)
        """Send a message to an agent; lost without a link."""
        self._switchboard.send(host, json.dumps(told).encode())

    def is_unreachable(self, host: HostId) -> bool:
        """Whether a host has been silent for too long."""
        return self._switchboard.seconds_since_contact(host) > UNREACHABLE_S

    def _on_message(self, host: HostId, payload: bytes) -> None:
        told = json.loads(payload)
        if "door" in told:
            self.forwarded_connections.on_message(host, told)
        elif "left" in told:
            self._left.setdefault(host, asyncio.Event()).set()
        elif (talk := self._talks.get(host)) is not None:
            talk.on_message(told)

    def _on_link_broken(self, host: HostId) -> None:
        self.forwarded_connections.close_host(host)
        if (talk := self._talks.get(host)) is not None:
            talk.close("the connection was broken")

    async def stop_agents(self, hosts: Iterable[HostId], patience_s: float) -> list[HostId]:
        """Stop agents. Return hosts without a confirmation."""
        left = {host: self._left.setdefault(host, asyncio.Event()) for host in hosts}
        for host in left:
            if not self.is_unreachable(host):
                self.send(host, talk=0, do=LEAVE)
        with suppress(TimeoutError):
            async with asyncio.timeout(patience_s):
                await asyncio.gather(*(event.wait() for event in left.values()))
        return [host for host, event in left.items() if not event.is_set()]


class RemoteSupervisorClient(SupervisorClient):
    """Connection to a remote supervisor, until messages may be lost."""

    def __init__(self, talks: AgentConnections, host: HostId, heard: OnRecord) -> None:
        super().__init__(heard)
        self._talks, self._host = talks, host
        self._number = talks.add(host, self)
        self._looking = asyncio.create_task(self._watch_host())

    @classmethod
    async def connect(cls, talks: AgentConnections, host: HostId, heard: OnRecord) -> RemoteSupervisorClient:
        """Connect to a supervisor. Raises SupervisorError if unreachable."""
        until = monotonic_s() + FIRST_S
        while talks.is_unreachable(host):
            if monotonic_s() >= until:
                raise SupervisorError("no connection to its agent")
            await asyncio.sleep(FIRST_S / 20)
        await asyncio.sleep(0)  # the notice of a new link would end a connection
        return cls(talks, host, heard)

    async def intend(
        self, runs: Sequence[Mapping[str, Any]], files: Sequence[SmallFile], lease: Mapping[str, int]
    ) -> Mapping[str, str]:
        """See `SupervisorClient.intend`."""
        told = await self.request("intend", runs=runs, files=[file.as_list() for file in files], lease=lease)
        refused: Mapping[str, str] = told["refused"]
        return refused

    async def read(self, run: str, offsets: Mapping[str, int], wait_s: float) -> Mapping[str, str]:
        """See `SupervisorClient.read`."""
        told = await self.request("read", run=run, offsets=offsets, wait_s=wait_s)
        pieces: Mapping[str, str] = told["read"]
        return pieces

    async def power(self) -> Mapping[str, Any]:
        """See `SupervisorClient.power`."""
        told = await self.request("power")
        reading: Mapping[str, Any] = told["power"]
        return reading

    def on_message(self, told: dict[str, Any]) -> None:
        """Handle the agent's message; ignore older connections."""
        if told["talk"] != self._number or self.lost.is_set():
            return
        if "lost" in told:
            self.close(told["lost"])
        else:
            self._on_message(told)

    async def _watch_host(self) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            if self._talks.is_unreachable(self._host):
                self.close("the connection to its agent was lost")

    def _send(self, asked: Mapping[str, Any]) -> None:
        self._talks.send(self._host, talk=self._number, **asked)

    def _end(self) -> None:
        self._looking.cancel()
