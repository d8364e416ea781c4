"""Folders that a command writes: their kinds, the lock of the writer, and the seal that tells that all files are there.

A kind of folder has a *seal*, the file that goes first when others take the place of old ones, and comes last. So a
process that is killed at any moment leaves the old files, the new ones, or some without the seal: not finished.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dardis.model.errors import InputError
from dardis.model.files import partly_written

PART_PREFIX = ".part-"
"""How the folder begins in which files are written before they are put in place."""
CHARTS = "charts"
"""The folder within, in which `dardis report --charts` puts pictures of whatever kind of work; new work removes it."""
_PICTURES = frozenset({".pdf", ".svg"})
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO})
"""No mistake of the user's."""
_ATTEMPTS = 100


@dataclass(frozen=True, slots=True)
class OutFolder:
    """A kind of folder: what it holds, for people, and the names of all files that may be in it, the seal among them.

    With a `mark`, a folder with that file is one of this kind whatever else it holds, and none without it is.
    """

    what: str
    files: tuple[str, ...]
    seal: str
    mark: str | None = None

    @contextmanager
    def held(self, out: Path, *, force: bool) -> Iterator[None]:
        """Make the folder and hold its lock for what the block is to write there; nobody else writes there meanwhile.

        A block that fails leaves no new folder behind. Raises InputError where the folder can't be made, holds anything
        but what `force` allows to be replaced, or is held by somebody else.
        """
        new: list[Path] = []
        try:
            with ExitStack() as lock:
                try:
                    new += [path for path in (out, *out.parents) if not path.exists()]
                    _make_and_lock(out, lock)
                    self._check(out, force=force)
                    self._remove_leftovers(out)
                except OSError as error:
                    if error.errno in _NO_ROOM:
                        raise OSError(error.errno, error.strerror, str(out)) from None
                    expected = "a folder that can be written"
                    raise InputError(f"--out {out}", error.strerror or "can't be made", expected) from None
                yield
        except BaseException:
            with suppress(OSError):  # one that holds something stays
                for path in new:
                    path.rmdir()
            raise

    @contextmanager
    def written_together(self, out: Path) -> Iterator[Path]:
        """Yield a folder to write files to; when the block ends they take the place of what `out` holds.

        Only for who holds `out`. When the block fails, nothing in `out` has changed. An OSError names the file by its
        place in `out`.
        """
        part = Path(tempfile.mkdtemp(prefix=PART_PREFIX, dir=out))
        try:
            yield part
            self._put_in_place(part, out)
        except OSError as error:
            name = Path(str(error.filename or part))
            if not name.is_relative_to(part):
                raise
            raise OSError(error.errno, error.strerror, str(out / name.relative_to(part))) from error
        finally:
            shutil.rmtree(part, ignore_errors=True)

    def check_finished(self, folder: Path, otherwise: str = "") -> None:
        """See that what there is of this kind in a folder was finished. Raises InputError, which says what helps."""
        if not (folder / self.seal).exists() and any((folder / name).exists() for name in self.files):
            found = f"is not finished ({self.what} without {self.seal})"
            raise InputError(folder, found, f"a folder whose command has ended: call it again, with --force{otherwise}")

    def _check(self, out: Path, *, force: bool) -> None:
        """See that it may be written to `out`, which exists. Raises InputError."""
        found = {path.name for path in out.iterdir() if not self._is_leftover(path.name) and not _holds_charts(path)}
        ours = self.mark in found if self.mark else found <= set(self.files)
        if found and not ours:
            raise InputError(f"--out {out}", f"holds something else than {self.what}", "an empty folder")
        if found and not force:
            raise InputError(f"--out {out}", "is not empty", f"an empty folder, or --force to replace {self.what}")

    def _is_leftover(self, name: str) -> bool:
        """Whether this is of us, and nothing that anybody would miss."""
        whole = partly_written(name)
        ours = whole is not None and whole in {*self.files, self.mark}
        return ours or name == LOCK_FILE or name.startswith(PART_PREFIX)

    def _remove_leftovers(self, out: Path) -> None:
        """Remove what processes that were killed have left."""
        for path in list(out.iterdir()):
            if path.name != LOCK_FILE and self._is_leftover(path.name):
                shutil.rmtree(path) if path.is_dir() else path.unlink()

    def _put_in_place(self, part: Path, out: Path) -> None:
        if not (part / self.seal).exists():
            raise FileNotFoundError(errno.ENOENT, "was not written", str(part / self.seal))
        (out / self.seal).unlink(missing_ok=True)
        if _holds_charts(out / CHARTS):
            shutil.rmtree(out / CHARTS)
        for name in self.files:
            if name == self.seal:
                continue
            if (part / name).exists():
                (part / name).replace(out / name)
            else:
                (out / name).unlink(missing_ok=True)
        (part / self.seal).replace(out / self.seal)


def _holds_charts(path: Path) -> bool:
    """Whether this is a folder of charts, and of nothing else."""
    return path.name == CHARTS and path.is_dir() and all(one.suffix in _PICTURES for one in path.iterdir())


def _make_and_lock(out: Path, lock: ExitStack) -> None:
    """Make the folder and enter its lock. Raises OSError."""
    for attempt in range(_ATTEMPTS):
        try:
            with _interrupted_later():
                out.mkdir(parents=True, exist_ok=True)
                lock.enter_context(locked(out, f"--out {out}"))
            return
        except FileNotFoundError:  # somebody whose work failed has removed it meanwhile
            if attempt == _ATTEMPTS - 1:
                raise


@contextmanager
def _interrupted_later() -> Iterator[None]:
    """Deliver an interrupt when the block is over: in it, it could leave a file that no cleanup knows."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


LOCK_FILE: Final = ".dardis-lock"
"""A file in the folder, since a folder itself can't be locked on every file system. One that is left is harmless."""
_NO_LOCKS: Final = frozenset({errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP})
"""What a file system says that knows no locks."""


@contextmanager
def locked(folder: Path, place: object, name: str = LOCK_FILE) -> Iterator[None]:
    """Hold the lock of a folder that exists; its file is gone when the block ends.

    Locks of different names do not hinder each other. Raises InputError, which names `place`, when somebody else holds
    it, and OSError where its file can't be made.
    """
    path = folder / name
    lock = _taken(path, place)
    try:
        yield
    finally:
        try:
            # While it is held, so that nobody has taken it whose file this would be.
            if _is_at(path, lock):
                with suppress(OSError):
                    path.unlink()
        finally:
            os.close(lock)


def _taken(path: Path, place: object) -> int:
    """The open file that is locked, and to be found at `path`."""
    while True:
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            held = True
        except BlockingIOError:
            by = os.read(lock, 200).decode("utf-8", errors="replace").strip()
            os.close(lock)
            found = "is being written by another dardis" + (f" ({by})" if by else "")
            raise InputError(place, found, "it to end, or another folder") from None
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                os.close(lock)
                raise
            _warn(f"{place}: its file system has no locks ({error.strerror}): let no other dardis write there")
            held = False
        if not held or _is_at(path, lock):
            with suppress(OSError):  # on a full disk: it only says who holds it
                os.ftruncate(lock, 0)
                os.write(lock, f"process {os.getpid()} on {os.uname().nodename}\n".encode())
            return lock
        os.close(lock)  # whoever held it has removed its file meanwhile


def _is_at(path: Path, lock: int) -> bool:
    """Whether `path` names the file that is open."""
    try:
        return os.path.samestat(path.stat(follow_symlinks=False), os.fstat(lock))
    except OSError:
        return False


def _warn(line: str) -> None:
    print(f"dardis: warning: {line}", file=sys.stderr, flush=True)  # noqa: T201 (warnings go to standard error)


RUN_FOLDER: Final = OutFolder(
    "a run",
    ("jobs.csv", "metrics.json", "metrics_by.csv", "profile.csv", "power.csv", "switching.csv", "decisions.csv",
     "expectations.csv", "solver.csv", "report.html", "run.json"),
    seal="run.json",
)  # fmt: skip
SCALE_FOLDER: Final = OutFolder(
    "scale experiments", ("scale.csv", "predictions.csv", "faults.csv", "report.html", "scale.json"), seal="scale.json"
)
COMPARISON_FOLDER: Final = OutFolder(
    "a comparison",
    (
        "table.csv",
        "table.md",
        "table.tex",
        "differences.csv",
        "sweep.csv",
        "who_pays.csv",
        "clairvoyant.csv",
        "found.json",
        "report.html",
        "compare.csv",
    ),
    seal="compare.csv",
    mark="compare.json",
)
PLAN_FOLDER: Final = OutFolder(
    "a plan",
    (
        "profile.csv",
        "target.json",
        "onoff.csv",
        "schedule.csv",
        "summary.json",
        "picture.json",
        "report.html",
        "run.json",
    ),
    seal="run.json",
)
LOOP_FOLDER: Final = OutFolder(
    "days under the loop",
    (
        "summary.json",
        "days.csv",
        "beside.csv",
        "jobs.csv",
        "always_on_jobs.csv",
        "switching.csv",
        "target.json",
        "picture.json",
        "report.html",
        "run.json",
    ),
    seal="run.json",
)
