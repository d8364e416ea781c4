"""Decides how kernels are compiled: machine code is cached on disk, in a folder named by the kernels' own sources.

Numba renews a cached kernel when its own file changes, but not when a file that it calls does; so the folder is keyed
by all of them.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])


def _cache_folder() -> Path:
    """A folder for this version of the kernels: beside them where that can be written, else the user's."""
    here = Path(__file__).resolve().parent
    sources = [*sorted(here.glob("*.py")), here.parent / "model" / "job.py"]
    key = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:16]
    if os.access(here, os.W_OK):
        return here / "__pycache__" / f"kernels-{key}"
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "dardis" / f"kernels-{key}"


if "NUMBA_CACHE_DIR" not in os.environ:
    numba.config.CACHE_DIR = str(_cache_folder())  # type: ignore[attr-defined]


def kernel(function: Function) -> Function:
    """Compile a function, cached on disk."""
    return cast("Function", numba.njit(cache=True, error_model="numpy")(function))


def bare(function: Function) -> Function:
    """Compile a function that makes no array: without counting references to those it is handed.

    Counting them took two thirds of the time of an ask (456 against 138 µs for 5,832 nodes of three breakpoints).
    """
    return cast("Function", numba.njit(cache=True, error_model="numpy", _nrt=False)(function))


def inlined(function: Function) -> Function:
    """Compile a bare function into the machine code of each that calls it: handing over arrays costs more than its work.

    That halved an ask once more (138 against 69 µs).
    """
    return cast("Function", numba.njit(cache=True, error_model="numpy", _nrt=False, forceinline=True)(function))
