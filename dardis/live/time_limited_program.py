"""Programs of the operator, run without a shell and with a time limit."""

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
"""Bytes of the output that are read."""
_LAST: Final = 200
"""Characters of a message that are shown."""


def executable_program(path: Path, option: str) -> Path:
    """The absolute path of a program. Raises InputError if it is not executable."""
    found = path.absolute()
    if not found.is_file():
        raise InputError(option, f"{path} is no file", "a program")
    if not os.access(found, os.X_OK):
        raise InputError(option, f"{path} is not executable", "a program that may be executed (chmod +x)")
    return found


async def run_program(path: Path, words: Sequence[str], limit_s: float) -> str:
    """Run a program and return its output. After the limit, it and its children are killed.

    Raises InputError if it fails or takes too long.
    """
    try:
        process = await asyncio.create_subprocess_exec(
            path, *words, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE, start_new_session=True, limit=MOST_OUTPUT,
        )  # fmt: skip
    except OSError as error:
        raise InputError(path, f"cannot be started ({error.strerror})", "a program") from None
    try:
        async with asyncio.timeout(limit_s):
            output, errors = await process.communicate()
    except TimeoutError:
        raise InputError(path, f"runs for more than {limit_s:g} s", "an end within this time") from None
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        if process.returncode is None:
            await process.wait()
    if process.returncode:
        last = errors.decode(errors="replace").strip().splitlines()[-1:]
        why = f": {last[0][:_LAST]}" if last else ""
        raise InputError(path, f"ended with status {process.returncode}{why}", "status 0")
    return output[:MOST_OUTPUT].decode(errors="replace")
