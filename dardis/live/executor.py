"""`concurrent.futures.Executor` on a live service."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Executor as BaseExecutor
from concurrent.futures import Future
from threading import Lock
from typing import Final, ParamSpec, TypeVar
from weakref import WeakSet, finalize

from dardis.live.job_client import Client
from dardis.live.pickled_calls import pickled_call
from dardis.live.worker_pool import Call, WorkerPool
from dardis.model.errors import InputError

P = ParamSpec("P")
T = TypeVar("T")
_POOLS: Final[WeakSet[WorkerPool]] = WeakSet()
_NOT_OF_WORKERS: Final = frozenset({"array", "hold", "nodes", "ntasks", "requeue"})


class Executor(BaseExecutor):
    """Runs functions in workers, which are jobs of a live service.

    `workers` jobs with `cpus`, `gpus` and `mem` each start at the first call and stay until `shutdown`. A call whose
    worker dies raises BrokenExecutor, or runs again up to `retries` times. Functions and values travel by cloudpickle,
    only to processes with this executor's key. `options`: others of `dardis submit`. Raises InputError.
    """

    def __init__(
        self, workers: int = 1, *, cpus: int = 1, gpus: int = 0, mem: str | None = None, retries: int = 0,
        folder: str | os.PathLike[str] | None = None, **options: str | float | bool,
    ) -> None:  # fmt: skip
        if workers < 1 or retries < 0:
            raise InputError("workers, retries", f"{workers}, {retries}", "at least 1 worker and 0 retries")
        if wrong := sorted(_NOT_OF_WORKERS.intersection(options)):
            raise InputError(wrong[0], repr(options[wrong[0]]), "other options: each worker is one process on one node")
        amounts = {"cpus": cpus, "gpus": gpus} | ({} if mem is None else {"mem": mem})
        usual = {"name": "executor", "time": "unlimited", "output": "/dev/null"}
        self._retries = retries
        self._pool, self._starting = WorkerPool(Client(folder), workers, {**usual, **amounts, **options}), Lock()
        _POOLS.add(self._pool)
        finalize(self, self._pool.mark_over)

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run a function with arguments in a worker. Raises InputError if they cannot be pickled.

        Raises BrokenExecutor (no worker could start) and RuntimeError (after `shutdown`).
        """
        call = Call(pickled_call(fn, args, kwargs), Future(), self._retries)
        self._pool.check_open()
        with self._starting:
            if not self._pool.is_started:
                self._pool.start()
        self._pool.add(call)
        return call.future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the workers after all calls; `cancel_futures` cancels calls not begun."""
        self._pool.close(cancel=cancel_futures)
        if wait:
            self._pool.join()


def _abandon_pools() -> None:
    for pool in [*_POOLS]:
        pool.abandon()


os.register_at_fork(after_in_child=_abandon_pools)
