"""Watchdog: kills runs after their lease, even without a job supervisor.

The jobs may then start on another host. Reads only log and start files. A new supervisor replaces the watchdog. Without
a supervisor, a watchdog named in the lease file continues until all leased runs are dead.
"""

from __future__ import annotations

import os
import select
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, NoReturn

from dardis.live.keeper import cgroups, kernel, process_tree
from dardis.live.keeper.keeper_log import read_start_record, read_without_atime
from dardis.live.keeper.lease import Lease, boot_ms
from dardis.live.keeper.log_records import LEASE_LINE, DamagedLogError, StartRecord, read_log

AGAIN_MS: Final = 20
"""First pause between SIGKILLs, ms."""
DISK_WAIT_MS: Final = 500
"""Longest, before killing, ms."""
LOOK_MS: Final = 1000
LINGERS_MS: Final = 2000
"""After the last leased run, ms."""
START_AGAIN_MS: Final = 1000
NAME: Final = b"dardis-guard"


class Watchdog:
    """At most one watchdog process of a supervisor."""

    def __init__(self, folder: str, keeper: str, boot: str, watch: Callable[[int], None]) -> None:
        self._folder, self._keeper, self._boot, self._watch = folder, keeper, boot, watch
        self.lease = Lease(f"{folder}/lease", boot)
        self.pid: int | None = None
        self._pidfd = -1
        self.due: int | None = None
        self._older = process_tree.open_process(*self.lease.watchdog) if self.lease.watchdog[0] else None

    def start(self) -> None:
        """Start the watchdog unless running. Raises OSError."""
        if self.pid is not None:
            return
        maker = os.getpid()
        pid = os.fork()
        if pid == 0:
            _run_watchdog(self._folder, self._keeper, self._boot, self.lease, maker)
        try:
            self._pidfd = os.pidfd_open(pid)
        except OSError:  # the exit would go unnoticed
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            raise
        self.pid = pid
        self.lease.watchdog = pid, process_tree.start_of(pid) or 0  # not reaped yet, so the process ID is unique
        self._watch(self._pidfd)

    def start_or_end(self, *, needed: bool) -> None:
        """Start a needed watchdog; end an unused watchdog later."""
        now = boot_ms()
        if needed == (self.pid is not None):
            self.due = None
        elif self.due is None and not needed:
            self.due = now + LINGERS_MS
        elif self.due is None or self.due <= now:
            self.due = now + (START_AGAIN_MS if needed else LINGERS_MS)
            with suppress(OSError):
                self.start() if needed else self.end()

    def replace_older(self) -> None:
        """End the watchdog of a previous supervisor."""
        if self._older is not None:
            with suppress(OSError):
                signal.pidfd_send_signal(self._older, signal.SIGKILL)
            os.close(self._older)
            self._older = None

    def on_process_end(self, pidfd: int) -> bool:
        """Whether the readable file belongs to the watchdog."""
        if self.pid is None or pidfd != self._pidfd:
            return False
        os.close(pidfd)
        self.pid = None
        return True

    def end(self) -> None:
        """Kill the watchdog; `on_process_end` follows."""
        if self.pid is not None:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)


def _write_end_reason(begun: Sequence[str]) -> None:
    pid = os.fork()
    if pid == 0:
        try:
            for path in begun:
                with suppress(OSError):
                    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
                    os.write(file, LEASE_LINE)
                    os.close(file)
        finally:
            os._exit(0)
    ended = os.pidfd_open(pid)
    poll = select.poll()
    poll.register(ended, select.POLLIN)
    poll.poll(DISK_WAIT_MS)
    os.close(ended)
    os.waitpid(pid, os.WNOHANG)


def _run_watchdog(folder: str, keeper: str, boot: str, lease: Lease, maker: int) -> NoReturn:
    try:
        kernel.close_files()  # includes the lock and the connections of the supervisor
        os.setsid()
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # only SIGKILL ends the watchdog
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        kernel.set_process_name(NAME)
        with suppress(OSError):
            os.nice(-10)  # high priority on a busy host
        _watch_lease(folder, keeper, boot, lease, maker)
    except BaseException:  # noqa: BLE001 (printed as a traceback)
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(1)


def _watch_lease(folder: str, keeper: str, boot: str, lease: Lease, maker: int) -> None:
    processes = process_tree.ProcessTree(keeper)
    timer = kernel.boot_timer()
    poll = select.poll()
    poll.register(timer, select.POLLIN)
    marked: set[str] = set()
    said, again = "", AGAIN_MS
    while True:
        due, left = lease.end_ms, True
        if due <= boot_ms():
            pause = LOOK_MS
            try:
                left = end_leased(folder, boot, lease, processes, maker, marked)
                if left:
                    pause, again = again, min(2 * again, LOOK_MS)  # some processes take long to die
                else:
                    again = AGAIN_MS
            except (OSError, DamagedLogError) as error:
                if said != str(error):
                    said = str(error)
                    sys.stderr.write(f"watchdog: {said}\n")
                    sys.stderr.flush()
            due = boot_ms() + pause
        else:
            again = AGAIN_MS
        if os.getppid() != maker and not (left and lease.watchdog[0] == os.getpid()):
            return
        kernel.set_timer(timer, due)
        poll.poll()


@dataclass(frozen=True, slots=True)
class _IntendedRun:
    name: str
    cgroup: str | None
    leased: bool
    begun: StartRecord | None
    """None: not started. A leased run cannot start any more."""


def end_leased(
    folder: str, boot: str, lease: Lease, processes: process_tree.ProcessTree, maker: int, marked: set[str]
) -> bool:
    """Kill leased runs. Return whether any lived. Raises OSError and DamagedLogError.

    `marked`: runs whose start file has the end reason.
    """
    since = boot_ms() * process_tree.TICKS_PER_S // 1000
    known = read_log(read_without_atime(f"{folder}/log")).state
    meant = [
        _IntendedRun(
            name, kept.intent["cgroup"], bool(kept.intent.get("lease")), _start_record(f"{folder}/runs/{name}")
        )
        for name, kept in known.runs.items()
        if kept.intent is not None and kept.intent["boot"] == boot
    ]
    leased = [(run, run.begun) for run in meant if run.leased and run.begun is not None]
    if not leased:
        return False
    if lease.end_ms > boot_ms():  # renewed meanwhile; runs started since then were not read
        return True
    firsts = {run.name: first for run, begun in leased if (first := _open_first_process(begun, processes)) is not None}
    try:
        new = [name for name in firsts if name not in marked and known.runs[name].ending is None]
        if new:
            with suppress(OSError):  # killing matters more than the reason
                _write_end_reason([f"{folder}/runs/{name}" for name in new])
            marked.update(new)
        for first in firsts.values():
            with suppress(OSError):
                signal.pidfd_send_signal(first, signal.SIGKILL)
    finally:
        for first in firsts.values():
            os.close(first)
    left = bool(firsts)
    for run, _ in leased:
        if run.cgroup is not None and next(cgroups.processes(run.cgroup), None) is not None:
            cgroups.kill(run.cgroup)
            left = True
    found: set[int] = set()
    if any(run.cgroup is None for run, _ in leased):
        seen = processes.live_processes()
        for run, begun in leased:
            if run.cgroup is None:
                root = process_tree.Root(run.name, begun.pid, begun.start, over=run.name not in firsts)
                found |= process_tree.members(root, seen)
        found |= _orphaned_processes(meant, seen, maker, since)
        process_tree.send_signal(found, signal.SIGKILL)
    return left or bool(found)


def _start_record(path: str) -> StartRecord | None:
    with suppress(FileNotFoundError, ValueError, TypeError):  # the supervisor handles unreadable files
        return read_start_record(path)
    return None


def _open_first_process(begun: StartRecord, processes: process_tree.ProcessTree) -> int | None:
    with suppress(OSError):
        seen = processes.read_process(begun.pid)
        return None if seen is None or seen.dead else process_tree.open_process(begun.pid, begun.start)
    return None


def _orphaned_processes(
    meant: Sequence[_IntendedRun], seen: Mapping[int, process_tree.ProcessInfo], maker: int, since: int
) -> set[int]:
    """Orphaned processes of unknown runs, unless of a run without a lease.

    Skips processes since tick `since`: `meant` may lack their runs.
    """
    firsts = {run.begun.pid for run in meant if run.begun is not None}
    return {
        one.pid
        for one in seen.values()
        if one.parent == maker and one.run is None and one.pid != os.getpid() and not firsts & {one.pid, one.session}
        and one.start < since
        and all(run.leased for run in meant if run.begun is None or run.begun.start <= one.start)
    }  # fmt: skip
