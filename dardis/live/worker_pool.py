"""Workers of an `Executor`, and waiting calls.

A thread per worker hands it one call at a time. Another keeps the number of workers; only this thread, and the first
call, ask the service.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from collections import deque
from collections.abc import Mapping
from concurrent.futures import BrokenExecutor, Future
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, islice
from multiprocessing.connection import Connection, wait
from pathlib import Path
from threading import Condition, Event, Thread, main_thread
from typing import Any, Final

from dardis.engine.clock import monotonic_s
from dardis.live.client import ServiceUnavailableError
from dardis.live.job_client import Client
from dardis.live.pickled_calls import value_of
from dardis.live.random_keys import fresh_key
from dardis.live.worker_listener import WorkerListener
from dardis.model.errors import DardisError, InputError

LOOK_S: Final = 1.0
"""Pause between checks of the workers, s."""
MOST_FAILURES: Final = 3
"""Failed starts in a row that break a pool without workers."""
_MOST_PAUSE_S: Final = 30.0
_FALSE_STARTS: Final = 3
_JOBS_A_LOOK: Final = 10
_PROGRAM: Final = (
    "import json, os, sys; sys.path[:] = json.loads(os.environ.pop('DARDIS_EXECUTOR_PATH')); "
    "from dardis.live.worker import main; sys.exit(main())"
)


@dataclass(eq=False, slots=True)
class Call:
    """Call that waits or runs."""

    data: bytes
    future: Future[Any]
    retries: int
    false_starts: int = 0


@dataclass(eq=False, slots=True)
class _Worker:
    job: int
    connection: Connection
    is_busy: bool = False
    has_begun: bool = False
    is_lost: bool = False


class WorkerPool:
    """Workers in jobs of a service. Threads end once it is closed and all calls are over."""

    def __init__(self, client: Client, count: int, options: Mapping[str, str | float | bool]) -> None:
        self._client, self._count, self._options = client, count, options
        self._news = Condition()
        self._due = Event()
        self._waiting: deque[Call] = deque()
        self._workers: set[_Worker] = set()
        self._pending: set[int] = set()
        self._looks = 0
        self._key = bytes.fromhex(fresh_key())
        self._listener: WorkerListener | None = None
        self._keeping: Thread | None = None
        self._is_over = False
        self._broken = ""
        self._failures, self._failure, self._not_before_s = 0, "", 0.0
        self._submission = fresh_key()

    def start(self) -> None:
        """Submit the workers. Raises InputError and DardisError."""
        hosts = {node["host"] for node in self._client.nodes()}
        self._listener = WorkerListener(self._key, hosts, self._on_worker)
        try:
            self._submit_missing()
        except BaseException:
            self._listener.close()
            self._listener = None
            raise
        self._keeping = Thread(target=self._keep, name="dardis-executor")
        self._keeping.start()

    @property
    def is_started(self) -> bool:
        """Whether the workers were submitted."""
        return self._keeping is not None

    def check_open(self) -> None:
        """Raise RuntimeError if closed, BrokenExecutor if no call can run."""
        if self._broken:
            raise BrokenExecutor(self._broken)
        if self._is_over:
            raise RuntimeError("cannot schedule new futures after shutdown")

    def add(self, call: Call) -> None:
        """Add a call. Raises RuntimeError, see `check_open`."""
        with self._news:
            self.check_open()
            self._waiting.append(call)
            self._news.notify()

    def close(self, *, cancel: bool = False) -> None:
        """Accept no more calls. `cancel`: cancel those that have not begun."""
        cancelled: list[Call] = []
        with self._news:
            self._is_over = True
            if cancel:
                cancelled = [call for call in self._waiting if not call.future.running()]
                self._waiting = deque(call for call in self._waiting if call.future.running())
            self._news.notify_all()
        self._due.set()
        for call in cancelled:
            if call.future.cancel():
                call.future.set_running_or_notify_cancel()

    def mark_over(self) -> None:
        """Accept no more calls, without a lock: the garbage collector may call this."""
        self._is_over = True

    def join(self) -> None:
        """Wait for the end of a closed pool."""
        if self._keeping is not None:
            self._keeping.join()

    def abandon(self) -> None:
        """Leave the pool to the process that forked this one."""
        self._news, self._due, self._keeping = Condition(), Event(), None
        self._broken, self._waiting = "this executor belongs to another process", deque()
        if self._listener is not None:
            self._listener.abandon()
        for worker in self._workers:
            worker.connection.close()

    # ------------------------------------------------------------------------------------------------------------------
    # A thread for each worker.

    def _on_worker(self, job: int, connection: Connection) -> None:
        worker = _Worker(job, connection)
        with self._news:
            self._pending.discard(job)
            self._failures = 0
            for other in [other for other in self._workers if other.job == job]:  # its job runs again
                _shut(other.connection)
            self._workers.add(worker)
        try:
            Thread(target=self._serve, args=(worker,), name=f"dardis-executor-{job}").start()
        except RuntimeError:  # a limit on threads
            with self._news:
                self._workers.discard(worker)
            connection.close()

    def _serve(self, worker: _Worker) -> None:
        try:
            while (call := self._next_call(worker)) is not None and self._run(call, worker):
                pass
            with suppress(OSError):
                worker.connection.send_bytes(b"")
        except BaseException as error:
            self._break(f"a thread of this executor failed: {error!r}")
            raise
        finally:
            with self._news:
                self._workers.discard(worker)
                self._not_before_s = max(self._not_before_s, monotonic_s() + LOOK_S * (not worker.has_begun))
            worker.connection.close()
            self._due.set()

    def _next_call(self, worker: _Worker) -> Call | None:
        with self._news:
            worker.is_busy = False
            while not worker.is_lost:
                while self._waiting:
                    call = self._waiting.popleft()
                    if call.future.running() or call.future.set_running_or_notify_cancel():
                        worker.is_busy = True
                        return call
                if self._is_over:
                    return None
                self._news.wait()
        return None

    def _run(self, call: Call, worker: _Worker) -> bool:
        connection = worker.connection
        try:
            if connection.poll():  # it is gone
                self._hand_back(call, worker, has_run=False)
                return False
            connection.send_bytes(call.data)
            connection.recv_bytes()
        except (EOFError, OSError):
            call.false_starts += 1
            self._hand_back(call, worker, has_run=call.false_starts > _FALSE_STARTS)
            return False
        worker.has_begun = True
        try:
            result = connection.recv_bytes()
        except (EOFError, OSError):
            self._hand_back(call, worker, has_run=True)
            return False
        except MemoryError as error:
            _settle(call.future, None, error)
            return False
        _settle(call.future, *value_of(result))
        return True

    def _hand_back(self, call: Call, worker: _Worker, *, has_run: bool) -> None:
        if has_run and not call.retries:
            _settle(call.future, None, BrokenExecutor(f"the worker (job {worker.job}) died while it ran the call"))
            return
        call.retries -= has_run
        with self._news:
            if not (broken := self._broken):
                self._waiting.appendleft(call)
                self._news.notify()
        if broken:
            _settle(call.future, None, BrokenExecutor(broken))

    # ------------------------------------------------------------------------------------------------------------------
    # The thread that keeps the number of workers.

    def _keep(self) -> None:
        try:
            while True:
                self._due.wait(LOOK_S)
                self._due.clear()
                if self._is_over or not main_thread().is_alive():
                    self.close()
                self._drop_cancelled()
                with self._news:
                    if (self._is_over or self._broken) and not self._waiting and not self._workers:
                        break
                self._find_lost_workers()
                self._find_ended_jobs()
                self._replace()
        except BaseException as error:
            self._break(f"a thread of this executor failed: {error!r}")
            raise
        finally:
            self._end()

    def _drop_cancelled(self) -> None:
        with self._news:
            cancelled = [call for call in self._waiting if call.future.cancelled()]
            if cancelled:
                gone = {id(call) for call in cancelled}
                self._waiting = deque(call for call in self._waiting if id(call) not in gone)
        for call in cancelled:
            call.future.set_running_or_notify_cancel()

    def _find_lost_workers(self) -> None:
        with self._news:
            idle = {worker.connection: worker for worker in self._workers if not worker.is_busy}
            for connection in wait([*idle], 0):
                assert isinstance(connection, Connection)
                idle[connection].is_lost = True
                self._news.notify_all()

    def _find_ended_jobs(self) -> None:
        with self._news:
            connections = {worker.job: worker.connection for worker in self._workers}
            numbers = sorted(self._pending) + sorted(connections)
        begin = self._looks % max(len(numbers), 1)
        self._looks += _JOBS_A_LOOK
        failure = ""
        for number in islice(chain(numbers[begin:], numbers[:begin]), _JOBS_A_LOOK):
            try:
                job = self._client.job(number)
            except InputError:  # there is no such job any more
                job = {"ended_ms": 0, "why": "its job is unknown", "state": ""}
            except DardisError:
                break
            if job["ended_ms"] is None:
                continue
            with self._news:
                if number in self._pending:
                    self._pending.discard(number)
                    failure = f"no worker could start: {job['why'] or job['state']}"
                elif number in connections:
                    _shut(connections[number])
        if failure:
            with self._news:
                self._count_failure(failure)

    def _count_failure(self, why: str) -> None:
        self._failures, self._failure = self._failures + 1, why
        self._not_before_s = monotonic_s() + min(0.5 * 2**self._failures, _MOST_PAUSE_S)

    def _replace(self) -> None:
        with self._news:
            is_hopeless = self._failures >= MOST_FAILURES and not self._workers and not self._pending
            waits = (self._is_over and not self._waiting) or monotonic_s() < self._not_before_s
        if is_hopeless:
            self._break(self._failure)
        elif not waits:
            try:
                self._submit_missing()
            except DardisError as error:
                with self._news:
                    self._count_failure(str(error))

    def _submit_missing(self) -> None:
        with self._news:
            count = self._count - len(self._workers) - len(self._pending)
        if count <= 0 or self._listener is None:
            return
        environment = {
            **os.environ, "DARDIS_EXECUTOR": json.dumps(self._listener.address),
            "DARDIS_EXECUTOR_KEY": self._key.hex(), "DARDIS_EXECUTOR_PATH": json.dumps(_search_path()),
        }  # fmt: skip
        options = {**self._options, **({"array": f"0-{count - 1}"} if count > 1 else {})}
        numbers = self._client.submit(
            [sys.executable, "-P", "-c", _PROGRAM], environment=environment, options=options, key=self._submission
        )  # fmt: skip
        self._submission = fresh_key()
        with self._news:
            connected = {worker.job for worker in self._workers}
            self._pending.update(number for number in numbers if number not in connected)

    def _break(self, why: str) -> None:
        with self._news:
            waiting, self._waiting = self._waiting, deque()
            self._broken, self._is_over = why, True
            self._news.notify_all()
        self._due.set()
        for call in waiting:
            if call.future.running() or call.future.set_running_or_notify_cancel():
                _settle(call.future, None, BrokenExecutor(why))

    def _end(self) -> None:
        if self._listener is not None:
            self._listener.close()
        for number in sorted(self._pending):
            try:
                self._client.cancel(number)
            except ServiceUnavailableError:  # a worker that starts later finds no client, and ends
                return
            except DardisError:  # it has ended
                continue


def _settle(future: Future[Any], value: object, error: BaseException | None) -> None:
    try:
        if error is None:
            future.set_result(value)
        else:
            future.set_exception(error)
    except BaseException:  # noqa: BLE001 (of a callback, such as SystemExit)
        sys.excepthook(*sys.exc_info())


def _shut(connection: Connection) -> None:
    with suppress(OSError), socket.socket(fileno=os.dup(connection.fileno())) as peer:
        peer.shutdown(socket.SHUT_RDWR)


def _search_path() -> list[str]:
    place, present = str(Path(__file__).resolve().parents[2]), [path or str(Path.cwd()) for path in sys.path]
    return present if place in present else [*present, place]
