"""Output folders: kinds, lock of the writer, and seal of completeness.

The *seal* is removed first and written last, so no mixed folder looks finished.
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
CHARTS = "charts"
"""Of `dardis report --charts`; removed by new work."""
_PICTURES = frozenset({".pdf", ".svg"})
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO})
_ATTEMPTS = 100


@dataclass(frozen=True, slots=True)
class OutFolder:
    """Kind of folder: description, permitted file names, and seal.

    `state_file` marks it.
    """

    description: str
    files: tuple[str, ...]
    last_file: str
    state_file: str | None = None
    option: str = "--out"

    @contextmanager
    def lock(self, out: Path, *, force: bool) -> Iterator[None]:
        """Create and lock the folder during the block; a failure removes a new folder.

        Raises InputError, also for files that `force` may not replace.
        """
        new: list[Path] = []
        try:
            with ExitStack() as lock:
                try:
                    new += [path for path in (out, *out.parents) if not path.exists()]
                    _make_and_lock(out, lock, self._place(out))
                    self._check(out, force=force)
                    self._remove_leftovers(out)
                except OSError as error:
                    if error.errno in _NO_ROOM:
                        raise OSError(error.errno, error.strerror, str(out)) from None
                    expected = "a writable folder"
                    raise InputError(self._place(out), error.strerror or "cannot be created", expected) from None
                yield
        except BaseException:
            with suppress(OSError):  # folders with content stay
                for path in new:
                    path.rmdir()
            raise

    @contextmanager
    def replace_files(self, out: Path) -> Iterator[Path]:
        """Yield a temporary folder; after a successful block, its files replace those of `out`.

        Requires the lock. Raises OSError.
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
        """Raise InputError with advice if a result is unfinished."""
        if not (folder / self.last_file).exists() and any((folder / name).exists() for name in self.files):
            found = f"is not finished ({self.description} without {self.last_file})"
            raise InputError(folder, found, f"a finished folder: repeat the command with --force{otherwise}")

    def _check(self, out: Path, *, force: bool) -> None:
        found = {path.name for path in out.iterdir() if not self._is_leftover(path.name) and not _holds_charts(path)}
        ours = self.state_file in found if self.state_file else found <= set(self.files)
        if found and not ours:
            raise InputError(self._place(out), f"has other content than {self.description}", "an empty folder")
        if found and not force:
            raise InputError(
                self._place(out), "is not empty", f"an empty folder, or --force to replace {self.description}"
            )

    def _place(self, out: Path) -> str:
        return f"{self.option} {out}"

    def _is_leftover(self, name: str) -> bool:
        whole = partly_written(name)
        ours = whole is not None and whole in {*self.files, self.state_file}
        return ours or name == LOCK_FILE or name.startswith(PART_PREFIX)

    def _remove_leftovers(self, out: Path) -> None:
        for path in list(out.iterdir()):
            if path.name != LOCK_FILE and self._is_leftover(path.name):
                shutil.rmtree(path) if path.is_dir() else path.unlink()

    def _put_in_place(self, part: Path, out: Path) -> None:
        if not (part / self.last_file).exists():
            raise FileNotFoundError(errno.ENOENT, "was not written", str(part / self.last_file))
        (out / self.last_file).unlink(missing_ok=True)
        if _holds_charts(out / CHARTS):
            shutil.rmtree(out / CHARTS)
        for name in self.files:
            if name == self.last_file:
                continue
            if (out / name).is_dir():
                shutil.rmtree(out / name)
            if (part / name).exists():
                (part / name).replace(out / name)
            else:
                (out / name).unlink(missing_ok=True)
        (part / self.last_file).replace(out / self.last_file)


def _holds_charts(path: Path) -> bool:
    return path.name == CHARTS and path.is_dir() and all(one.suffix in _PICTURES for one in path.iterdir())


def _make_and_lock(out: Path, lock: ExitStack, place: str) -> None:
    for attempt in range(_ATTEMPTS):
        try:
            with _delay_interrupts():
                out.mkdir(parents=True, exist_ok=True)
                lock.enter_context(lock_folder(out, place))
            return
        except FileNotFoundError:  # removed meanwhile by a failed process
            if attempt == _ATTEMPTS - 1:
                raise


@contextmanager
def _delay_interrupts() -> Iterator[None]:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


LOCK_FILE: Final = ".dardis-lock"
"""Some file systems cannot lock folders."""
_NO_LOCKS: Final = frozenset({errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP})


@contextmanager
def lock_folder(folder: Path, place: object, name: str = LOCK_FILE) -> Iterator[None]:
    """Lock an existing folder during the block. Raises InputError if locked, and OSError."""
    path = folder / name
    lock = _acquire_lock(path, place)
    try:
        yield
    finally:
        try:
            # Unlink while locked: later the file could belong to another process.
            if _is_at(path, lock):
                with suppress(OSError):
                    path.unlink()
        finally:
            os.close(lock)


def _acquire_lock(path: Path, place: object) -> int:
    while True:
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            held = True
        except BlockingIOError:
            by = os.read(lock, 200).decode("utf-8", errors="replace").strip()
            os.close(lock)
            found = "is in use by another dardis process" + (f" ({by})" if by else "")
            raise InputError(place, found, "the end of that process, or another folder") from None
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                os.close(lock)
                raise
            _warn(f"{place}: the file system has no locks ({error.strerror}): no other dardis process may write there")
            held = False
        if not held or _is_at(path, lock):
            with suppress(OSError):  # on a full disk: the text is only informative
                os.ftruncate(lock, 0)
                os.write(lock, f"process {os.getpid()} on {os.uname().nodename}\n".encode())
            return lock
        os.close(lock)  # the previous holder removed the file


def _is_at(path: Path, lock: int) -> bool:
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
    last_file="run.json",
)  # fmt: skip
RECORDED_FILE: Final = "recorded.csv"
"""All jobs of a live service."""
HISTORY_FOLDER: Final = OutFolder("a history", (RECORDED_FILE, *RUN_FOLDER.files), last_file="run.json")
SCALE_FOLDER: Final = OutFolder(
    "scale experiments",
    ("scale.csv", "predictions.csv", "faults.csv", "report.html", "scale.json"),
    last_file="scale.json",
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
    last_file="compare.csv",
    state_file="compare.json",
)
PAPER_FOLDER: Final = OutFolder(
    "a paper's folder",
    (
        "paper.json", "README.md", "reproduce", "comparison.toml", "inputs", "table.tex", "differences.csv",
        "effects.tex", "ranks.csv", "pairs.csv", CHARTS, "references.bib", "SHA256SUMS",
    ),
    last_file="SHA256SUMS",
    state_file="paper.json",
    option="--paper",
)  # fmt: skip
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
    last_file="run.json",
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
    last_file="run.json",
)
