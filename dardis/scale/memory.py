"""What of this process lies in RAM; promises figures that do not depend on what was allocated and freed before."""

from __future__ import annotations

import ctypes
import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
_SMALL, _LARGE = 1 << 16, 1 << 25


def resident_bytes() -> int:
    """Memory of this process that lies in RAM, once all that is free has been given back."""
    gc.collect()
    with suppress(AttributeError):  # a C library of another kind
        ctypes.CDLL(None).malloc_trim(0)
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@contextmanager
def untouched_pages() -> Iterator[None]:
    """Large arrays that are made in the block take memory of their own, and lie in RAM as far as they are written.

    Otherwise the C library takes more and more of them from what was freed, and then writes arrays of zeros whole.
    """
    _set(_SMALL)
    try:
        yield
    finally:
        _set(_LARGE)


def _set(threshold: int) -> None:
    with suppress(AttributeError):
        library = ctypes.CDLL(None)
        library.mallopt(_MMAP_THRESHOLD, threshold)
        library.mallopt(_TRIM_THRESHOLD, 2 * threshold)
