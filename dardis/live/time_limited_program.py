"""Operator's programs, without a shell, with a time limit."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from dardis.model.errors import InputError

MOST_OUTPUT: Final = 4 << 20
_PIECE: Final = 1 << 16
_LAST: Final = 200


def executable_program(path: Path, option: str) -> Path:
    """Absolute path of a program. Raises InputError if not executable."""
    found = path.absolute()
    if not found.is_file():
        raise InputError(option, f"{path} is no file", "a program")
    if not os.access(found, os.X_OK):
        raise InputError(option, f"{path} is not executable", "a program that may be executed (chmod +x)")
    return found


async def run_program(path: Path, words: Sequence[str], limit_s: float) -> str:
    """Run a program and return its output; after the limit, kill its process group.

    Raises InputError if it fails or takes too long.
    """
    output, errors = _Pipe(), _Pipe()
    try:
        process = await asyncio.create_subprocess_exec(
            path, *words, stdin=asyncio.subprocess.DEVNULL, stdout=output.end, stderr=errors.end, start_new_session=True
        )
    except OSError as error:
        output.close()
        errors.close()
        raise InputError(path, f"cannot be started ({error.strerror})", "a program") from None
    os.close(output.end)
    os.close(errors.end)
    try:
        async with asyncio.timeout(limit_s):
            status = await process.wait()
    except TimeoutError:
        raise InputError(path, f"runs for more than {limit_s:g} s", "an end within this time") from None
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
        told, complaint = output.text(), errors.text()
    if status:
        last = complaint.strip().splitlines()[-1:]
        why = f": {last[0][:_LAST]}" if last else ""
        raise InputError(path, f"ended with status {status}{why}", "status 0")
    return told


class _Pipe:
    """Reads a pipe beside the program; its children may keep it open."""

    def __init__(self) -> None:
        self._begin, self.end = os.pipe()
        os.set_blocking(self._begin, False)
        self._data = bytearray()
        asyncio.get_running_loop().add_reader(self._begin, self._read)

    def _read(self) -> bool:
        with suppress(BlockingIOError):
            if piece := os.read(self._begin, _PIECE):
                self._data += piece[: MOST_OUTPUT - len(self._data)]
                return True
            asyncio.get_running_loop().remove_reader(self._begin)
        return False

    def text(self) -> str:
        for _ in range(MOST_OUTPUT // _PIECE):
            if not self._read():
                break
        asyncio.get_running_loop().remove_reader(self._begin)
        os.close(self._begin)
        return self._data.decode(errors="replace")

    def close(self) -> None:
        os.close(self.end)
        self.text()
