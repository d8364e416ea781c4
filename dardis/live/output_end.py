"""End of an output file, read as the job's user."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any, Final

from dardis.live.live_jobs import JobUser

MOST_BYTES: Final = 1 << 16
LIMIT_S: Final = 5.0
PROGRAM: Final = "tail"


async def output_end(path: Path, user: JobUser | None) -> tuple[str, str]:
    """Last `MOST_BYTES` as text, or why there is none. `user`: whose rights apply; None: this process's.

    A separate process reads: links to files of other users show nothing, and nothing blocks the service.
    """
    rights: dict[str, Any] = {} if user is None else {"user": user.uid, "group": user.gid, "extra_groups": user.groups}
    try:
        reading = await asyncio.create_subprocess_exec(
            PROGRAM, "-c", str(MOST_BYTES), "--", os.fspath(path), stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, cwd="/", env={"PATH": os.defpath}, **rights,
        )  # fmt: skip
    except OSError as error:
        return "", f"{PROGRAM}: {error.strerror}"
    try:
        async with asyncio.timeout(LIMIT_S):
            text, mistake = await reading.communicate()
    except TimeoutError:
        return "", f"{path} could not be read within {LIMIT_S:.0f} s"
    finally:
        if reading.returncode is None:
            reading.kill()
    if reading.returncode:
        return "", mistake.decode(errors="replace").strip().removeprefix(f"{PROGRAM}: ")
    return text.decode(errors="replace"), ""
