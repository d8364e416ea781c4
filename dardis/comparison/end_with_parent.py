"""A process that another started for itself ends with it, however that dies."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from typing import Final

from dardis.model.errors import InputError

VARIABLE: Final = "DARDIS_PARENT"
"""The environment variable with the id of the process that wants it so."""
_PR_SET_PDEATHSIG: Final = 1


def end_with_parent() -> None:
    """Be killed when the process ends that asked for it, if any did; to be called before anything that takes time.

    The kernel does it, so it holds whatever this process is doing.
    """
    asked = os.environ.pop(VARIABLE, None)  # what this process starts has another parent
    if asked is None:
        return
    try:
        parent = int(asked)
    except ValueError:  # the command, which tells mistakes, is not loaded yet
        mistake = InputError(VARIABLE, f"{asked!r} is no process", "the id of the one that this one is to end with")
        sys.stderr.write(f"dardis: {mistake}\n")
        sys.exit(mistake.exit_status)
    end_with(parent)


def end_with(parent: int) -> None:
    """The same, of the process that has just started this one."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL), 0, 0, 0):
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    if os.getppid() != parent:  # it has ended before we said so
        os._exit(1)
