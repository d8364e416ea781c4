"""What compiles the kernels calls them with arrays that hold what they write: seen where Python checks every index."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest


def test_kernels_are_warmed_within_their_arrays():
    done = subprocess.run(
        [sys.executable, "-m", "dardis.kernels.warm"], capture_output=True, text=True, check=False,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"}, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("name", "compiles"), [("easy", (0, 1)), ("replan", (1, 0))])
def test_a_dispatcher_warms_the_passes_of_its_own_and_no_others(name, compiles):
    """Counted in machine code that a fresh interpreter holds afterwards; a run needs no more."""
    source = f"""
from kit.actual import actual
from kit.central import dispatch
from dardis.kernels import passes, replan
from dardis.model.platform import NodeGroup, Platform
from dardis.registry import find_dispatcher

def compiled():
    return len(replan._pass_over.signatures), len(passes._pass_over.signatures)

dispatcher = find_dispatcher("{name}")
dispatcher.warm(wished=False)
warmed = compiled()
jobs = [actual(number, 0, 0, None, 5, 1, (1,), 1, runtime=5) for number in (1, 2)]
dispatch(Platform("one", (NodeGroup("n", 1, {{"cores": 1}}),)), jobs, dispatcher.setup)
assert warmed == compiled() == {compiles}, (warmed, compiled())
"""
    done = subprocess.run(
        [sys.executable, "-c", source], capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": "tests"}, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
