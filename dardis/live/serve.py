"""Service's start: one per folder, on a local disk, for its user or (as root) for all."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
import stat
import tempfile
from collections.abc import Callable
from contextlib import closing, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path

from dardis.config.platform_file import load_platform
from dardis.live.api import Api
from dardis.live.client import socket_path
from dardis.live.etcd import EtcdAddress
from dardis.live.etcd_journal import EtcdJournal, open_journal
from dardis.live.host_liveness import further_host_folder
from dardis.live.job_files import put_files, remote_shell, slurm_programs
from dardis.live.keeper.runs import raise_open_files_limit
from dardis.live.keeper_client import SUPERVISOR_FOLDER, LocalSupervisorClient
from dardis.live.keeper_mailbox import SupervisedHost
from dardis.live.live_decisions import warm
from dardis.live.live_page import LivePage
from dardis.live.machine import HostFacts, machine_of, machine_of_platform
from dardis.live.metrics_endpoint import serve_metrics
from dardis.live.remote_socket_server import ForwardedConnections
from dardis.live.retention import keep_pruning
from dardis.live.service import Service
from dardis.live.socket_server import open_listener
from dardis.live.switch_programs import SwitchPrograms
from dardis.model.errors import InputError
from dardis.model.out_folder import lock_folder


@dataclass(frozen=True, slots=True)
class ServiceSettings:
    """Service's settings."""

    folder: Path
    platform: Path | None
    """Shared between the hosts; None: a node per host."""
    etcd: Callable[[], EtcdAddress] | None
    """Returns the journal address; None: the folder."""
    users: bool
    user_jobs: int
    max_time_s: int
    """Longest, and default, walltime."""
    keep_days: int | None
    """None: for ever."""
    epoch: int
    has_external_supervisors: bool
    metrics_port: int | None
    has_page: bool
    page_port: int | None
    """None: an earlier page's, or free."""
    power_program: Path | None
    switching: SwitchPrograms
    address: str | None
    """Address of the first rank; None: host name."""
    on_start: Callable[[Service], None]


def prepare_folder(folder: Path, *, users: bool) -> Path:
    """Create and check the folder, private to its user. Raises InputError."""
    if users and os.geteuid() != 0:
        raise InputError("--users", "requires root", "no --users, for a service of your own")
    folder = folder.absolute()
    if not folder.parent.exists() and not folder.exists():
        with suppress(OSError):
            folder.parent.mkdir(parents=True, mode=0o700)
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise InputError(folder, f"can't be created ({error.strerror})", "a folder that you may write") from None
    found = folder.stat()
    if found.st_uid != os.geteuid():
        raise InputError(folder, "belongs to another user", "a folder of your own")
    mode = 0o711 if users else 0o700
    if stat.S_IMODE(found.st_mode) != mode:
        folder.chmod(mode)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(folder, "can't be written", "a folder that you may write")
    socket_path(folder / SUPERVISOR_FOLDER)  # the longer path
    for path, why in put_files(folder, [remote_shell(), *slurm_programs()]).items():
        raise InputError(folder / path, f"can't be written ({why})", "a folder with free space")
    return folder


def check_former_hosts(folder: Path, hosts: int) -> None:
    """Raise InputError if a former host of this machine has runs on shared processors.

    `hosts`: present hosts.
    """
    for place in count(max(hosts, 1)):
        runs = folder / further_host_folder(place) / SUPERVISOR_FOLDER / "runs"
        if not runs.parent.parent.exists():
            return
        if runs.exists() and any(runs.iterdir()):
            raise InputError(
                folder / further_host_folder(place), f"its job supervisor has runs, but here are {hosts} hosts now",
                f"at least {place + 1} hosts on this machine until these runs end",
            )  # fmt: skip


def local_host_facts() -> HostFacts:
    """This host: usable processors, memory and NVIDIA GPUs."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20
    gpus = sum(1 for _ in Path("/dev").glob("nvidia[0-9]*"))
    tmp_mib = shutil.disk_usage(tempfile.gettempdir()).total >> 20
    return HostFacts(socket.gethostname(), tuple(sorted(os.sched_getaffinity(0))), memory, gpus, tmp_mib)


def local_supervised_host(folder: Path, name: str, asked: ServiceSettings) -> SupervisedHost:
    """Local host. Runs have leases if the journal is in etcd."""
    connect = partial(LocalSupervisorClient.connect, folder, apart=asked.has_external_supervisors)
    return SupervisedHost(name, folder, connect, leased=asked.etcd is not None)


def serve_locally(asked: ServiceSettings) -> None:
    """Serve with this machine until stopped. Raises InputError.

    A platform's nodes are all local; cores are only counted.
    """
    host = local_host_facts()
    machine = (
        machine_of([host])
        if asked.platform is None
        else machine_of_platform(load_platform(asked.platform), [host.name], host.tmp_mib)
    )
    folder = prepare_folder(asked.folder, users=asked.users)
    if asked.platform is None:
        check_former_hosts(folder, 1)
    warm()
    raise_open_files_limit()
    before = os.umask(0o077)  # protects the lock; public files get their mode explicitly
    try:
        with (
            lock_folder(folder, folder, "service.lock"),
            closing(open_journal(folder, asked.etcd and asked.etcd(), asked.epoch)) as journal,
        ):
            homes = [local_supervised_host(folder, host.name, asked)]
            service = Service(
                folder, machine, homes, journal, users=asked.users, max_time_s=asked.max_time_s,
                power_program=asked.power_program, switching=asked.switching,
            )  # fmt: skip
            asyncio.run(serve_until_stopped(service, asked))
    finally:
        os.umask(before)


async def serve_until_stopped(
    service: Service, asked: ServiceSettings, doors: ForwardedConnections | None = None
) -> None:
    """Serve from a prepared, locked folder until stopped."""
    for which in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(which, service.stopping.set)
    page = LivePage(service, asked.page_port) if asked.has_page else None
    api = Api(service, asked.user_jobs, None if page is None else page.server.new_link)
    with open_listener(service.folder, users=service.users) as listener:
        async with (
            serve_metrics(service.metrics, service.folder, asked.metrics_port),
            nullcontext() if page is None else page.serve(api),
            api.serve_connections(listener, doors),
        ):
            keep = asked.keep_days
            pruning = None if keep is None else asyncio.create_task(keep_pruning(service, keep))
            try:
                asked.on_start(service)
                await _run(service)
            finally:
                if pruning is not None:
                    pruning.cancel()


async def _run(service: Service) -> None:
    both = [asyncio.create_task(service.run())]
    if isinstance(service.journal, EtcdJournal):
        both.append(asyncio.create_task(service.journal.wait_for_takeover()))
    try:
        done, _ = await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in both:
            task.cancel()
