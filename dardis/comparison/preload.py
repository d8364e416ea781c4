"""Imports for the fork server of `workers`."""

from __future__ import annotations

import gc
import os
from contextlib import suppress

from dardis.comparison.end_with_parent import VARIABLE, end_with_parent

if VARIABLE in os.environ:  # this is the fork server
    end_with_parent()
    os.setsid()  # Ctrl-C reaches child processes only through us, once
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    gc.set_threshold(250_000)  # as in the command
    with suppress(Exception):  # as if memory is short: a task then fails with its own import error
        import dardis.comparison.processes
        import dardis.runs.run  # noqa: F401
    gc.collect()
    gc.freeze()
