"""Runs of a job supervisor. For durable writes see `server`."""

from __future__ import annotations

import heapq
import os
import resource
import signal
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

from dardis.live.keeper import cgroups, kernel, process_tree, watchdog
from dardis.live.keeper.child import CANT_START, RunResources, RunSettings, exec_job
from dardis.live.keeper.keeper_log import Log, read_start_record
from dardis.live.keeper.lease import boot_ms, unix_ms
from dardis.live.keeper.log_records import (
    END_REASONS,
    FAILED,
    LEASE,
    UNKNOWN,
    Entry,
    RecoveredState,
    RunEntries,
    StartRecord,
    recovered_state,
)
from dardis.live.keeper.run_folders import RunFolders
from dardis.live.keeper.run_request import StartRequest, TimedSignal

LOST: Final = UNKNOWN + "it started before, and its record is lost"
UNSEEN: Final = UNKNOWN + "its job supervisor died before it ended"
KILL_AGAIN_MS: Final = 1000
REAP_WAIT_MS: Final = 5000
SLACK: Final = 1000
LOOK_MS: Final = (2, 500)
"""First and longest pause, ms."""


@dataclass(slots=True)
class ProcessExit:
    """Exit of the first process of a run."""

    code: int | None = None
    signal: int | None = None
    unix_ms: int | None = None
    why: str | None = None


@dataclass(slots=True)
class SupervisedRun:
    """Run without an exit record."""

    name: str
    walltime_ms: int | None
    grace_ms: int
    cgroup: str | None
    memory: str | None
    leased: bool
    tmp: str | None = None
    signal: TimedSignal | None = None
    unix_ms: int | None = None
    boot_ms: int = 0
    pid: int | None = None
    start: int = 0
    pidfd: int | None = None
    seen_dead_ms: tuple[int, int] | None = None
    """First: ms of CLOCK_BOOTTIME and Unix ms."""
    adopted: bool = False
    has_outlived_lease: bool = False
    why: str | None = None
    due: int | None = None
    ended: ProcessExit | None = None
    pause: int = LOOK_MS[0]
    untrusted_until_ms: int = 0
    """Exit not trusted before, ms of CLOCK_BOOTTIME."""
    is_oom_killed: bool = False

    @property
    def root(self) -> process_tree.Root:
        """Root of the process tree."""
        return process_tree.Root(self.name, self.pid, self.start, over=self.ended is not None)


class SupervisedRuns:
    """All runs of a folder. `uncommitted` holds uncommitted entries."""

    def __init__(
        self, folder: Path, log: Log, setting: RunSettings, own: cgroups.CgroupParents, watch: Callable[[int], None],
        hold_ms: int = 0,
    ) -> None:  # fmt: skip
        """`watch` gets a process file, readable at exit; then call `on_process_end`.

        A foreign SIGKILL is trusted after `hold_ms`: the supervisor may be next.
        """
        self._hold_ms = hold_ms
        self._folder, self._log, self._setting, self._groups, self._watch = folder, log, setting, own, watch
        self._forest = process_tree.ProcessTree(setting.supervisor)
        self._tmp = RunFolders(setting)
        self._guards = watchdog.Watchdog(str(folder), setting.supervisor, setting.boot, watch)
        self._leased: dict[str, SupervisedRun] = {}
        self.live: dict[str, SupervisedRun] = {}
        self.uncommitted: list[Entry] = []
        self._by_pid: dict[int, SupervisedRun] = {}
        self._by_pidfd: dict[int, SupervisedRun] = {}
        self._leaving: dict[str, SupervisedRun] = {}
        self._agenda: list[tuple[int, str]] = []
        self._clones = True

    # ------------------------------------------------------------------------------------------------------------------

    def record(self, name: str) -> Mapping[str, Any]:
        """Record of a known run."""
        over = self._log.state.runs[name].over
        if over is not None:
            return over
        run = self.live[name]
        return {
            "run": name, "state": "running", "pid": run.pid, "started_ms": run.unix_ms, "ended_ms": None, "code": None,
            "signal": None, "why": None,
        }  # fmt: skip

    def records(self) -> list[Mapping[str, Any]]:
        """Records of all runs started or failed."""
        return [self.record(name) for name in self._log.state.runs if name in self.live or self.is_over(name)]

    def intended(self) -> list[str]:
        """Runs that are intended but not started."""
        return [name for name, kept in self._log.state.runs.items() if kept.over is None and name not in self.live]

    def is_over(self, name: str) -> bool:
        """Whether the exit is durable."""
        kept = self._log.state.runs.get(name)
        return kept is not None and kept.over is not None

    def forget(self, names: Iterable[str]) -> None:
        """Forget ended runs. The start file must go first."""
        for name in names:
            if self.is_over(name):
                for path in (self._start_file(name), f"{self._start_file(name)}.new"):  # `.new`: killed while starting
                    with suppress(OSError):
                        os.unlink(path)
                self.uncommitted.append(["forget", name])

    def _start_file(self, name: str) -> str:
        return f"{self._folder}/runs/{name}"

    # ------------------------------------------------------------------------------------------------------------------
    # Beginning.

    def intent(self, start: StartRequest) -> Entry:
        """Entry to commit before the run starts."""
        own, limited = self._groups, start.memory_bytes is not None
        cgroup = None if own.runs is None else f"{own.runs}/{start.run}"
        memory = f"{own.memory}/{start.run}" if limited and own.memory is not None else None
        tmp = self._tmp.path(start.run, self._log.state.incarnations) if start.tmp else None
        return ["intent", start.run, {
            "boot": self._setting.boot, "walltime_ms": start.walltime_ms, "grace_ms": start.grace_ms, "cgroup": cgroup,
            "memory": memory, "lease": start.lease, "tmp": tmp,
            "signal": None if start.signal is None else asdict(start.signal),
        }]  # fmt: skip

    def begin(self, starts: Sequence[StartRequest]) -> None:
        """Fork runs with durable intents."""
        handled = {signal.SIGTERM, signal.SIGCHLD}  # the child must not lose signals meant for the job
        signal.pthread_sigmask(signal.SIG_BLOCK, handled)
        try:
            for start in starts:
                self._begin(start)
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, handled)
        self.clean_up()  # some runs may have failed to start

    def _begin(self, start: StartRequest) -> None:
        run = self._run_of(start.run, self._log.state.runs[start.run])
        run.unix_ms, run.boot_ms = unix_ms(), boot_ms()
        run.start = run.boot_ms * process_tree.TICKS_PER_S // 1000 - 1
        self.live[run.name] = run
        try:
            if run.leased:
                self._leased[run.name] = run
                self._guards.start()
            if os.path.exists(self._start_file(run.name)):
                self._end_first(run, ProcessExit(why=LOST))
                return
            run.pid = self._fork(run, start)
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            self._end_first(run, ProcessExit(unix_ms=unix_ms(), why=f"{FAILED}{where}{error.strerror}"))
            return
        self._by_pid[run.pid] = run
        self._limit(run)

    def _fork(self, run: SupervisedRun, start: StartRequest) -> int:
        joins = []
        for path in {run.cgroup, run.memory} - {None}:
            assert path is not None
            cgroups.make(path)
            joins.append(path)
        limit = start.memory_bytes
        if run.memory is not None and limit is not None:
            cgroups.limit_memory(run.memory, limit, self._groups.memory_version)
            limit = None
        assert run.unix_ms is not None
        lease = self._guards.lease if run.leased else None
        place = RunResources(self._start_file(run.name), joins, limit, lease, run.unix_ms, run.boot_ms, run.tmp)
        if self._clones and run.cgroup is not None and self._groups.runs_version == cgroups.V2:
            entered = [path for path in joins if path != run.cgroup]
            inside = replace(place, cgroup_paths=entered)
            cgroup = os.open(run.cgroup, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                return kernel.fork_into(cgroup) or exec_job(start, inside, self._setting)
            except OSError:  # old kernel; other errors occur again below
                self._clones = False
            finally:
                os.close(cgroup)
        return os.fork() or exec_job(start, place, self._setting)

    def _limit(self, run: SupervisedRun) -> None:
        dues = [] if run.signal is None else [run.signal.after_ms]
        if run.walltime_ms is not None:
            dues.append(run.walltime_ms)
        if dues:
            self._schedule(run, run.boot_ms + min(dues) + 1)

    def _run_of(self, name: str, kept: RunEntries) -> SupervisedRun:
        intent = kept.intent
        assert intent is not None
        leased = bool(intent.get("lease"))  # absent in logs of old supervisors
        timed = None if kept.signalled else intent.get("signal")
        return SupervisedRun(
            name, intent["walltime_ms"], intent["grace_ms"], intent["cgroup"], intent["memory"], leased,
            intent.get("tmp"), None if timed is None else TimedSignal(**timed),
        )  # fmt: skip

    # ------------------------------------------------------------------------------------------------------------------
    # Takeover after the death of a previous supervisor.

    def adopt(self) -> None:
        """Take over all runs without an exit record. Raises OSError."""
        for name, kept in self._log.state.runs.items():
            if kept.over is None:
                self._adopt(name, kept)
        if self._leased:
            self._guards.start()
        self._guards.replace_older()
        self._tmp.remove_others({run.tmp for run in self.live.values()})
        self.clean_up()

    def _adopt(self, name: str, kept: RunEntries) -> None:
        run = self.live[name] = self._run_of(name, kept)
        run.adopted = True
        assert kept.intent is not None
        boot = self._setting.boot
        begun = self._read_start_file(name) if kept.intent["boot"] == boot else None
        if begun is not None:
            run.unix_ms, run.boot_ms = begun.unix_ms, begun.boot_ms
            if begun.boot == boot:
                run.pid, run.start, run.pidfd = (
                    begun.pid,
                    begun.start,
                    process_tree.open_process(begun.pid, begun.start),
                )
        what = recovered_state(kept.intent["boot"], boot, begun, lives=run.pidfd is not None)
        if kept.ending is not None:
            run.why = kept.ending["why"]
        elif begun is not None and begun.lease:
            run.why = LEASE
        if what is RecoveredState.RUNS:
            assert run.pidfd is not None
            if run.leased:
                self._leased[name] = run
            self._by_pidfd[run.pidfd] = run
            self._watch(run.pidfd)
            if kept.ending is not None:
                self._schedule(run, kept.ending["kill_ms"])
            elif run.why is not None:
                self._schedule(run, 0)
            else:
                self._limit(run)
        elif what is RecoveredState.FAILED:
            assert begun is not None
            self._end_first(run, ProcessExit(why=f"{FAILED}{begun.failed}"))
        elif what is RecoveredState.ENDED_UNSEEN and run.why is not None:
            self._end_first(run, ProcessExit())
        else:
            self._end_first(run, ProcessExit(why=END_REASONS[what]))

    def _read_start_file(self, name: str) -> StartRecord | None:
        with suppress(FileExistsError):
            os.close(os.open(self._start_file(name), os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        return read_start_record(self._start_file(name))

    # ------------------------------------------------------------------------------------------------------------------
    # Ends.

    def reap(self) -> None:
        """Reap children that have ended."""
        with suppress(ChildProcessError):
            while (found := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)) is not None:
                run = self._by_pid.pop(found.si_pid, None)
                self._tmp.removers.discard(found.si_pid)
                if run is not None and run.cgroup is None:
                    with suppress(OSError):  # the process group ID stays reserved until the child is reaped
                        os.killpg(found.si_pid, signal.SIGKILL)
                os.waitpid(found.si_pid, 0)
                if run is not None:
                    exited = found.si_code == os.CLD_EXITED
                    status = found.si_status
                    self._end_first(
                        run, self._process_exit(run, status if exited else None, None if exited else status)
                    )
        self.clean_up()

    def on_process_end(self, pidfd: int) -> None:
        """Handle the end of an adopted process or the watchdog."""
        if not self._guards.on_process_end(pidfd):
            self._take_status(self._by_pidfd.pop(pidfd))

    def _take_status(self, run: SupervisedRun) -> None:
        assert run.pidfd is not None
        try:
            status = kernel.exit_status(run.pidfd)
        except OSError:
            status = None
        else:
            now = boot_ms()
            if run.seen_dead_ms is None:
                run.seen_dead_ms = now, unix_ms()
            if status is None and now < run.seen_dead_ms[0] + REAP_WAIT_MS:
                run.pause = min(run.pause * 2, LOOK_MS[1])
                self._schedule(run, now + run.pause)
                return
        os.close(run.pidfd)
        run.pidfd, run.pause = None, LOOK_MS[0]
        if status is None:
            ended = self._process_exit(run, None, None)
            if ended.why is None and run.why is None:
                ended.why = UNSEEN
        else:
            code = os.waitstatus_to_exitcode(status)
            ended = self._process_exit(run, *((code, None) if code >= 0 else (None, -code)))
        self._end_first(run, ended)
        self.clean_up()

    def _process_exit(self, run: SupervisedRun, code: int | None, number: int | None) -> ProcessExit:
        if run.why is None and self._was_killed_by_watchdog(run, number):
            run.why = LEASE
        why = None
        if code or (code is None and number is None):
            try:
                begun = read_start_record(self._start_file(run.name))
                why = begun and begun.failed
            except FileNotFoundError:
                why = f"its start record can't be written: {os.strerror(code or 0)}"
            except (OSError, ValueError, TypeError) as error:
                why = f"its start record can't be read: {error}" if code == CANT_START else None
        when = unix_ms() if run.seen_dead_ms is None else run.seen_dead_ms[1]
        return ProcessExit(code, number, when) if why is None else ProcessExit(unix_ms=when, why=f"{FAILED}{why}")

    def _was_killed_by_watchdog(self, run: SupervisedRun, number: int | None) -> bool:
        if not run.leased:
            return False
        if number == signal.SIGKILL and (run.has_outlived_lease or self._guards.lease.end_ms <= boot_ms()):
            return True
        with suppress(OSError, ValueError, TypeError):
            begun = read_start_record(self._start_file(run.name))
            return begun is not None and begun.lease
        return False

    def _end_first(self, run: SupervisedRun, ended: ProcessExit) -> None:
        run.ended, run.due = ended, None
        killed = ended.signal == signal.SIGKILL or ended.code == 128 + signal.SIGKILL
        if killed and run.why is None and self._hold_ms:
            if run.adopted:  # the signal may also have killed the previous supervisor
                ended.why = UNSEEN
            else:
                run.untrusted_until_ms = boot_ms() + self._hold_ms
        self._leaving[run.name] = run
        self._leased.pop(run.name, None)

    def renew(self, end_ms: int) -> None:
        """Extend leases to `end_ms` (CLOCK_BOOTTIME). Expired leases stay expired."""
        self._end_leases()
        self._guards.lease.renew(end_ms)

    def _end_leases(self) -> None:
        now = boot_ms()
        if now < self._guards.lease.end_ms:
            return
        while self._leased:
            _, run = self._leased.popitem()
            run.has_outlived_lease = True
            with suppress(OSError):  # a process that cannot be read now is killed
                first = None if run.pid is None else self._forest.read_process(run.pid)
                if first is None or first.dead:  # `look` ends the remaining processes
                    continue
            if run.why is None:
                run.why = LEASE
                self.uncommitted.append(["ending", run.name, {"why": LEASE, "kill_ms": now}])
            self._schedule(run, now)

    def end(self, names: Iterable[str], why: str) -> None:
        """Send SIGTERM to runs; SIGKILL follows after the grace time."""
        found = [run for name in names if (run := self.live.get(name)) and run.why is None and run.ended is None]
        seen = self._survey() if any(run.cgroup is None for run in found) else {}
        now = boot_ms()
        for run in found:
            run.why = why
            self.uncommitted.append(["ending", run.name, {"why": why, "kill_ms": now + run.grace_ms}])
            self._schedule(run, now + run.grace_ms)
            if run.cgroup is not None:
                found_there = set(cgroups.processes(run.cgroup))
                process_tree.send_signal(found_there | self._first_child_pids(run), signal.SIGTERM)
            else:
                process_tree.send_signal(
                    process_tree.members(run.root, seen) | self._first_child_pids(run), signal.SIGTERM
                )

    def set_untrusted_reason(self, why: str) -> None:
        """Set the reason of all untrusted exits."""
        for run in self._leaving.values():
            if run.untrusted_until_ms and run.ended is not None:
                run.ended.why = why
                run.untrusted_until_ms = 0

    def next_due(self) -> int | None:
        """Time of the next `perform_due_actions`, ms of CLOCK_BOOTTIME."""
        dues = [self._due_of_runs(), self._guards.due]
        if self._leased:
            dues.append(self._guards.lease.end_ms)
        return min((due for due in dues if due is not None), default=None)

    def _due_of_runs(self) -> int | None:
        while self._agenda:
            due, name = self._agenda[0]
            run = self.live.get(name)
            if run is not None and run.due == due:
                return due
            heapq.heappop(self._agenda)
        return None

    def perform_due_actions(self) -> None:
        """Perform all due actions."""
        if self._leased:
            self._end_leases()
        self._guards.start_or_end(needed=bool(self._leased))
        now, late, look = boot_ms(), [], False
        while (due := self._due_of_runs()) is not None and due <= now:
            run = self.live[heapq.heappop(self._agenda)[1]]
            run.due = None
            if run.ended is not None:
                look = True
            elif run.pidfd is not None and run.pidfd not in self._by_pidfd:
                self._take_status(run)
            elif run.why is None and run.signal is not None and run.boot_ms + run.signal.after_ms <= now:
                self._send_timed_signal(run, run.signal)
            elif run.why is None:
                late.append(run.name)
            else:
                self._schedule(run, now + KILL_AGAIN_MS)
                self._kill(run)
        if late:
            self.end(late, "walltime")
        if look:
            self.clean_up()

    def _send_timed_signal(self, run: SupervisedRun, timed: TimedSignal) -> None:
        run.signal = None
        self.uncommitted.append(["signalled", run.name])
        self._send(run, timed.number, first_only=timed.first_only)
        self._limit(run)

    def send_signal(self, names: Iterable[str], number: int, *, first_only: bool) -> None:
        """Send a signal to all processes of runs, or to the first of each."""
        for name in names:
            if (run := self.live.get(name)) is not None and run.ended is None:
                self._send(run, number, first_only=first_only)

    def _send(self, run: SupervisedRun, number: int, *, first_only: bool) -> None:
        pids = self._first_child_pids(run) or ({run.pid} if run.pid is not None else set())
        if not first_only:
            members = process_tree.members(run.root, self._survey()) if run.cgroup is None else ()
            pids = pids.union(members if run.cgroup is None else cgroups.processes(run.cgroup))
        process_tree.send_signal(pids, signal.Signals(number))

    def _schedule(self, run: SupervisedRun, due: int) -> None:
        run.due = due
        if len(self._agenda) > SLACK + 4 * len(self.live):  # most entries are outdated
            self._agenda = [(one.due, one.name) for one in self.live.values() if one.due is not None and one is not run]
            heapq.heapify(self._agenda)
        heapq.heappush(self._agenda, (due, run.name))

    def _kill(self, run: SupervisedRun) -> None:
        if run.cgroup is not None:
            cgroups.kill(run.cgroup)
            process_tree.send_signal(self._first_child_pids(run), signal.SIGKILL)
        else:
            first = self._first_child_pids(run)  # first, because its exit status may copy that of its children
            process_tree.send_signal([*first, *process_tree.members(run.root, self._survey()) - first], signal.SIGKILL)

    def _survey(self) -> dict[int, process_tree.ProcessInfo]:
        with suppress(OSError):
            return self._forest.live_processes()
        return {}

    def _first_child_pids(self, run: SupervisedRun) -> set[int]:
        return {pid for pid in (run.pid,) if pid is not None and self._by_pid.get(pid) is run}

    def clean_up(self) -> None:
        """Kill remaining processes of ended runs; record runs without any."""
        left = {run.name for run in self._leaving.values() if run.cgroup is None}
        if left:
            with suppress(OSError):  # unreadable processes may still exist
                left = self._kill_left_processes()
        for run in list(self._leaving.values()):
            if run.cgroup is None:
                gone = run.name not in left
            else:
                if run.memory is not None:
                    run.is_oom_killed |= cgroups.has_oom_kill(run.memory)
                gone = cgroups.remove(run.cgroup)
            if gone and boot_ms() < run.untrusted_until_ms:
                self._schedule(run, run.untrusted_until_ms)
                continue
            if gone:
                del self._leaving[run.name]
                self._record_exit(run)
                continue
            if run.cgroup is not None:
                cgroups.kill(run.cgroup)
            self._schedule(run, boot_ms() + run.pause)
            run.pause = min(run.pause * 2, LOOK_MS[1])

    def _kill_left_processes(self) -> set[str]:
        leaving = {run.name: run for run in self._leaving.values() if run.cgroup is None}
        left: set[str] = set()
        own = {*self._by_pid, self._guards.pid, *self._tmp.removers}
        strays = [pid for pid in self._forest.children() if pid not in own]
        doomed = [run for run in leaving.values() if run.adopted and run.pid is not None]
        for pid in strays:
            seen = self._forest.read_process(pid)
            if seen is None or seen.dead:
                continue
            owner = self._owner(seen)
            if owner in leaving:
                doomed.append(leaving[owner])
            elif owner not in self.live and not self._may_be_needed(seen):
                process_tree.send_signal([pid], signal.SIGKILL)
                left.update(run.name for run in leaving.values() if run.start <= seen.start)
        if doomed:
            all_seen = self._forest.live_processes()
            for run in doomed:
                if found := process_tree.members(run.root, all_seen):
                    process_tree.send_signal(found, signal.SIGKILL)
                    left.add(run.name)
        return left

    def _owner(self, seen: process_tree.ProcessInfo) -> str | None:
        if seen.run is not None:
            return seen.run
        owners = [run for run in self.live.values() if run.pid == seen.session and run.start <= seen.start]
        # The kernel may reuse a number for a later run.
        return max(owners, key=lambda run: run.boot_ms).name if owners else None

    def _may_be_needed(self, seen: process_tree.ProcessInfo) -> bool:
        return any(run.ended is None and run.start <= seen.start for run in self.live.values())

    def _record_exit(self, run: SupervisedRun) -> None:
        ended = run.ended
        assert ended is not None
        if run.memory is not None:
            run.is_oom_killed |= cgroups.has_oom_kill(run.memory)
            cgroups.remove(run.memory)
        why = ended.why or run.why or "exit"
        record = {
            "run": run.name, "state": "unknown" if why.startswith(UNKNOWN) else "over", "pid": run.pid,
            "started_ms": run.unix_ms, "ended_ms": ended.unix_ms, "code": ended.code, "signal": ended.signal,
            "why": why,
        }  # fmt: skip
        if run.is_oom_killed:
            record["memory"] = True
        if run.tmp is not None:
            self._tmp.remove(run.tmp)
        self.uncommitted.append(["over", run.name, record])

    def on_commit(self, entries: Iterable[Entry]) -> list[Mapping[str, Any]]:
        """Handle committed entries; return new exit records."""
        records = []
        for kind, name, *more in entries:
            if kind == "over":
                self.live.pop(name, None)
                records.append(more[0])
        return records

    def close(self) -> None:
        """End the watchdog and remove the cgroups."""
        self._guards.end()
        self._groups.clean()


def raise_open_files_limit() -> tuple[int, int]:
    """Raise the limit on open files. Return the old limits."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return soft, hard
