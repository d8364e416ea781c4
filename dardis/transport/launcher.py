"""MPI launchers' environment, read without MPI."""

from __future__ import annotations

import os

_RANK_VARIABLES = ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "MV2_COMM_WORLD_RANK")
_SIZE_VARIABLES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS", "MV2_COMM_WORLD_SIZE")


def launched_by_mpi() -> bool:
    """Whether an MPI launcher started this process."""
    return any(name in os.environ for name in _SIZE_VARIABLES) or "PMIX_RANK" in os.environ


def is_first_rank() -> bool:
    """Whether this is rank 0 or alone, and prints common results."""
    return all(os.environ.get(name, "0") == "0" for name in _RANK_VARIABLES)
