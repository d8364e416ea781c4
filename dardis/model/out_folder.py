"""Folders that a command writes: who may write into one, and all files of it whole, or none."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from dardis.model.errors import InputError

PART_PREFIX = ".part-"
"""How the folder begins in which files are written before they are put in place."""


@dataclass(frozen=True, slots=True)
class OutFolder:
    """A kind of folder: what it holds, for people, and the names of all files that may be in it."""

    what: str
    files: tuple[str, ...]

    def check(self, out: Path, *, force: bool) -> None:
        """See that it may be written to `out`. Raises InputError.

        That must be absent, empty, or with `force` hold nothing but files of this kind.
        """
        try:
            found = {path.name for path in out.iterdir()} if out.exists() else set()
        except OSError as error:
            raise InputError(f"--out {out}", error.strerror or "can't be read", "a folder") from None
        leftovers = {name for name in found if name.startswith(PART_PREFIX)}
        if found - leftovers - set(self.files):
            raise InputError(f"--out {out}", f"holds something else than {self.what}", "an empty folder")
        if found and not force:
            raise InputError(f"--out {out}", "is not empty", f"an empty folder, or --force to replace {self.what}")

    def make(self, out: Path) -> None:
        """Make the folder, with nothing in it that was never finished. Raises InputError where it can't be."""
        try:
            out.mkdir(parents=True, exist_ok=True)
            for leftover in out.glob(f"{PART_PREFIX}*"):
                shutil.rmtree(leftover)
            tempfile.TemporaryFile(dir=out).close()
        except OSError as error:
            raise InputError(
                f"--out {out}", error.strerror or "can't be made", "a folder that can be written"
            ) from None

    @contextmanager
    def made(self, out: Path) -> Iterator[None]:
        """Make the folder for what the block is to write there; a block that fails leaves no new folder behind."""
        new = [path for path in (out, *out.parents) if not path.exists()]
        self.make(out)
        try:
            yield
        except BaseException:
            with suppress(OSError):  # one that holds something stays
                for path in new:
                    path.rmdir()
            raise

    @contextmanager
    def written_together(self, out: Path) -> Iterator[Path]:
        """Yield a folder to write files to; when the block ends they take the place of what `out` holds.

        When the block fails, nothing in `out` has changed.
        """
        part = Path(tempfile.mkdtemp(prefix=PART_PREFIX, dir=out))
        try:
            yield part
            for name in self.files:
                if (part / name).exists():
                    (part / name).replace(out / name)
                else:
                    (out / name).unlink(missing_ok=True)
        finally:
            shutil.rmtree(part, ignore_errors=True)
