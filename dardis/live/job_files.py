"""Script and host files of jobs, named by content."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import sys
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from shlex import quote
from typing import Any, Final

from dardis.live.live_jobs import JobUser, LiveJob
from dardis.live.slurm_environment import tasks_by_node
from dardis.live.slurm_names import PROGRAMS
from dardis.live.slurm_programs.__main__ import PROGRAMS as NAMES

REMOTE_SHELL: Final = "remote-shell"
_WITHIN_REACH = 0o711
"""Files open only by known name."""
_LIMITS: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOSPC, errno.EROFS, errno.EIO})
MOST_OLD: Final = 100_000


@dataclass(frozen=True, slots=True)
class SmallFile:
    """File in a host's folder."""

    path: str
    text: str
    mode: int
    owner: tuple[int, int] | None = None
    """User and group, if written by root."""

    def as_list(self) -> list[Any]:
        """As JSON values."""
        return [self.path, self.text, self.mode, self.owner]

    @classmethod
    def from_list(cls, told: list[Any]) -> SmallFile:
        """From JSON values."""
        path, text, mode, owner = told
        return cls(path, text, mode, None if owner is None else (owner[0], owner[1]))


def script_file(script: str, asker: JobUser) -> SmallFile:
    """Job's script, private to its user."""
    return SmallFile(f"scripts/{asker.uid}/{_name(script)}", script, 0o500, (asker.uid, asker.gid))


def host_file(job: LiveJob) -> SmallFile:
    """Host file for Open MPI, shared by jobs with equal nodes and tasks."""
    text = "".join(f"{share.node} slots={slots}\n" for share, slots in zip(job.shares, _slots(job), strict=True))
    return SmallFile(f"hosts/{_name(text)}", text, 0o644)


def launcher_file(job: LiveJob) -> SmallFile:
    """Host file for MPICH."""
    text = "".join(f"{share.node}:{slots}\n" for share, slots in zip(job.shares, _slots(job), strict=True))
    return SmallFile(f"hosts/{_name(text)}", text, 0o644)


def _slots(job: LiveJob) -> list[int]:
    asked = job.submission.request
    if asked.tasks is not None or asked.tasks_per_node is not None:
        return [max(tasks, 1) for tasks in tasks_by_node(job)]
    return [len(share.cores) for share in job.shares]


def local_host_file(job: LiveJob, *, for_hydra: bool) -> SmallFile:
    """Host file of a job of one node, for Open MPI or MPICH."""
    (slots,) = _slots(job)
    text = f"localhost:{slots}\n" if for_hydra else f"localhost slots={slots}\n"
    return SmallFile(f"hosts/{_name(text)}", text, 0o644)


def remote_shell() -> SmallFile:
    """Substitute for ssh in MPI launchers; uses `dardis exec`."""
    place = str(Path(__file__).resolve().parents[2])
    program = f"import sys; sys.path.insert(0, {place!r}); from dardis.live.remote_shell import main; sys.exit(main())"
    # Isolated from the environment of the job.
    text = f'#!/bin/sh\nexec {quote(sys.executable)} -I -c {quote(program)} "$@"\n'
    return SmallFile(REMOTE_SHELL, text, 0o755)


def slurm_programs() -> list[SmallFile]:
    """Slurm's programs for jobs."""
    place = str(Path(__file__).resolve().parents[2])
    program = (
        f"import sys; sys.path.insert(0, {place!r}); "
        "from dardis.live.slurm_programs.__main__ import main; sys.exit(main(sys.argv[1:]))"
    )
    return [
        SmallFile(
            f"{PROGRAMS}/{name}", f'#!/bin/sh\nexec {quote(sys.executable)} -I -c {quote(program)} {name} "$@"\n', 0o755
        )
        for name in NAMES
    ]


def _name(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def put_files(folder: Path, files: Iterable[SmallFile]) -> dict[str, str]:
    """Write files; return errors by path. Raises OSError at host limits."""
    amiss = {}
    for file in files:
        try:
            _put(folder, file)
        except OSError as error:
            if error.errno in _LIMITS or (error.errno == errno.EDQUOT and os.geteuid() != 0):  # root: quota of user
                raise
            amiss[file.path] = f"{error.filename}: {error.strerror}" if error.filename else str(error)
    return amiss


def _has_content(path: Path, data: bytes) -> bool:
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, BlockingIOError):
        return False
    with os.fdopen(file, "rb") as found:
        return stat.S_ISREG(os.fstat(file).st_mode) and found.read(len(data) + 1) == data


def _put(folder: Path, file: SmallFile) -> None:
    path, data = folder / file.path, file.text.encode()
    if _has_content(path, data):
        return
    for place in [*reversed(Path(file.path).parents)][1:]:
        (folder / place).mkdir(exist_ok=True)
        (folder / place).chmod(_WITHIN_REACH)  # despite the umask
    part = path.with_suffix(".part")
    part.unlink(missing_ok=True)
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, file.mode), "wb") as out:
        out.write(data)
        os.fchmod(out.fileno(), file.mode)  # despite the umask
        if file.owner is not None and os.geteuid() == 0:
            os.fchown(out.fileno(), *file.owner)
    part.replace(path)


def old_files(folder: Path, before_ms: int) -> list[str]:
    """Up to `MOST_OLD` small files older than `before_ms`."""
    found: list[str] = []
    for path in chain(folder.glob("hosts/*"), folder.glob("scripts/*/*")):
        with suppress(OSError):
            if len(found) < MOST_OLD and path.stat().st_mtime * 1000 < before_ms:
                found.append(str(path.relative_to(folder)))
    return found


def remove_files(folder: Path, paths: Iterable[str]) -> None:
    """Remove files."""
    for path in paths:
        with suppress(OSError):
            (folder / path).unlink()
