"""Calls in child processes, whose death a remote worker survives."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import CancelledError
from typing import Final

from dardis.comparison.remote_call import Outcome, RemoteCall
from dardis.comparison.workers import Workers

_POLL_S: Final = 0.5
_of_threads: dict[int, Workers] = {}
_lock: Final = threading.Lock()


def call_in_process(call: RemoteCall, is_cancelled: Callable[[], bool] = lambda: False) -> Outcome:
    """Call in a child process, kept for this thread's next call. Raises CancelledError."""
    with _lock:  # a process in use has no entry
        workers = _of_threads.pop(threading.get_ident(), None) or Workers(1)
    try:
        task = workers.submit(call.make, alone=call.alone)
        while task.failure is None and not is_cancelled():
            workers.wait(_POLL_S)
    except BaseException:
        workers.close()
        raise
    if task.failure is None:
        workers.close()
        raise CancelledError
    with _lock:
        _of_threads[threading.get_ident()] = workers
    return task.result or b"", task.failure, task.is_lost


def close_idle_processes() -> None:
    """End kept processes."""
    with _lock:
        idle = list(_of_threads.values())
        _of_threads.clear()
    for workers in idle:
        workers.close()
