"""Service on MPI ranks: the first rank serves, others are agents.

MPI is finalized before service, so a dead rank blocks no other; a launcher may end all.
"""

from __future__ import annotations

import asyncio
import ipaddress
import os
import traceback
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from contextlib import ExitStack, closing
from functools import partial
from itertools import count
from pathlib import Path
from socket import AF_INET, getaddrinfo
from time import sleep
from typing import TYPE_CHECKING, Any, Final

from dardis import __version__
from dardis.config.platform_file import load_platform
from dardis.engine.clock import monotonic_s
from dardis.kernels.jit import COMPILE_LISTENER
from dardis.live.admission import HostConnector
from dardis.live.agent import run_agent
from dardis.live.etcd_journal import open_journal
from dardis.live.host_liveness import RankInfo, RankPlacement, are_on_one_machine, rank_placements
from dardis.live.journal import check_local
from dardis.live.keeper.runs import raise_open_files_limit
from dardis.live.keeper_mailbox import SupervisedHost
from dardis.live.live_decisions import host_of_plan, plan_of_hosts, warm
from dardis.live.machine import LiveMachine, machine_of, machine_of_platform
from dardis.live.remote_keeper import AgentConnections, RemoteSupervisorClient
from dardis.live.serve import (
    ServiceSettings,
    check_former_hosts,
    local_host_facts,
    local_supervised_host,
    prepare_folder,
    serve_until_stopped,
)
from dardis.live.service import Service
from dardis.model.addresses import FIRST_HOST, HostId
from dardis.model.errors import INTERRUPTED, DardisError, InputError
from dardis.model.out_folder import lock_folder
from dardis.transport.base import Hosts
from dardis.transport.links import Keys, Link, Switchboard, new_keys
from dardis.transport.mpi_transport import broadcast, finish
from dardis.transport.peers import MpiPeers
from dardis.transport.remote_hosts import RemoteHost, RemoteHosts

if TYPE_CHECKING:
    from dardis.transport.mpi_transport import Communicator

TURN_S: Final = 5.0
LOCK_S: Final = 5.0
LEAVE_S: Final = 5.0
AGENTS_LEFT: Final = 3
"""If the launcher must end agents."""
LOOPBACK, ANYWHERE = "127.0.0.1", "0.0.0.0"  # noqa: S104 (access requires a key of this start)

Work = Callable[[Any], int]
"""Rank's work, given the data of the first. Returns the exit status."""


def serve_ranks(comm: Communicator, asked: ServiceSettings) -> int:
    """Serve with all ranks until stopped; return the exit status. All ranks raise any rank's error."""
    os.umask(0o077)  # protects the locks; public files get their mode explicitly
    raise_open_files_limit()
    keys = new_keys()
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    says = RankInfo(__version__, boot, local_host_facts(), str(asked.folder), keys.public.decode())
    said = [RankInfo.from_list(one) for one in _allgather(comm, says.as_list())]
    with ExitStack() as stack:

        def prepare() -> tuple[Work, Any]:
            seats = rank_placements(said, bound=asked.platform is None)
            if asked.platform is None and seats[comm.rank].folder == Path(said[FIRST_HOST].folder):
                check_former_hosts(seats[comm.rank].folder, sum(one.boot == boot for one in said))
            if comm.rank == FIRST_HOST:
                return _service(stack, asked, said, seats, keys)
            return _agent(stack, asked, seats[comm.rank].folder, keys)

        work, told = _prepare_together(comm, said[comm.rank].facts.name, prepare)
        finish()
        return work(told)


def _service(
    stack: ExitStack, asked: ServiceSettings, said: Sequence[RankInfo], seats: Sequence[RankPlacement], keys: Keys
) -> tuple[Work, Any]:
    folder = prepare_folder(asked.folder, users=asked.users)
    facts = [seat.facts for seat in seats]
    if asked.platform is None:
        machine = machine_of(facts)
    else:
        machine = machine_of_platform(
            load_platform(asked.platform), [host.name for host in facts], min(host.tmp_mib for host in facts)
        )
        if len(machine.names) < len(facts):
            found = f"has {len(machine.names)} nodes for {len(facts)} hosts"
            raise InputError(asked.platform, found, "at least one for each")
    _lock_folder(stack, folder, "service.lock")
    journal = stack.enter_context(closing(open_journal(folder, asked.etcd and asked.etcd(), asked.epoch)))
    far = [HostId(host) for host in range(FIRST_HOST + 1, len(seats))]
    address, named = _address(said, asked.address)
    switchboard = Switchboard(address, keys, {said[host].key.encode(): host for host in far})
    stack.callback(switchboard.close)
    talks = AgentConnections(switchboard)
    homes = [local_supervised_host(folder, facts[FIRST_HOST].name, asked)] + [
        SupervisedHost(
            facts[host].name, seats[host].folder, partial(RemoteSupervisorClient.connect, talks, host), leased=True
        )
        for host in far
    ]

    async def serve() -> int:
        talks.listen()
        reach = _host_connector(machine, switchboard)
        service = Service(
            folder, machine, homes, journal, reach, users=asked.users, max_time_s=asked.max_time_s,
            power_program=asked.power_program, switching=asked.switching,
        )  # fmt: skip
        await serve_until_stopped(service, asked, talks.forwarded_connections)
        return AGENTS_LEFT if await talks.stop_agents(far, LEAVE_S) else 0

    def work(_: Any) -> int:  # noqa: ANN401
        warm()
        return asyncio.run(serve())

    return work, [[place.replace(ANYWHERE, named) for place in switchboard.places], keys.public.decode()]


def _agent(stack: ExitStack, asked: ServiceSettings, folder: Path, keys: Keys) -> tuple[Work, Any]:
    prepare_folder(folder, users=asked.users)
    check_local(folder)
    try:
        _lock_folder(stack, folder, "service.lock")  # the lock of a service
    except InputError as error:
        # Perhaps an agent of a lost service; its launcher ends the agent later.
        raise DardisError.of_message(str(error)) from None

    def work(told: Any) -> int:  # noqa: ANN401
        (turns, talk), key = told
        COMPILE_LISTENER.quiet = True  # only the first rank reports compilation
        warm()
        link = Link((turns, talk), key.encode(), keys)
        answer = RemoteHost(host_of_plan).answer
        asyncio.run(run_agent(folder, link, answer, users=asked.users, apart=asked.has_external_supervisors))
        return 0

    return work, None


def _host_connector(machine: LiveMachine, switchboard: Switchboard) -> HostConnector:
    plan = plan_of_hosts(machine.platform, machine.bounds)
    sessions = count(1)

    def reach(silent: AbstractSet[HostId]) -> Hosts:
        here = {host: host_of_plan(plan, host) for host in {FIRST_HOST, *silent}}
        return RemoteHosts(switchboard, plan, len(machine.hosts), next(sessions), TURN_S, here)

    return reach


def _address(said: Sequence[RankInfo], asked: str | None) -> tuple[str, str]:
    if asked is None:
        return (LOOPBACK if are_on_one_machine(said) else ANYWHERE), said[FIRST_HOST].facts.name
    try:
        getaddrinfo(asked, None, AF_INET)
    except (OSError, UnicodeError):
        expected = "an IPv4 address of the first host, or its name, known to all hosts"
        raise InputError("--address", repr(asked), expected) from None
    try:
        return str(ipaddress.IPv4Address(asked)), asked
    except ValueError:
        return ANYWHERE, asked


def _lock_folder(stack: ExitStack, folder: Path, name: str) -> None:
    until = monotonic_s() + LOCK_S
    while True:
        try:
            stack.enter_context(lock_folder(folder, folder, name))
        except InputError:
            if monotonic_s() >= until:
                raise
            sleep(0.1)
        else:
            return


def _allgather(comm: Communicator, value: object) -> list[Any]:
    told: list[Any] = broadcast(comm, MpiPeers(comm).gather(value))
    return told


def _prepare_together(comm: Communicator, name: str, prepare: Callable[[], tuple[Work, Any]]) -> tuple[Work, Any]:
    work: Work | None = None
    told, failure = None, None
    try:
        work, told = prepare()
    except DardisError as error:
        failure = error.exit_status, str(error)
    except OSError as error:
        failure = 1, f"{error.filename}: {error.strerror}" if error.filename else str(error)
    except KeyboardInterrupt:
        failure = INTERRUPTED, "interrupted"
    except BaseException as error:  # noqa: BLE001 (the other ranks must not wait)
        traceback.print_exc()
        failure = 1, f"{type(error).__name__}: {error}"
    heard = _allgather(comm, [told, name, failure])
    for rank, (_, host, failed) in enumerate(heard):
        if failed is not None:
            status, line = failed
            # The first rank reports common errors.
            line = line if rank == FIRST_HOST else f"{host}: {line}"
            raise (InputError if status == InputError.exit_status else DardisError).of_message(line)
    assert work is not None
    return work, heard[FIRST_HOST][0]
