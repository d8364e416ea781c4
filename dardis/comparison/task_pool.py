"""Function calls in workers of any kind."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any, Final, Protocol

from dardis.comparison.remote_call import Outcome, RemoteCall
from dardis.model.errors import DardisError, one_line

ATTEMPTS: Final = 3


@dataclass(eq=False)
class Task:
    """Function call in a worker. `failure`: None until the end, then an error line (empty: success).

    `is_lost`: its worker ended first.
    """

    failure: str | None = None
    result: Any = None
    is_lost: bool = False


class TaskPool(Protocol):
    """Workers of one kind."""

    @property
    def size(self) -> int | None:
        """Tasks at once; None: any number."""

    def submit(self, function: Callable[..., object], *arguments: object, alone: bool = False) -> Task:
        """Call a picklable function; `alone`: in its own process. Raises DardisError."""

    def wait(self, timeout_s: float) -> None:
        """Wait for any task's end. Raises DardisError."""

    def close(self) -> None:
        """End tasks."""


class RepeatingPool:
    """Repeats tasks of lost workers."""

    def __init__(self, pool: TaskPool) -> None:
        self.size = pool.size
        self._pool = pool
        self._running: dict[Task, tuple[Task, int, Callable[[], Task]]] = {}

    def submit(self, function: Callable[..., object], *arguments: object, alone: bool = False) -> Task:
        """Submit."""

        def begin() -> Task:
            return self._pool.submit(function, *arguments, alone=alone)

        task = Task()
        self._running[task] = begin(), 1, begin
        return task

    def wait(self, timeout_s: float) -> None:
        """Wait."""
        self._pool.wait(timeout_s)
        for task, (attempt, number, begin) in list(self._running.items()):
            if attempt.failure is None:
                continue
            if attempt.is_lost and number < ATTEMPTS:
                self._running[task] = begin(), number + 1, begin
                continue
            del self._running[task]
            task.result, task.is_lost = attempt.result, attempt.is_lost
            task.failure = f"{attempt.failure}, in each of {number} attempts" if attempt.is_lost else attempt.failure

    def close(self) -> None:
        """End tasks."""
        self._pool.close()


class FuturePool:
    """Tasks in an executor's workers, by `perform`."""

    def __init__(self, executor: Executor, size: int | None, perform: Callable[[RemoteCall], Outcome]) -> None:
        self.size = size
        self._executor = executor
        self._perform = perform
        self._tasks: dict[Future[Outcome], Task] = {}
        self._ended: SimpleQueue[Future[Outcome]] = SimpleQueue()

    def submit(self, function: Callable[..., object], *arguments: object, alone: bool = False) -> Task:
        """Submit."""
        try:
            future = self._executor.submit(self._perform, RemoteCall.of(function, arguments, alone=alone))
        except RuntimeError as error:  # as BrokenExecutor
            raise DardisError(f"no worker for runs: {one_line(str(error))}") from None
        task = self._tasks[future] = Task()
        future.add_done_callback(self._ended.put)
        return task

    def wait(self, timeout_s: float) -> None:
        """Wait."""
        with suppress(Empty):
            self._end(self._ended.get(timeout=timeout_s))
            while True:
                self._end(self._ended.get_nowait())

    def _end(self, future: Future[Outcome]) -> None:
        end_task(self._tasks.pop(future), future.result)

    def close(self) -> None:
        """Cancel tasks."""
        for future in list(self._tasks):
            future.cancel()


def end_task(task: Task, outcome: Callable[[], Outcome]) -> None:
    """Record an outcome."""
    try:
        pickled, failure, task.is_lost = outcome()
        task.result = pickle.loads(pickled) if pickled else None  # noqa: S301 (of our own worker)
    except CancelledError:
        failure = "cancelled, as the workers have ended"
    except BrokenExecutor as error:
        failure, task.is_lost = _first_line(error), True
    except Exception as error:  # noqa: BLE001 (one that fails does not take the others with it)
        failure = f"{type(error).__name__}: {_first_line(error)}"
    task.failure = failure


def _first_line(error: Exception) -> str:
    return one_line((str(error) or type(error).__name__).splitlines()[0])
