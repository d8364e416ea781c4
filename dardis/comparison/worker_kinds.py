"""Workers by kind."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from contextlib import closing
from pathlib import Path
from typing import TypeVar

from dardis.comparison.task_pool import FuturePool, RepeatingPool, TaskPool
from dardis.comparison.workers import Workers
from dardis.model.choices import WorkerChoice, WorkerKind
from dardis.model.errors import InputError
from dardis.transport.launcher import launched_by_mpi

Result = TypeVar("Result")


def shared_parent(workers: WorkerChoice) -> Path | None:
    """Folder for temporary files that all workers see; None: any."""
    return None if workers.kind is WorkerKind.PROCESSES else Path.cwd()


def with_task_pool(
    workers: WorkerChoice, processes: int | None, shared: Path, work: Callable[[TaskPool], Result]
) -> Result:  # fmt: skip
    """Call `work` with a pool of at most `processes` tasks at once. With MPI, collective: rank 0 works.

    `shared`: folder of all workers. Raises InputError.
    """

    def work_with_ranks(executor: Executor, ranks: int) -> Result:
        from dardis.comparison.isolated_calls import call_in_process

        return work_with(FuturePool(executor, min(ranks, processes or ranks), call_in_process))

    def work_with(pool: TaskPool) -> Result:
        with closing(RepeatingPool(pool)) as repeating:
            return work(repeating)

    if workers.kind is WorkerKind.MPI:
        return _call_on_first_rank(work_with_ranks)
    if launched_by_mpi():
        raise InputError("workers", "started by an MPI launcher", "to start its processes itself, or --workers mpi")
    return work_with(_pool_of(workers, processes, shared))


def _call_on_first_rank(work: Callable[[Executor, int], Result]) -> Result:
    if not launched_by_mpi():
        raise InputError("--workers mpi", "started without an MPI launcher", "launch/mpirun -n RANKS dardis compare …")
    from dardis.comparison.isolated_calls import close_idle_processes
    from dardis.transport.rank_executor import call_on_first_rank

    try:
        return call_on_first_rank(work)
    finally:
        close_idle_processes()


def _pool_of(workers: WorkerChoice, processes: int | None, shared: Path) -> TaskPool:
    place = f"--workers {workers}"
    match workers.kind:
        case WorkerKind.SLURM:
            from dardis.comparison.slurm_arrays import open_slurm

            return open_slurm(place, shared, processes)
        case WorkerKind.DASK:
            from dardis.comparison.dask_pool import connect_dask

            return connect_dask(place, workers.address, processes)
        case _:
            return Workers(processes)
