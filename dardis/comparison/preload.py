"""What the fork server of `workers` loads before it forks: all that every run needs. It runs nothing itself."""

from __future__ import annotations

import gc
import os
from contextlib import suppress

from dardis.comparison.end_with_parent import VARIABLE, end_with_parent

if VARIABLE in os.environ:  # this is the fork server
    end_with_parent()
    os.setsid()  # Ctrl-C reaches what it starts through us, and once
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    gc.set_threshold(250_000)  # as the command has it
    with suppress(Exception):  # as where memory is short: what a process then can't load itself is why its task fails
        import dardis.comparison.processes
        import dardis.runs.run  # noqa: F401
    gc.collect()
    gc.freeze()
