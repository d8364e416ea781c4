"""Starts the service of a folder: one at a time, on a local disk, for its user alone or (as root) for all."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from aiohttp import web

from dardis.live.api import Api
from dardis.live.client import SOCKET, socket_of
from dardis.live.deciding import warm
from dardis.live.journal import Journal
from dardis.live.machine import Machine, many_nodes, one_node
from dardis.live.service import KEEPER, Service
from dardis.model.errors import InputError
from dardis.model.folder_lock import locked
from dardis.model.platform import Platform


def prepare_folder(folder: Path, *, users: bool) -> Path:
    """The folder, made if it isn't there, for nobody else to read. Raises InputError where it can't be used."""
    folder = folder.absolute()
    if not folder.parent.exists() and not folder.exists():
        with suppress(OSError):
            folder.parent.mkdir(parents=True, mode=0o700)
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise InputError(folder, f"can't be made ({error.strerror})", "a folder that you may write") from None
    found = folder.stat()
    if found.st_uid != os.geteuid():
        raise InputError(folder, "is somebody else's", "a folder of your own")
    mode = 0o711 if users else 0o700
    if stat.S_IMODE(found.st_mode) != mode:
        folder.chmod(mode)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(folder, "can't be written", "a folder that you may write")
    socket_of(folder / KEEPER)  # the longer one
    return folder


def this_machine() -> Machine:
    """This host, with the processors that this process may use, its memory and its NVIDIA GPUs."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20
    gpus = sum(1 for _ in Path("/dev").glob("nvidia[0-9]*"))
    return one_node(socket.gethostname(), os.sched_getaffinity(0), memory, gpus)


def serve(folder: Path, platform: Platform | None, *, users: bool, begun: Callable[[Service], None]) -> None:
    """Serve until somebody stops it, or a signal does; `begun` is told once it listens.

    Nodes of a platform are all stood for by this host, which counts their cores and binds nothing. Raises InputError.
    """
    if users and os.geteuid() != 0:
        raise InputError("--users", "is for root alone", "to be left out: a service of your own")
    folder = prepare_folder(folder, users=users)
    machine = this_machine() if platform is None else many_nodes(platform)
    warm()
    before = os.umask(0o077)  # who could open the lock could hold it; what others may read is opened to them by name
    try:
        with locked(folder, folder, "service.lock"):
            journal = Journal(folder)
            asyncio.run(_serve(folder, machine, journal, users=users, begun=begun))
    finally:
        os.umask(before)


async def _serve(
    folder: Path, machine: Machine, journal: Journal, *, users: bool, begun: Callable[[Service], None]
) -> None:
    service = Service(folder, machine, journal, users=users)
    for which in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(which, service.stopping.set)
    runner = web.AppRunner(Api(service).app(), access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    path = folder / SOCKET
    path.unlink(missing_ok=True)  # whoever held it is gone: the lock is ours
    before = os.umask(0o177)
    try:
        site = web.UnixSite(runner, str(path))
        await site.start()
    finally:
        os.umask(before)
    if users:
        path.chmod(0o666)
    try:
        begun(service)
        await service.run()
    finally:
        await runner.cleanup()
        path.unlink(missing_ok=True)
