"""A solver's run in a thread of its own, and what that takes of the processor."""

from __future__ import annotations

import resource
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator

T = TypeVar("T")


@contextmanager
def apart(work: Callable[[], T]) -> Iterator[Future[tuple[T, float]]]:
    """Run it beside this thread: its answer and CPU time, in s, are to be waited for.

    OR-Tools holds back Ctrl-C until it is done; and nobody's own CPU time counts what a solver takes.
    """
    with ThreadPoolExecutor(max_workers=1) as pool:
        yield pool.submit(_timed, work)


def _timed(work: Callable[[], T]) -> tuple[T, float]:
    """Nothing is decided by the time."""
    whom = getattr(resource, "RUSAGE_THREAD", resource.RUSAGE_SELF)
    begun = resource.getrusage(whom)
    answer = work()
    ended = resource.getrusage(whom)
    return answer, ended.ru_utime + ended.ru_stime - begun.ru_utime - begun.ru_stime
