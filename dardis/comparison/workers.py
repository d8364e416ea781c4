"""Processes of this machine that do tasks: forks of multiprocessing's fork server, which has loaded what runs need.

A process does one task after the other. Who dies in one takes no other with it. All are killed by the kernel when this
process ends, however that dies (`end_with_parent`).
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
from dataclasses import dataclass
from functools import cache
from multiprocessing import forkserver
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from dardis.comparison import end_with_parent
from dardis.engine.clock import monotonic_s
from dardis.model.errors import DardisError, failure_line

GRACES_S: Final = (5.0,) * 4
"""Times that a process may take to put its files in order, before it is interrupted again, and killed at last."""
_RETRY_S: Final = 1.0
_PRELOAD: Final = "dardis.comparison.preload"
_CONTEXT: Final = multiprocessing.get_context("forkserver")


@dataclass(eq=False)
class Task:
    """A function that a process calls, until `failure` is told: why it failed, in one line; empty: it has not.

    `result` is then what the function returned.
    """

    failure: str | None = None
    result: Any = None


class _Worker:
    """A process, and our end of the pipe to it."""

    def __init__(self, said: Path) -> None:
        """Start it; what it says goes to that file. Raises DardisError where no process can be had."""
        self.task: Task | None = None
        self.is_for_one = False
        self.idle_since_s = monotonic_s()
        self._said = said
        self._heard = 0
        deadline = monotonic_s() + _RETRY_S
        while not self._starts():
            if monotonic_s() >= deadline:
                raise DardisError("no process for runs: the one that starts them has ended")
            time.sleep(0.05)

    def _starts(self) -> bool:
        """Whether a process could be started; not by a fork server that has just been killed."""
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
        """Let it do a task; False where it is dead."""
        if not self.process.is_alive():
            return False
        self.task = task  # before it has begun: an interrupt may come meanwhile
        try:
            self.pipe.send((function, arguments))
        except BrokenPipeError:
            self.task = None
        return self.task is task

    def see(self) -> None:
        """Settle its task if that has ended."""
        task = self.task
        if task is None:
            return
        told = self._told()
        if told is not None:
            task.result, task.failure = told
        elif not self.process.is_alive():
            task.failure = self._why_dead()
        if task.failure is not None:
            self.task = None
            self.idle_since_s = monotonic_s()
            self._heard = self._said.stat().st_size

    def _told(self) -> tuple[object, str] | None:
        """What it tells of its task."""
        with suppress(EOFError, ConnectionResetError):
            if self.pipe.poll():
                told: tuple[object, str] = self.pipe.recv()
                return told
        return None

    def _why_dead(self) -> str:
        """What it said last, or how it ended."""
        status = self.process.exitcode or 0
        with self._said.open("rb") as file:
            file.seek(self._heard)
            lines = file.read().decode("utf-8", errors="replace").strip().splitlines()
        return lines[-1].removeprefix("dardis: ") if lines and status >= 0 else _ended_by(status)


class Workers:
    """Does tasks in processes, which stay for the next ones: who submits as many as are to be done at once decides."""

    def __init__(self) -> None:
        """Have none yet."""
        self._folder = tempfile.TemporaryDirectory(prefix="dardis-")
        self._workers: list[_Worker] = []
        self._started = 0

    def submit(self, function: Callable[..., object], *arguments: object, alone: bool = False) -> Task:
        """Begin to call a function of a module, by the process that has been idle for the shortest time, or a new one.

        `alone`: by a process that does nothing else. Raises DardisError where no process can be had.
        """
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
            worker.task, task.failure = None, "the process for it has ended"
        return task

    def wait(self, timeout_s: float) -> None:
        """Wait until any task has ended, at most so long."""
        busy = [worker for worker in self._workers if worker.task is not None]
        wait([end for worker in busy for end in (worker.pipe, worker.process.sentinel)], timeout_s)
        for worker in busy:
            worker.see()
            if worker.task is None and worker.is_for_one:
                self._workers.remove(worker)
                _end([worker])

    def close(self) -> None:
        """Interrupt the tasks that are left, and wait until all processes are gone."""
        _end(self._workers)
        self._workers.clear()
        self._folder.cleanup()


def _end(workers: list[_Worker]) -> None:
    """Interrupt processes that do something, and wait until all are gone.

    One that stays is asked afresh: an interrupt within a callback from C, as when kernels are loaded, is lost.
    """
    asked, left = [worker.process for worker in workers if worker.task is not None], workers
    for worker in workers:
        worker.pipe.close()  # an idle one ends with it
    try:
        left = _interrupted(asked, left)
    finally:
        for worker in left:
            worker.process.kill()
            worker.process.join()


def _interrupted(asked: list[ForkServerProcess], left: list[_Worker]) -> list[_Worker]:
    """Interrupt processes, and return the workers that go on all the same."""
    for grace_s in GRACES_S:
        for process in asked:
            with suppress(ProcessLookupError):  # it has ended, and we have not been told yet
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
    """The thread that starts all processes of this one: the kernel ends the fork server with the thread it is from.

    A fork of this process has another id, and needs a thread of its own.
    """
    return ThreadPoolExecutor(1, "dardis-starter")


def _start(process: ForkServerProcess) -> None:
    """Start a process."""
    with _as_a_library():
        try:
            process.start()
        except ChildProcessError:  # this process is a fork of one that has a fork server, which is no child of ours
            forkserver.ensure_running.__self__.__init__()  # type: ignore[attr-defined]
            _CONTEXT.set_forkserver_preload([_PRELOAD])
            process.start()


def _do_tasks(pipe: Connection[Any, Any], said: Path, environment: Mapping[str, str]) -> None:
    """Do tasks, in a process of its own, until the pipe is closed."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # also where the program ignores it
    end_with_parent.end_with(os.getppid())
    os.environ.clear()
    os.environ.update(environment)
    with said.open("wb") as errors, Path(os.devnull).open("r+b") as nowhere:
        os.dup2(errors.fileno(), 2)
        for end in (0, 1):  # what tasks read and print is nothing of this
            os.dup2(nowhere.fileno(), end)
    try:
        while True:
            function, arguments = pipe.recv()
            pipe.send(_done(function, arguments))
            gc.collect()  # the next run lets what is there live for ever
    except (EOFError, BrokenPipeError):
        pass
    except KeyboardInterrupt:
        sys.exit("dardis: interrupted")


def _done(function: Callable[..., object], arguments: tuple[object, ...]) -> tuple[object, str]:
    """What a function returns, or why it failed."""
    try:
        return function(*arguments), ""
    except (DardisError, OSError, MemoryError) as error:
        return None, failure_line(error)
    except Exception as error:  # noqa: BLE001 (one that fails does not take the others with it)
        return None, f"{type(error).__name__}: {error}"


def _same_modules() -> dict[str, str]:
    """Environment variables with which another process finds modules where this one does.

    The folder that we are in hides none of them.
    """
    return {"PYTHONPATH": os.pathsep.join(str(one) or str(Path.cwd()) for one in sys.path), "PYTHONSAFEPATH": "1"}


@contextmanager
def _as_a_library() -> Iterator[None]:
    """Keep processes that start within it from importing the running program, which may be a script without a guard.

    A fork server that starts within it loads what runs need, and ends with this process.
    """
    _CONTEXT.set_forkserver_preload([_PRELOAD])
    variables = _same_modules() | {end_with_parent.VARIABLE: str(os.getpid())}
    program, before = sys.modules["__main__"], {name: os.environ.get(name) for name in variables}
    paths, own = sys.path, multiprocessing.current_process()._config  # type: ignore[attr-defined]  # noqa: SLF001
    daemon = own.pop("daemon", None)  # a worker of the program's own pool may have processes of ours
    sys.modules["__main__"] = ModuleType("__main__")
    sys.path = [*map(str, paths)]  # the fork server's are written as a text, which knows no path objects
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


def _ended_by(status: int) -> str:
    """An exit status in words."""
    with suppress(ValueError):
        if status < 0:
            return f"killed by {signal.Signals(-status).name}"
    return f"ended with exit status {status}"
