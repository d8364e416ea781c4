"""Dask workers."""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from dardis import __version__
from dardis.comparison.isolated_calls import call_in_process, close_idle_processes
from dardis.comparison.remote_call import Outcome, RemoteCall
from dardis.comparison.task_pool import FuturePool
from dardis.model.errors import InputError

if TYPE_CHECKING:
    from distributed import Client

_CONNECT_S: Final = 10


class DaskPool(FuturePool):
    """Dask's workers; Dask repeats their lost tasks."""

    def __init__(self, client: Client, size: int | None) -> None:
        super().__init__(client.get_executor(pure=False), size, _call_on_worker)
        self._client = client

    def close(self) -> None:
        """End tasks and disconnect."""
        super().close()
        with suppress(Exception):  # the scheduler has ended
            self._client.run(close_idle_processes)
        self._client.close()


def connect_dask(place: str, address: str, size: int | None) -> DaskPool:
    """Connect to the scheduler. Raises InputError."""
    try:
        from distributed import Client
    except ImportError:
        raise InputError(place, "the package distributed is not installed", 'pip install "dardis[dask]"') from None
    logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
    try:
        client = Client(address, timeout=_CONNECT_S, set_as_default=False)
    except (OSError, ValueError) as error:
        found = f"no scheduler answers ({str(error).splitlines()[0]})"
        raise InputError(place, found, "the address of a running dask scheduler") from None
    try:
        version = client.run_on_scheduler(_dardis_version)
    except Exception:  # noqa: BLE001 (whatever stops the import)
        version = "none"
    if version != __version__:
        client.close()
        raise InputError(place, f"the scheduler has another version of dardis ({version})", __version__)
    return DaskPool(client, size)


def _dardis_version() -> str:
    return __version__


def _call_on_worker(call: RemoteCall) -> Outcome:
    from distributed import get_worker

    worker = get_worker()
    key, tasks = worker.get_current_task(), worker.state.tasks
    return call_in_process(call, lambda: key not in tasks or tasks[key].state != "executing")
