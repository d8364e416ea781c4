"""Log of the job supervisor on disk."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

from dardis.live.keeper.log_records import (
    DamagedLogError,
    Entry,
    LogState,
    StartRecord,
    line_of,
    parse_start_record,
    read_log,
    waits_for_disk,
)

SLACK: Final = 2000


class Log:
    """Folder's log."""

    def __init__(self, folder: Path) -> None:
        """Open or create the log; cut a torn end. Raises OSError and DamagedLogError."""
        self._path = folder / "log"
        self._file = -1
        try:
            data = self._path.read_bytes()
        except FileNotFoundError:
            data = b""
        try:
            read = read_log(data)
        except DamagedLogError as error:
            raise DamagedLogError(f"{self._path}: {error}") from error
        self.state: LogState = read.state
        self._size, self._entries = read.intact_bytes, read.entries
        self._uncut = len(data) > read.intact_bytes
        if not data:
            self._compact()
            return
        self._file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        self._cut()
        self._compact_if_large()

    def commit(self, entries: Iterable[Entry]) -> None:
        """Commit entries atomically. Raises OSError if nothing was committed."""
        entries = list(entries)
        left = memoryview(line_of(entries))
        length = len(left)
        self._cut()
        self._uncut = True
        try:
            while left:
                left = left[os.write(self._file, left) :]
            if waits_for_disk(entries):
                os.fdatasync(self._file)
        except OSError:
            with suppress(OSError):
                self._cut()
            raise
        self._uncut = False
        self._size += length
        self._entries += len(entries)
        for entry in entries:
            self.state.apply(entry)
        self._compact_if_large()

    def _cut(self) -> None:
        if self._uncut:
            os.ftruncate(self._file, self._size)
            os.fdatasync(self._file)
            self._uncut = False

    def _compact_if_large(self) -> None:
        if self._entries > SLACK + 4 * len(self.state.runs):
            with suppress(OSError):  # the old log remains valid
                self._compact()

    def _compact(self) -> None:
        entries = list(self.state.entries())
        line = line_of(entries)
        new = self._path.with_name("log.new")
        file = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            left = memoryview(line)
            while left:
                left = left[os.write(file, left) :]
            os.fsync(file)
            new.replace(self._path)
        except OSError:
            os.close(file)
            with suppress(OSError):
                new.unlink()
            self._entries = 0  # delays the next attempt
            raise
        if self._file >= 0:
            os.close(self._file)
        self._file, self._size, self._entries, self._uncut = file, len(line), len(entries), False
        sync_folder(self._path.parent)


def read_start_record(path: str) -> StartRecord | None:
    """Read a start file. None: the run cannot start. Raises OSError."""
    return parse_start_record(read_without_atime(path))


def read_without_atime(path: str) -> bytes:
    """Read a file without an access time update, which could hang. Raises OSError."""
    with open(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOATIME), "rb") as file:
        return file.read()


def sync_folder(folder: Path) -> None:
    """Sync the names in a folder."""
    file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    finally:
        os.close(file)
