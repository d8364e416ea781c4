"""What compiles the kernels calls them with arrays that hold what they write: seen where Python checks every index."""

from __future__ import annotations

import os
import subprocess
import sys


def test_kernels_are_warmed_within_their_arrays():
    done = subprocess.run(
        [sys.executable, "-m", "dardis.kernels.warm"], capture_output=True, text=True, check=False,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"}, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
