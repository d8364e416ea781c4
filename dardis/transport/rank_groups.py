"""Subsets of ranks, and reductions."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from mpi4py import MPI

    from dardis.transport.mpi_transport import Communicator

_NAP_S = 0.002


def first_ranks(comm: Communicator, count: int) -> Communicator | None:
    """Communicator of the first `count` ranks, or None. Collective."""
    from mpi4py import MPI

    part = comm.Split(0 if comm.rank < count else MPI.UNDEFINED, comm.rank)
    return None if part == MPI.COMM_NULL else MPI.Intracomm(part)


def wait_for_all(comm: Communicator) -> None:
    """Wait asleep, which frees the cores."""
    request = comm.Ibarrier()
    while not request.Test():
        time.sleep(_NAP_S)


def total(comm: Communicator, value: int) -> int:
    """Sum over all ranks."""
    from mpi4py import MPI

    return int(_reduced(comm, np.array([value], dtype=np.int64), MPI.SUM)[0])


def largest(comm: Communicator, value: float) -> float:
    """Maximum over all ranks."""
    from mpi4py import MPI

    return float(_reduced(comm, np.array([value], dtype=np.float64), MPI.MAX)[0])


def usable_cores(comm: Communicator) -> int:
    """Number of usable cores."""
    from mpi4py import MPI

    here = comm.Split_type(MPI.COMM_TYPE_SHARED)
    mine = np.zeros(os.cpu_count() or 1, dtype=np.int64)
    usable = [core for core in os.sched_getaffinity(0) if core < len(mine)]
    mine[usable] = 1
    count = int(_reduced(here, mine, MPI.MAX).sum()) if usable else 1
    first_here = here.rank == 0
    here.Free()
    return total(comm, count if first_here else 0)


def _reduced(comm: MPI.Comm, mine: NDArray[Any], how: MPI.Op) -> NDArray[Any]:
    everybody = np.empty_like(mine)
    comm.Allreduce(mine, everybody, op=how)
    return everybody


def mpi_version() -> str:
    """MPI library's version."""
    from mpi4py import MPI

    return MPI.Get_library_version().strip("\x00\n ").splitlines()[0]
