"""Standard input of `srun` tasks: a file, or copies of a pipe for tasks on this host."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from threading import Condition, Thread
from typing import Final

_BLOCK: Final = 1 << 16
MOST_AHEAD: Final = 64 << 20
"""Bytes that standard input is read ahead of the fastest task."""


def input_file() -> Path | None:
    """File that is standard input from its begin; None: pipe, terminal or nothing."""
    try:
        kind = os.fstat(0).st_mode
    except OSError:
        return None
    if not stat.S_ISREG(kind) or os.lseek(0, 0, os.SEEK_CUR) != 0:
        return None
    path = Path("/proc/self/fd/0").readlink()
    return path if path.is_file() else None


def has_stream() -> bool:
    """Whether standard input is a pipe, a socket or the rest of a file."""
    try:
        kind = os.fstat(0).st_mode
    except OSError:
        return False
    return stat.S_ISREG(kind) or stat.S_ISFIFO(kind) or stat.S_ISSOCK(kind)


class InputStream:
    """Copies standard input to a named pipe per task. Each reads at its own pace."""

    def __init__(self, stack: ExitStack, tasks: int) -> None:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="srun-")))
        self.prefix = f"{folder}/in."
        self._written: dict[int, int] = {}
        self._spool = stack.enter_context((folder / "spool").open("w+b", buffering=0))
        self._news, self._size, self._is_over = Condition(), 0, False
        for rank in range(tasks):
            os.mkfifo(f"{self.prefix}{rank}", 0o600)
        self.has_data = False

    def begin(self, ranks: Sequence[int]) -> None:
        """Copy to the tasks of these ranks from now on."""
        self._written = dict.fromkeys(ranks, 0)
        Thread(target=self._read, daemon=True).start()
        for rank in ranks:
            Thread(target=self._write, args=(rank,), daemon=True).start()

    def end(self, rank: int) -> None:
        """Stop waiting for a task that has ended."""
        with self._news:
            self._written.pop(rank, None)
            self._news.notify_all()

    def _read(self) -> None:
        while True:
            with self._news:
                while self._written and self._size - max(self._written.values()) > MOST_AHEAD:
                    self._news.wait()
                if not self._written:  # all tasks have ended
                    return
            data = os.read(0, _BLOCK)
            with self._news:
                if data:
                    os.pwrite(self._spool.fileno(), data, self._size)
                    self._size += len(data)
                    self.has_data = True
                else:
                    self._is_over = True
                self._news.notify_all()
                if not data:
                    return

    def _write(self, rank: int) -> None:
        at = 0
        try:
            pipe = os.open(f"{self.prefix}{rank}", os.O_WRONLY | os.O_CLOEXEC)  # waits for the task
        except FileNotFoundError:  # srun ends
            return
        with suppress(BrokenPipeError):  # the task reads no more
            while True:
                with self._news:
                    while self._size == at and not self._is_over:
                        self._news.wait()
                    if self._size == at:
                        break
                    data = os.pread(self._spool.fileno(), _BLOCK, at)
                at += os.write(pipe, data)
                with self._news:
                    if rank in self._written:
                        self._written[rank] = at
                        self._news.notify_all()
        os.close(pipe)
        self.end(rank)
