"""Processes that end with their parent, even after SIGKILL."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from typing import Final

from dardis.model.errors import InputError

VARIABLE: Final = "DARDIS_PARENT"
"""Holds the parent's process id."""
_PR_SET_PDEATHSIG: Final = 1


def end_with_parent() -> None:
    """End with the process in `VARIABLE`, if set (Linux prctl). Call before slow work."""
    asked = os.environ.pop(VARIABLE, None)  # child processes have another parent
    if asked is None:
        return
    try:
        parent = int(asked)
    except ValueError:  # the module for error messages is not loaded yet
        mistake = InputError(VARIABLE, f"{asked!r} is not a process", "the id of the parent process")
        sys.stderr.write(f"dardis: {mistake}\n")
        sys.exit(mistake.exit_status)
    end_with(parent)


def end_with(parent: int) -> None:
    """End with `parent`, which must have started this process."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL), 0, 0, 0):
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    if os.getppid() != parent:  # the parent has ended already
        os._exit(1)
