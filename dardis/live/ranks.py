"""Service on MPI ranks: the first rank serves, others are agents.

MPI exchanges addresses and is finalized before service, so a dead rank blocks no other rank. A launcher may end all
ranks after a loss.
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
from dardis.live.admission import Reach
from dardis.live.agent import be_agent
from dardis.live.etcd_journal import open_journal
from dardis.live.host_liveness import Said, Seat, on_one_machine, seats_of
from dardis.live.journal import see_local
from dardis.live.keeper.runs import open_files
from dardis.live.keeper_mailbox import Home
from dardis.live.live_decisions import host_of_plan, plan_of_hosts, warm
from dardis.live.machine import Machine, machine_of, many_nodes
from dardis.live.remote_keeper import FarKeeper, Talks
from dardis.live.serve import Serving, home_here, prepare_folder, see_no_others, serving, this_host
from dardis.live.service import Service
from dardis.model.addresses import FIRST_HOST, HostId
from dardis.model.errors import INTERRUPTED, DardisError, InputError
from dardis.model.out_folder import locked
from dardis.transport.base import Hosts
from dardis.transport.links import Keys, Link, Switchboard, new_keys
from dardis.transport.mpi_transport import broadcast, finish
from dardis.transport.peers import MpiPeers
from dardis.transport.remote_hosts import RemoteHost, RemoteHosts

if TYPE_CHECKING:
    from dardis.transport.mpi_transport import Communicator

TURN_S: Final = 5.0
"""Longest turn of a host, s."""
LOCK_S: Final = 5.0
"""Longest wait for the lock of killed ranks, s."""
LEAVE_S: Final = 5.0
"""Longest wait for agents to exit, s."""
STAYING: Final = 3
"""Exit status with agents left, for the launcher to end."""
LOOPBACK, ANYWHERE = "127.0.0.1", "0.0.0.0"  # noqa: S104 (access requires a key of this start)

Work = Callable[[Any], int]
"""Work of a rank, given the data of the first. Returns the exit status."""


def serve_ranks(comm: Communicator, asked: Serving) -> int:
    """Serve with all ranks until stopped; return the exit status. All ranks raise the error of any."""
    os.umask(0o077)  # protects the locks; public files get their mode explicitly
    open_files()
    keys = new_keys()
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    says = Said(__version__, boot, this_host(), str(asked.folder), keys.public.decode())
    said = [Said.from_list(one) for one in _everybody(comm, says.as_list())]
    with ExitStack() as stack:

        def prepare() -> tuple[Work, Any]:
            seats = seats_of(said, bound=asked.platform is None)
            if asked.platform is None and seats[comm.rank].folder == Path(said[FIRST_HOST].folder):
                see_no_others(seats[comm.rank].folder, sum(one.boot == boot for one in said))
            if comm.rank == FIRST_HOST:
                return _service(stack, asked, said, seats, keys)
            return _agent(stack, asked, seats[comm.rank].folder, keys)

        work, told = _agreed(comm, said[comm.rank].facts.name, prepare)
        finish()
        return work(told)


def _service(
    stack: ExitStack, asked: Serving, said: Sequence[Said], seats: Sequence[Seat], keys: Keys
) -> tuple[Work, Any]:
    folder = prepare_folder(asked.folder, users=asked.users)
    facts = [seat.facts for seat in seats]
    if asked.platform is None:
        machine = machine_of(facts)
    else:
        machine = many_nodes(load_platform(asked.platform), [host.name for host in facts])
        if len(machine.names) < len(facts):
            found = f"has {len(machine.names)} nodes for {len(facts)} hosts"
            raise InputError(asked.platform, found, "at least one for each")
    _hold(stack, folder, "service.lock")
    journal = stack.enter_context(closing(open_journal(folder, asked.etcd and asked.etcd(), asked.epoch)))
    far = [HostId(host) for host in range(FIRST_HOST + 1, len(seats))]
    address, named = _address(said, asked.address)
    switchboard = Switchboard(address, keys, {said[host].key.encode(): host for host in far})
    stack.callback(switchboard.close)
    talks = Talks(switchboard)
    homes = [home_here(folder, facts[FIRST_HOST].name, asked)] + [
        Home(facts[host].name, seats[host].folder, partial(FarKeeper.connect, talks, host), leased=True) for host in far
    ]

    async def serve() -> int:
        talks.listen()
        reach = reach_of(machine, switchboard)
        service = Service(folder, machine, homes, journal, reach, users=asked.users)
        await serving(service, asked, talks.doors)
        return STAYING if await talks.dismiss(far, LEAVE_S) else 0

    def work(_: Any) -> int:  # noqa: ANN401
        warm()
        return asyncio.run(serve())

    return work, [[place.replace(ANYWHERE, named) for place in switchboard.places], keys.public.decode()]


def _agent(stack: ExitStack, asked: Serving, folder: Path, keys: Keys) -> tuple[Work, Any]:
    prepare_folder(folder, users=asked.users)
    see_local(folder)
    try:
        _hold(stack, folder, "service.lock")  # the lock of a service
    except InputError as error:
        # Perhaps an agent of a lost service; its launcher ends the agent later.
        raise DardisError.told(str(error)) from None

    def work(told: Any) -> int:  # noqa: ANN401
        (turns, talk), key = told
        COMPILE_LISTENER.quiet = True  # only the first rank reports compilation
        warm()
        link = Link((turns, talk), key.encode(), keys)
        answer = RemoteHost(host_of_plan).answer
        asyncio.run(be_agent(folder, link, answer, users=asked.users, apart=asked.keepers_apart))
        return 0

    return work, None


def reach_of(machine: Machine, switchboard: Switchboard) -> Reach:
    """Function that connects to node managers."""
    plan = plan_of_hosts(machine.platform, machine.bounds)
    sessions = count(1)

    def reach(silent: AbstractSet[HostId]) -> Hosts:
        here = {host: host_of_plan(plan, host) for host in {FIRST_HOST, *silent}}
        return RemoteHosts(switchboard, plan, len(machine.hosts), next(sessions), TURN_S, here)

    return reach


def _address(said: Sequence[Said], asked: str | None) -> tuple[str, str]:
    if asked is None:
        return (LOOPBACK if on_one_machine(said) else ANYWHERE), said[FIRST_HOST].facts.name
    try:
        getaddrinfo(asked, None, AF_INET)
    except (OSError, UnicodeError):
        expected = "an IPv4 address of the first host, or a name of it that all hosts know"
        raise InputError("--address", repr(asked), expected) from None
    try:
        return str(ipaddress.IPv4Address(asked)), asked
    except ValueError:
        return ANYWHERE, asked


def _hold(stack: ExitStack, folder: Path, name: str) -> None:
    until = monotonic_s() + LOCK_S
    while True:
        try:
            stack.enter_context(locked(folder, folder, name))
        except InputError:
            if monotonic_s() >= until:
                raise
            sleep(0.1)
        else:
            return


def _everybody(comm: Communicator, value: object) -> list[Any]:
    told: list[Any] = broadcast(comm, MpiPeers(comm).gather(value))
    return told


def _agreed(comm: Communicator, name: str, prepare: Callable[[], tuple[Work, Any]]) -> tuple[Work, Any]:
    """Work of this rank, and data of the first. All ranks raise the error of any."""
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
    heard = _everybody(comm, [told, name, failure])
    for rank, (_, host, failed) in enumerate(heard):
        if failed is not None:
            status, line = failed
            # The first rank reports common errors.
            line = line if rank == FIRST_HOST else f"{host}: {line}"
            raise (InputError if status == InputError.exit_status else DardisError).told(line)
    assert work is not None
    return work, heard[FIRST_HOST][0]
