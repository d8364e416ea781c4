"""Kernels that are loaded without what only compiling needs: who compiles afterwards has all that it takes."""

from __future__ import annotations

import subprocess
import sys

import pytest


def program_output(*program):
    """What a fresh interpreter prints."""
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(program)], capture_output=True, text=True, check=False, timeout=300
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


DRAW = "import sys\nfrom dardis.kernels.chance import draw_below\nprint(draw_below(7, 1, 100))\n"
WHETHER = "print('scipy.linalg' in sys.modules)\n"
COMPILE = """
import numba
import numpy as np

@numba.njit
def drawn_and_multiplied(matrix):
    return draw_below(7, 1, 100), matrix @ np.ones(2)

drawn, product = drawn_and_multiplied(np.diag([2.0, 4.0]))
print(drawn, *product)
"""


@pytest.fixture(scope="module")
def drawn():
    """The number that is drawn, by a kernel that is on disk afterwards."""
    return program_output(DRAW)


def test_compilation_after_kernel_loading_has_linear_algebra_and_the_kernel(drawn):
    assert program_output(DRAW, WHETHER, COMPILE, WHETHER) == [*drawn, "False", *drawn, "2.0", "4.0", "True"]


def test_unexpected_numba_build_loads_kernels_itself(drawn):
    otherwise = "import dardis.kernels.jit", "from numba.core.runtime import nrt", "del nrt.rtsys"
    assert program_output(*otherwise, DRAW, WHETHER) == [*drawn, "True"]
