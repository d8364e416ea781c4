"""Cases of tests over MPI, shared out between the gate's runs on 2 and on 4 ranks."""

from typing import Any

import pytest
from mpi4py import MPI

SIZE = MPI.COMM_WORLD.size


def by_ranks(*cases: tuple[Any, ...]) -> list[Any]:
    """Arguments for `parametrize`: the gate tries every other one on 4 ranks and the rest on 2; `--slow` all."""
    slow = {2: 0, 4: 1}.get(SIZE)
    return [
        pytest.param(*case, marks=[pytest.mark.slow] if number % 2 == slow else []) for number, case in enumerate(cases)
    ]
