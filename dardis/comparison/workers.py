"""Worker processes from a fork server with preloaded modules.

A worker's death affects only its task. They end with this process (`end_with_parent`).
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import cache
from multiprocessing import forkserver
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from dardis.comparison import end_with_parent
from dardis.comparison.task_pool import Task
from dardis.engine.clock import monotonic_s
from dardis.model.errors import DardisError, failure_line

GRACES_S: Final = (5.0,) * 4
"""Before each further interrupt, and finally SIGKILL."""
_RETRY_S: Final = 1.0
_PRELOAD: Final = "dardis.comparison.preload"
_CONTEXT: Final = multiprocessing.get_context("forkserver")


class _Worker:
    def __init__(self, said: Path) -> None:
        """Start the process, with standard error to a file. Raises DardisError."""
        self.task: Task | None = None
        self.is_for_one = False
        self.idle_since_s = monotonic_s()
        self._said = said
        self._heard = 0
        deadline = monotonic_s() + _RETRY_S
        while not self._try_start():
            if monotonic_s() >= deadline:
                raise DardisError("no process for runs: the process that starts them has ended")
            time.sleep(0.05)

    def _try_start(self) -> bool:
        self.pipe, theirs = _CONTEXT.Pipe()
        arguments = theirs, self._said, dict(os.environ)
        self.process: ForkServerProcess = _CONTEXT.Process(target=_do_tasks, args=arguments)
        try:
            with theirs:
                _starter(os.getpid()).submit(_start, self.process).result()
        except (ConnectionError, EOFError):
            self.pipe.close()
            return False
        return True

    def begin(self, task: Task, function: Callable[..., object], arguments: tuple[object, ...]) -> bool:
        if not self.process.is_alive():
            return False
        self.task = task  # before the task begins: an interrupt may come meanwhile
        try:
            self.pipe.send((function, arguments))
        except BrokenPipeError:
            self.task = None
        return self.task is task

    def update_task(self) -> None:
        task = self.task
        if task is None:
            return
        told = self._received_result()
        if told is not None:
            task.result, task.failure = told
        elif not self.process.is_alive():
            task.failure, task.is_lost = self._failure_reason(), (self.process.exitcode or 0) < 0
        if task.failure is not None:
            self.task = None
            self.idle_since_s = monotonic_s()
            self._heard = self._said.stat().st_size

    def _received_result(self) -> tuple[object, str] | None:
        with suppress(EOFError, ConnectionResetError):
            if self.pipe.poll():
                told: tuple[object, str] = self.pipe.recv()
                return told
        return None

    def _failure_reason(self) -> str:
        status = self.process.exitcode or 0
        with self._said.open("rb") as file:
            file.seek(self._heard)
            lines = file.read().decode("utf-8", errors="replace").strip().splitlines()
        return lines[-1].removeprefix("dardis: ") if lines and status >= 0 else _exit_text(status)


class Workers:
    """Worker processes, kept for later tasks (None: one per core)."""

    def __init__(self, size: int | None = None) -> None:
        self.size = size or len(os.sched_getaffinity(0))
        self._folder = tempfile.TemporaryDirectory(prefix="dardis-")
        self._workers: list[_Worker] = []
        self._started = 0

    def submit(self, function: Callable[..., object], *arguments: object, alone: bool = False) -> Task:
        """Call a function in the most recently idle worker, or a new one. Raises DardisError."""
        task = Task()
        idle = [worker for worker in self._workers if worker.task is None]
        for worker in sorted(idle, key=lambda one: -one.idle_since_s):
            if not alone and worker.begin(task, function, arguments):
                return task
            self._workers.remove(worker)
            _end([worker])
        self._started += 1
        worker = _Worker(Path(self._folder.name) / str(self._started))
        self._workers.append(worker)
        worker.is_for_one = alone
        if not worker.begin(task, function, arguments):
            worker.task, task.failure, task.is_lost = None, "its process has ended", True
        return task

    def wait(self, timeout_s: float) -> None:
        """Wait for the end of any task."""
        busy = [worker for worker in self._workers if worker.task is not None]
        wait([end for worker in busy for end in (worker.pipe, worker.process.sentinel)], timeout_s)
        for worker in busy:
            worker.update_task()
            if worker.task is None and worker.is_for_one:
                self._workers.remove(worker)
                _end([worker])

    def close(self) -> None:
        """Interrupt unfinished tasks, and wait for all processes."""
        _end(self._workers)
        self._workers.clear()
        self._folder.cleanup()


def _end(workers: list[_Worker]) -> None:
    """Interrupt busy processes, repeatedly (C callbacks lose interrupts), and wait."""
    asked, left = [worker.process for worker in workers if worker.task is not None], workers
    for worker in workers:
        worker.pipe.close()  # ends an idle worker
    try:
        left = _interrupt(asked, left)
    finally:
        for worker in left:
            worker.process.kill()
            worker.process.join()


def _interrupt(asked: list[ForkServerProcess], left: list[_Worker]) -> list[_Worker]:
    for grace_s in GRACES_S:
        for process in asked:
            with suppress(ProcessLookupError):  # it has just ended, and we do not know yet
                if process.is_alive() and process.pid is not None:
                    os.kill(process.pid, signal.SIGINT)
        deadline = monotonic_s() + grace_s
        for worker in left:
            worker.process.join(max(deadline - monotonic_s(), 0.0))
        left = [worker for worker in left if worker.process.is_alive()]
        asked = [worker.process for worker in left]
    return left


@cache
def _starter(_pid: int) -> ThreadPoolExecutor:
    """Thread that starts all processes: the fork server ends with it."""
    return ThreadPoolExecutor(1, "dardis-starter")


def _start(process: ForkServerProcess) -> None:
    with _hide_main_program():
        try:
            process.start()
        except ChildProcessError:  # this process is a fork; the fork server is its parent's child
            forkserver.ensure_running.__self__.__init__()  # type: ignore[attr-defined]
            _CONTEXT.set_forkserver_preload([_PRELOAD])
            process.start()


_is_worker = False


def is_worker() -> bool:
    """Whether this process runs tasks of a comparison."""
    return _is_worker


def _do_tasks(pipe: Connection[Any, Any], said: Path, environment: Mapping[str, str]) -> None:
    global _is_worker  # noqa: PLW0603 (of the process)
    _is_worker = True
    signal.signal(signal.SIGINT, signal.default_int_handler)  # also if the program ignores it
    end_with_parent.end_with(os.getppid())
    os.environ.clear()
    os.environ.update(environment)
    with said.open("wb") as errors, Path(os.devnull).open("r+b") as nowhere:
        os.dup2(errors.fileno(), 2)
        for end in (0, 1):  # tasks share no input or output with this process
            os.dup2(nowhere.fileno(), end)
    try:
        while True:
            function, arguments = pipe.recv()
            pipe.send(call_function(function, arguments))
            gc.collect()  # because the next run freezes all existing objects
    except (EOFError, BrokenPipeError):
        pass
    except KeyboardInterrupt:
        sys.exit("dardis: interrupted")


def call_function(function: Callable[..., object], arguments: tuple[object, ...]) -> tuple[object, str]:
    """Result and error line."""
    try:
        return function(*arguments), ""
    except (DardisError, OSError, MemoryError) as error:
        return None, failure_line(error)
    except Exception as error:  # noqa: BLE001 (one that fails does not take the others with it)
        return None, f"{type(error).__name__}: {error}"


def module_environment() -> dict[str, str]:
    """Environment with this module path."""
    return {"PYTHONPATH": os.pathsep.join(str(one) or str(Path.cwd()) for one in sys.path), "PYTHONSAFEPATH": "1"}


@contextmanager
def _hide_main_program() -> Iterator[None]:
    """Keep child processes from importing a main program without `__main__` guard."""
    _CONTEXT.set_forkserver_preload([_PRELOAD])
    variables = module_environment() | {end_with_parent.VARIABLE: str(os.getpid())}
    program, before = sys.modules["__main__"], {name: os.environ.get(name) for name in variables}
    paths, own = sys.path, multiprocessing.current_process()._config  # type: ignore[attr-defined]  # noqa: SLF001
    daemon = own.pop("daemon", None)  # a worker of the program's own pool may start our processes
    sys.modules["__main__"] = ModuleType("__main__")
    sys.path = [*map(str, paths)]  # the fork server's path is sent as text, without path objects
    os.environ.update(variables)
    try:
        yield
    finally:
        sys.modules["__main__"], sys.path = program, paths
        if daemon is not None:
            own["daemon"] = daemon
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _exit_text(status: int) -> str:
    with suppress(ValueError):
        if status < 0:
            return f"killed by {signal.Signals(-status).name}"
    return f"ended with exit status {status}"
