"""What an MPI launcher has told this process by its environment; MPI itself is not touched."""

from __future__ import annotations

import os

_RANK_VARIABLES = ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "MV2_COMM_WORLD_RANK")
_SIZE_VARIABLES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS", "MV2_COMM_WORLD_SIZE")


def launched_by_mpi() -> bool:
    """Whether this process was started by an MPI launcher."""
    return any(name in os.environ for name in _SIZE_VARIABLES) or "PMIX_RANK" in os.environ


def is_first_rank() -> bool:
    """Whether this process is the launcher's rank 0, or alone; what all ranks find out, it tells."""
    return all(os.environ.get(name, "0") == "0" for name in _RANK_VARIABLES)
