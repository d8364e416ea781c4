"""MPI ranks as workers."""

from __future__ import annotations

import signal
from collections.abc import Callable
from concurrent.futures import Executor
from typing import TYPE_CHECKING, TypeVar, cast

from dardis.model.errors import DardisError
from dardis.transport.mpi_transport import run_or_abort, world

if TYPE_CHECKING:
    from mpi4py.futures import MPIPoolExecutor

Result = TypeVar("Result")


def call_on_first_rank(work: Callable[[Executor, int], Result]) -> Result:
    """Call `work` on rank 0 with an executor of the other ranks, and their number. Collective.

    All ranks return its result, or raise its DardisError or OSError.
    """
    from mpi4py.futures import MPICommExecutor

    comm = world()

    def lead(executor: Executor, workers: int) -> tuple[Result | None, Exception | None]:
        try:
            return work(executor, workers), None
        except (DardisError, OSError, MemoryError) as error:
            return None, error

    before = signal.getsignal(signal.SIGTERM)
    if comm.rank > 0:  # a call would swallow an interrupt
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
    with MPICommExecutor(comm, root=0) as entered:
        executor = cast("MPIPoolExecutor | None", entered)
        outcome = None if executor is None else run_or_abort(comm, lambda: lead(executor, executor.num_workers))
    signal.signal(signal.SIGTERM, before)
    result, error = run_or_abort(comm, lambda: comm.bcast(outcome, root=0))
    if error is not None:
        raise error
    return cast("Result", result)
