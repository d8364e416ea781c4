"""A `concurrent.futures.Executor` whose functions run in jobs of a live service."""

from __future__ import annotations

import json
import os
import socket
import sys
import tempfile
from collections import deque
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Future
from concurrent.futures import Executor as BaseExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from multiprocessing import AuthenticationError
from multiprocessing import connection as connections
from multiprocessing.connection import Connection, Listener, wait
from pathlib import Path
from threading import RLock, Thread
from typing import Any, Final, ParamSpec, TypeVar

from dardis.engine.clock import monotonic_s
from dardis.live.job_client import Client
from dardis.live.pickled_calls import pickled_call, value_of
from dardis.live.random_keys import fresh_key
from dardis.model.errors import DardisError, InputError

P = ParamSpec("P")
T = TypeVar("T")
LOOK_S: Final = 5.0
"""Pause between checks for workers whose jobs have ended, s."""


@dataclass(eq=False, slots=True)
class _Call:
    data: bytes
    future: Future[Any]
    retries: int


@dataclass(eq=False, slots=True)
class _Worker:
    job: int
    connection: Connection
    call: _Call | None = None
    """Call that the worker runs."""


class Executor(BaseExecutor):
    """Runs functions in workers, which are jobs of a live service.

    `workers` jobs with `cpus`, `gpus` and `mem` each start at the first call and stay until `shutdown`. A call whose
    worker dies raises BrokenExecutor, or runs again up to `retries` times. Functions and values travel by cloudpickle,
    only to processes that know the key of this executor. `options` are further options of `dardis submit`, such as
    `time="8h"`. Raises InputError for mistakes.
    """

    def __init__(
        self, workers: int = 1, *, cpus: int = 1, gpus: int = 0, mem: str | None = None, retries: int = 0,
        folder: str | os.PathLike[str] | None = None, **options: str | float | bool,
    ) -> None:  # fmt: skip
        if workers < 1 or retries < 0:
            raise InputError("workers, retries", f"{workers}, {retries}", "at least 1 worker and 0 retries")
        self._client, self._count, self._retries = Client(folder), workers, retries
        amounts = {"cpus": cpus, "gpus": gpus} | ({} if mem is None else {"mem": mem})
        usual = {"name": "executor", "time": "unlimited", "output": "/dev/null"}
        self._options: dict[str, str | float | bool] = {**usual, **amounts, **options}
        self._waiting: deque[_Call] = deque()
        self._lock = RLock()
        self._workers: dict[Connection, _Worker] = {}
        self._jobs: set[int] = set()
        """Workers that have not connected yet."""
        self._is_over = self._is_ended = False
        self._key = bytes.fromhex(fresh_key())
        self._resources = ExitStack()
        self._serving: Thread | None = None

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run a function with arguments in a worker. Raises InputError if they cannot be pickled."""
        call = _Call(pickled_call(fn, args, kwargs), Future(), self._retries)
        with self._lock:
            if self._is_over:
                raise RuntimeError("cannot schedule new futures after shutdown")
            if self._serving is None:
                self._start()
            self._waiting.append(call)
        self._notify()
        return call.future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the workers after all calls, or at once with `cancel_futures` as far as they have not begun."""
        with self._lock:
            self._is_over = True
            if cancel_futures:
                for call in self._waiting:
                    call.future.cancel()
            serving = self._serving
        if serving is not None:
            self._notify()
            if wait:
                serving.join()

    # ------------------------------------------------------------------------------------------------------------------

    def _notify(self) -> None:
        with suppress(BlockingIOError, OSError):
            self._wake.send(b"\0")

    def _start(self) -> None:
        hosts = {node["host"] for node in self._client.nodes()}
        with ExitStack() as opened:
            self._wake, self._woken = (opened.enter_context(end) for end in socket.socketpair())
            for end in (self._wake, self._woken):
                end.setblocking(False)
            folder = opened.enter_context(tempfile.TemporaryDirectory(prefix="dardis-"))
            address: Any = f"{folder}/socket" if len(hosts) < 2 else (socket.gethostname(), 0)
            self._listener = opened.enter_context(Listener(address, backlog=128, authkey=self._key))
            self._submit_missing_workers()
            self._resources = opened.pop_all()
        self._accepting = Thread(target=self._accept, name="dardis-executor-accept", daemon=True)
        self._serving = Thread(target=self._serve, name="dardis-executor", daemon=True)
        self._accepting.start()
        self._serving.start()

    def _submit_missing_workers(self) -> None:
        with self._lock:
            count = self._count - len(self._workers) - len(self._jobs)
        if count <= 0:
            return
        place = str(Path(__file__).resolve().parents[2])
        environment = {
            **os.environ, "DARDIS_EXECUTOR": json.dumps(self._listener.address), "DARDIS_EXECUTOR_KEY": self._key.hex(),
            "PYTHONPATH": os.pathsep.join([place, *sys.path]),
        }  # fmt: skip
        command = [sys.executable, "-m", "dardis.live.worker"]
        options = self._options | ({"array": f"0-{count - 1}"} if count > 1 else {})
        numbers = self._client.submit(command, environment=environment, options=options)
        with self._lock:
            self._jobs.update(numbers)
            self._jobs.difference_update(worker.job for worker in self._workers.values())

    def _accept(self) -> None:
        while True:
            try:
                connection = self._listener.accept()
                job = int(connection.recv_bytes())
            except (AuthenticationError, EOFError, OSError, ValueError):
                if self._is_ended:
                    return
                continue
            with self._lock:
                self._jobs.discard(job)
                self._workers[connection] = _Worker(job, connection)
            self._notify()

    def _serve(self) -> None:
        looked_s = monotonic_s()
        while True:
            self._hand_out()
            if self._is_done():
                return self._end()
            for ready in wait([self._woken, *self._workers], LOOK_S):
                if ready is self._woken:
                    with suppress(BlockingIOError):
                        self._woken.recv(4096)
                elif isinstance(ready, Connection) and ready in self._workers:
                    self._receive(self._workers[ready])
            if monotonic_s() - looked_s > LOOK_S:
                looked_s = monotonic_s()
                self._forget_ended()

    def _is_done(self) -> bool:
        with self._lock:
            busy = any(worker.call for worker in self._workers.values())
            return self._is_over and not self._waiting and not busy

    def _hand_out(self) -> None:
        with self._lock:
            idle = [worker for worker in self._workers.values() if worker.call is None]
        for worker in idle:
            worker.call = self._next_call()
            if worker.call is None:
                return
            try:
                worker.connection.send_bytes(worker.call.data)
            except OSError:
                self._lose(worker)

    def _next_call(self) -> _Call | None:
        with self._lock:
            while self._waiting:
                call = self._waiting.popleft()
                if call.future.running() or call.future.set_running_or_notify_cancel():
                    return call
        return None

    def _receive(self, worker: _Worker) -> None:
        try:
            data = worker.connection.recv_bytes()
        except (EOFError, OSError):
            self._lose(worker)
            return
        call, worker.call = worker.call, None
        assert call is not None
        value, error = value_of(data[:1] == b"+", data[1:])
        if error is None:
            call.future.set_result(value)
        else:
            call.future.set_exception(error)

    def _lose(self, worker: _Worker) -> None:
        """Handle the death of a worker."""
        call = worker.call
        with self._lock:
            self._workers.pop(worker.connection, None)
            worker.connection.close()
            if call is not None and call.retries:
                call.retries -= 1
                self._waiting.appendleft(call)
                call = None
        if call is not None:
            call.future.set_exception(BrokenExecutor(f"the worker (job {worker.job}) died while it ran the call"))
        self._replace_workers()

    def _forget_ended(self) -> None:
        """Forget workers whose jobs ended before they connected: others would not start either."""
        with self._lock:
            pending = list(self._jobs)
        why = ""
        for number in pending:
            with suppress(DardisError):
                job = self._client.job(number)
                if job["ended_ms"] is not None:
                    why = job["why"] or job["state"]
                    with self._lock:
                        self._jobs.discard(number)
        if why and not self._workers and not self._jobs:
            self._break(f"no worker could start: {why}")

    def _replace_workers(self) -> None:
        if self._waiting or not self._is_over:
            try:
                self._submit_missing_workers()
            except DardisError as error:
                if not self._workers and not self._jobs:
                    self._break(str(error))

    def _break(self, why: str) -> None:
        with self._lock:
            waiting, self._waiting, self._is_over = list(self._waiting), deque(), True
        for call in waiting:
            if call.future.running() or call.future.set_running_or_notify_cancel():
                call.future.set_exception(BrokenExecutor(why))

    def _end(self) -> None:
        self._is_ended = True
        with suppress(OSError, EOFError, AuthenticationError):
            connections.Client(self._listener.address, authkey=self._key).close()  # so that `_accept` returns
        self._accepting.join()
        for worker in self._workers.values():
            with suppress(OSError):
                worker.connection.send_bytes(b"")
            worker.connection.close()
        for number in self._jobs:
            with suppress(DardisError):
                self._client.cancel(number)
        self._resources.close()
