"""Processes in /proc: members of a run without a cgroup."""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK")
RESOURCE_ERRORS: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM})
RUN_VARIABLE: Final = "DARDIS_RUN"
"""Environment variable: `RUN@KEEPER`."""


@dataclass(frozen=True, slots=True)
class ProcessInfo:
    """Process."""

    pid: int
    parent: int
    session: int
    start: int
    """Ticks since boot."""
    dead: bool
    """No thread is left. /proc shows only the first thread."""
    run: str | None


@dataclass(frozen=True, slots=True)
class Root:
    """Root of the process tree of a run."""

    run: str
    pid: int | None
    start: int
    over: bool = False
    """Over; a reused number belongs to a new session."""


def start_of(pid: int) -> int | None:
    """Start of a process in ticks, or None."""
    fields = _stat(pid)
    return None if fields is None else int(fields[19])


def open_process(pid: int, start: int) -> int | None:
    """Open a process if its start matches, else None. Raises OSError."""
    try:
        file = os.pidfd_open(pid)
    except OSError as error:
        if error.errno in RESOURCE_ERRORS:
            raise
        return None
    try:
        is_meant = start_of(pid) == start
    except OSError:
        os.close(file)
        raise
    if is_meant:
        return file
    os.close(file)
    return None


class ProcessTree:
    """All processes, seen by a named supervisor."""

    def __init__(self, keeper: str) -> None:
        self._end = f"@{keeper}".encode()
        self._children = f"/proc/self/task/{os.getpid()}/children"

    def children(self) -> list[int]:
        """Child processes, including adopted orphans."""
        try:
            with open(self._children, "rb") as file:
                return list(map(int, file.read().split()))
        except FileNotFoundError:  # kernel built without this file
            return [one.pid for one in self.live_processes().values() if one.parent == os.getpid()]

    def read_process(self, pid: int) -> ProcessInfo | None:
        """Process, or None."""
        fields = _stat(pid)
        if fields is None:
            return None
        parent, threads, start = int(fields[1]), int(fields[17]), int(fields[19])
        over = fields[0] in {b"Z", b"X"}
        run = self._run_of(f"{pid}")
        if over and threads > 1:
            run = next(filter(None, (self._run_of(f"{pid}/task/{thread}") for thread in _threads(pid))), None)
        return ProcessInfo(pid, parent, int(fields[3]), start, over and threads <= 1, run)

    def live_processes(self) -> dict[int, ProcessInfo]:
        """All live processes."""
        found = (self.read_process(int(name)) for name in os.listdir("/proc") if name.isdigit())
        return {one.pid: one for one in found if one is not None and not one.dead}

    def _run_of(self, place: str) -> str | None:
        try:
            with open(f"/proc/{place}/environ", "rb") as file:
                environment = file.read()
        except OSError:
            return None
        mark = f"{RUN_VARIABLE}=".encode()
        for variable in environment.split(b"\0"):
            if variable.startswith(mark) and variable.endswith(self._end):
                return variable[len(mark) : -len(self._end)].decode(errors="replace")
        return None


def members(root: Root, all_seen: dict[int, ProcessInfo]) -> set[int]:
    """Run's processes, by tree, session and environment."""
    number = None if root.over and root.pid in all_seen else root.pid
    found = {
        one.pid
        for one in all_seen.values()
        if one.run == root.run or (number in {one.pid, one.session} and one.start >= root.start)
    }
    below: dict[int, list[int]] = {}
    for one in all_seen.values():
        below.setdefault(one.parent, []).append(one.pid)
    left = list(found)
    while left:
        for pid in below.get(left.pop(), ()):
            if pid not in found:
                found.add(pid)
                left.append(pid)
    return found - {os.getpid()}


def send_signal(pids: Iterable[int], number: signal.Signals) -> None:
    """Send a signal to existing processes."""
    for pid in pids:
        with suppress(OSError):
            os.kill(pid, number)


def _threads(pid: int) -> list[str]:
    try:
        return os.listdir(f"/proc/{pid}/task")
    except OSError:
        return []


def _stat(pid: int) -> list[bytes] | None:
    try:
        file = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        if error.errno in RESOURCE_ERRORS:
            raise
        return None
    try:
        return os.read(file, 4096).rpartition(b")")[2].split()
    except OSError:  # the process just ended
        return None
    finally:
        os.close(file)
