"""What parts of jobs write, in files of their host's folder: made before they begin, removed with what is known."""

from __future__ import annotations

import os
import stat
from base64 import b64encode
from collections.abc import Container, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from dardis.live.files import SmallFile
from dardis.live.jobs import Asker
from dardis.live.strays import is_part

STREAMS: Final = ("out", "err")
"""What a part writes to: a file for each, of which people are told by these names."""
FOLDER: Final = "parts"
MOST_PIECE: Final = 1 << 16
"""How much is read of a file at once, in bytes."""


def part_files(run: str, asker: Asker) -> list[SmallFile]:
    """Its files, empty: only who runs it may write to them, and nobody may make others beside them."""
    return [SmallFile(part_path(run, stream), "", 0o600, (asker.uid, asker.gid)) for stream in STREAMS]


def part_path(run: str, stream: str) -> str:
    """The file of a stream, in the host's folder."""
    return f"{FOLDER}/{run}.{stream}"


def read_pieces(folder: Path, run: str, offsets: Mapping[str, int]) -> dict[str, str]:
    """What there is from these offsets on, by stream, in base64; streams of which there is nothing are left out."""
    pieces = {stream: _piece(folder / part_path(run, stream), offsets[stream]) for stream in STREAMS}
    return {stream: b64encode(piece).decode() for stream, piece in pieces.items() if piece}


def _piece(path: Path, offset: int) -> bytes:
    """Its owner may have done anything with it but put something else in its place."""
    with suppress(OSError):
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            if stat.S_ISREG(os.fstat(file).st_mode):
                return os.pread(file, MOST_PIECE, offset)
        finally:
            os.close(file)
    return b""


def remove_parts(folder: Path, runs: Iterable[str]) -> None:
    """Nobody wants to know what these have written, as far as they are parts."""
    for run in filter(is_part, runs):
        for stream in STREAMS:
            with suppress(OSError):
                (folder / part_path(run, stream)).unlink()


def keep_parts(folder: Path, runs: Container[str]) -> None:
    """Remove what others have left than these."""
    for path in (folder / FOLDER).glob("*"):
        if path.stem not in runs:
            with suppress(OSError):
                path.unlink()
