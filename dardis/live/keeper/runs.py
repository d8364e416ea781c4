"""The runs of a keeper: begun, watched, ended. In which order what is durable: see `server`."""

from __future__ import annotations

import heapq
import os
import resource
import signal
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from dardis.live.keeper import forest, groups, kernel
from dardis.live.keeper.asked import Start
from dardis.live.keeper.child import CANT_START, Place, Setting, become
from dardis.live.keeper.clocks import boot_ms, unix_ms
from dardis.live.keeper.fates import FAILED, UNKNOWN, WORDS, Begun, Fate, fate, read_begun
from dardis.live.keeper.log import Log
from dardis.live.keeper.records import Entry, Kept

LOST: Final = UNKNOWN + "it has begun before, and what was known of it is lost"
UNSEEN: Final = UNKNOWN + "its keeper died before it ended"
KILL_AGAIN_MS: Final = 1000
"""After this, what SIGKILL has not ended yet gets another."""
LOOK_MS: Final = (2, 500)
"""How soon it is looked again at what is left of a run: at first, and at most."""


@dataclass(slots=True)
class Ended:
    """How a run's first process has ended."""

    code: int | None = None
    signal: int | None = None
    unix_ms: int | None = None
    why: str | None = None
    """What is told, whatever else is known."""


@dataclass(slots=True)
class Run:
    """A run that isn't over."""

    name: str
    walltime_ms: int | None
    grace_ms: int
    cgroup: str | None
    memory: str | None
    """The cgroup that holds its memory."""
    unix_ms: int | None = None
    boot_ms: int = 0
    pid: int | None = None
    start: int = 0
    """Its first process began at this tick or later."""
    pidfd: int | None = None
    """Of a run that was adopted."""
    adopted: bool = False
    why: str | None = None
    """Why it was told to end."""
    due: int | None = None
    """When something is to be done about it, ms of CLOCK_BOOTTIME."""
    ended: Ended | None = None
    pause: int = LOOK_MS[0]
    lacked_memory: bool = False
    """The kernel has killed something of it for its memory limit."""

    @property
    def root(self) -> forest.Root:
        """Its tree of processes."""
        return forest.Root(self.name, self.pid, self.start, over=self.ended is not None)


class Runs:
    """All runs of a folder. What is to be made durable lies in `unsaid`."""

    def __init__(
        self, folder: Path, log: Log, setting: Setting, own: groups.Groups, watch: Callable[[int], None]
    ) -> None:
        """`watch` is told a file that is readable when an adopted run has ended, for `has_ended`."""
        self._folder, self._log, self._setting, self._groups, self._watch = folder, log, setting, own, watch
        self._forest = forest.Forest(setting.keeper)
        self.live: dict[str, Run] = {}
        self.unsaid: list[Entry] = []
        self._by_pid: dict[int, Run] = {}
        self._by_pidfd: dict[int, Run] = {}
        self._leaving: dict[str, Run] = {}
        self._agenda: list[tuple[int, str]] = []
        self._clones = True

    # ------------------------------------------------------------------------------------------------------------------
    # What is known.

    def record(self, name: str) -> Mapping[str, Any]:
        """What is told of a run that is known."""
        over = self._log.known.runs[name].over
        if over is not None:
            return over
        run = self.live[name]
        return {
            "run": name, "state": "running", "pid": run.pid, "started_ms": run.unix_ms, "ended_ms": None, "code": None,
            "signal": None, "why": None,
        }  # fmt: skip

    def records(self) -> list[Mapping[str, Any]]:
        """All that have begun, or could have."""
        return [self.record(name) for name in self._log.known.runs if name in self.live or self.is_over(name)]

    def intended(self) -> list[str]:
        """Those that may begin, and were not told to."""
        return [name for name, kept in self._log.known.runs.items() if kept.over is None and name not in self.live]

    def is_over(self, name: str) -> bool:
        """Whether its end is durable."""
        kept = self._log.known.runs.get(name)
        return kept is not None and kept.over is not None

    def forget(self, names: Iterable[str]) -> None:
        """Know those that are over no longer.

        What one had begun with goes first: as long as that is there, the run is known.
        """
        for name in names:
            if self.is_over(name):
                with suppress(OSError):
                    os.unlink(self._begun(name))
                self.unsaid.append(["forget", name])

    def _begun(self, name: str) -> str:
        """The file that says that a run has begun."""
        return f"{self._folder}/runs/{name}"

    # ------------------------------------------------------------------------------------------------------------------
    # Beginning.

    def intent(self, start: Start) -> Entry:
        """What must be durable before a run begins."""
        own, limited = self._groups, start.memory_bytes is not None
        cgroup = None if own.whole is None else f"{own.whole}/{start.run}"
        memory = f"{own.memory}/{start.run}" if limited and own.memory is not None else None
        return ["intent", start.run, {
            "boot": self._setting.boot, "walltime_ms": start.walltime_ms, "grace_ms": start.grace_ms, "cgroup": cgroup,
            "memory": memory,
        }]  # fmt: skip

    def begin(self, starts: Sequence[Start]) -> None:
        """Fork runs whose intents are durable."""
        handled = {signal.SIGTERM, signal.SIGCHLD}  # what reaches a child is for the job
        signal.pthread_sigmask(signal.SIG_BLOCK, handled)
        try:
            for start in starts:
                self._begin(start)
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, handled)
        self.look()  # at those that could not begin

    def _begin(self, start: Start) -> None:
        run = self._run_of(start.run, self._log.known.runs[start.run])
        run.unix_ms, run.boot_ms = unix_ms(), boot_ms()
        run.start = run.boot_ms * forest.TICKS_PER_S // 1000 - 1
        self.live[run.name] = run
        try:
            if os.path.exists(self._begun(run.name)):
                self._end_first(run, Ended(why=LOST))
                return
            run.pid = self._fork(run, start)
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            self._end_first(run, Ended(unix_ms=unix_ms(), why=f"{FAILED}{where}{error.strerror}"))
            return
        self._by_pid[run.pid] = run
        if run.walltime_ms is not None:
            self._schedule(run, run.boot_ms + run.walltime_ms)

    def _fork(self, run: Run, start: Start) -> int:
        joins = []
        for path in {run.cgroup, run.memory} - {None}:
            assert path is not None
            groups.make(path)
            joins.append(path)
        limit = start.memory_bytes
        if run.memory is not None and limit is not None:
            groups.hold_memory(run.memory, limit, self._groups.memory_version)
            limit = None
        assert run.unix_ms is not None
        place = Place(self._begun(run.name), joins, limit, run.unix_ms, run.boot_ms)
        if self._clones and run.cgroup is not None and self._groups.whole_version == groups.V2:
            entered = [path for path in joins if path != run.cgroup]
            inside = Place(place.begun, entered, limit, run.unix_ms, run.boot_ms)
            cgroup = os.open(run.cgroup, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                return kernel.fork_into(cgroup) or become(start, inside, self._setting)
            except OSError:  # an older kernel; if it was something else, that happens again
                self._clones = False
            finally:
                os.close(cgroup)
        return os.fork() or become(start, place, self._setting)

    def _run_of(self, name: str, kept: Kept) -> Run:
        intent = kept.intent
        assert intent is not None
        return Run(name, intent["walltime_ms"], intent["grace_ms"], intent["cgroup"], intent["memory"])

    # ------------------------------------------------------------------------------------------------------------------
    # What a keeper finds that begins where another one died.

    def adopt(self) -> None:
        """Take over what isn't over by the log. Raises OSError."""
        for name, kept in self._log.known.runs.items():
            if kept.over is None:
                self._adopt(name, kept)
        self.look()

    def _adopt(self, name: str, kept: Kept) -> None:
        run = self.live[name] = self._run_of(name, kept)
        run.adopted = True
        assert kept.intent is not None
        boot = self._setting.boot
        begun = self._what_begun(name) if kept.intent["boot"] == boot else None
        if begun is not None:
            run.unix_ms, run.boot_ms = begun.unix_ms, begun.boot_ms
            if begun.boot == boot:
                run.pid, run.start, run.pidfd = begun.pid, begun.start, _open_process(begun.pid, begun.start)
        what = fate(kept.intent["boot"], boot, begun, lives=run.pidfd is not None)
        if kept.ending is not None:
            run.why = kept.ending["why"]
        if what is Fate.RUNS:
            assert run.pidfd is not None
            self._by_pidfd[run.pidfd] = run
            self._watch(run.pidfd)
            if kept.ending is not None:
                self._schedule(run, kept.ending["kill_ms"])
            elif run.walltime_ms is not None:
                self._schedule(run, run.boot_ms + run.walltime_ms)
        elif what is Fate.FAILED:
            assert begun is not None
            self._end_first(run, Ended(why=f"{FAILED}{begun.failed}"))
        elif what is Fate.ENDED_UNSEEN and run.why is not None:
            self._end_first(run, Ended())
        else:
            self._end_first(run, Ended(why=WORDS[what]))

    def _what_begun(self, name: str) -> Begun | None:
        """What a run has begun with; if it has not, it can't any more."""
        with suppress(FileExistsError):
            os.close(os.open(self._begun(name), os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        return self._read_begun(name)

    def _read_begun(self, name: str) -> Begun | None:
        with open(self._begun(name), "rb") as file:
            return read_begun(file.read())

    # ------------------------------------------------------------------------------------------------------------------
    # Ends.

    def reap(self) -> None:
        """Take in the children that have ended."""
        with suppress(ChildProcessError):
            while (found := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)) is not None:
                run = self._by_pid.pop(found.si_pid, None)
                if run is not None and run.cgroup is None:
                    with suppress(OSError):  # its number is its own, and its group's, as long as it isn't taken in
                        os.killpg(found.si_pid, signal.SIGKILL)
                os.waitpid(found.si_pid, 0)
                if run is not None:
                    exited = found.si_code == os.CLD_EXITED
                    status = found.si_status
                    self._end_first(run, self._told_by(run, status if exited else None, None if exited else status))
        self.look()

    def has_ended(self, pidfd: int) -> None:
        """An adopted run's first process is over."""
        self._take_status(self._by_pidfd.pop(pidfd))

    def _take_status(self, run: Run) -> None:
        """Ask how an adopted run has ended, again if its parent may not have taken it in yet."""
        assert run.pidfd is not None
        try:
            status = kernel.exit_status(run.pidfd)
        except OSError:
            status = None
        else:
            if status is None and run.pause < LOOK_MS[1]:
                run.pause *= 2
                self._schedule(run, boot_ms() + run.pause)
                return
        os.close(run.pidfd)
        run.pidfd = None
        if status is None:
            ended = self._told_by(run, None, None)
            if ended.why is None and run.why is None:
                ended.why = UNSEEN
        else:
            code = os.waitstatus_to_exitcode(status)
            ended = self._told_by(run, *((code, None) if code >= 0 else (None, -code)))
        self._end_first(run, ended)
        self.look()

    def _told_by(self, run: Run, code: int | None, number: int | None) -> Ended:
        """How it has ended, if it had become the job at all."""
        why = None
        if code or (code is None and number is None):
            try:
                begun = self._read_begun(run.name)
                why = begun and begun.failed
            except FileNotFoundError:
                why = f"it could not write that it begins: {os.strerror(code or 0)}"
            except (OSError, ValueError, TypeError) as error:
                why = f"nobody can read what it had begun with: {error}" if code == CANT_START else None
        if why is not None:
            return Ended(unix_ms=unix_ms(), why=f"{FAILED}{why}")
        return Ended(code, number, unix_ms())

    def _end_first(self, run: Run, ended: Ended) -> None:
        run.ended, run.due = ended, None
        self._leaving[run.name] = run

    def end(self, names: Iterable[str], why: str) -> None:
        """Tell runs to end."""
        found = [run for name in names if (run := self.live.get(name)) and run.why is None and run.ended is None]
        seen = self._forest.survey() if any(run.cgroup is None for run in found) else {}
        now = boot_ms()
        for run in found:
            run.why = why
            self.unsaid.append(["ending", run.name, {"why": why, "kill_ms": now + run.grace_ms}])
            self._schedule(run, now + run.grace_ms)
            if run.cgroup is not None:
                found_there = set(groups.processes(run.cgroup))
                forest.send(found_there | self._own_first(run), signal.SIGTERM)
            else:
                forest.send(forest.members(run.root, seen), signal.SIGTERM)

    def next_due(self) -> int | None:
        """When `pass_time` has something to do, ms of CLOCK_BOOTTIME."""
        while self._agenda:
            due, name = self._agenda[0]
            run = self.live.get(name)
            if run is not None and run.due == due:
                return due
            heapq.heappop(self._agenda)
        return None

    def pass_time(self) -> None:
        """Do what is due."""
        now, late, look = boot_ms(), [], False
        while (due := self.next_due()) is not None and due <= now:
            run = self.live[heapq.heappop(self._agenda)[1]]
            run.due = None
            if run.ended is not None:
                look = True
            elif run.pidfd is not None and run.pidfd not in self._by_pidfd:
                self._take_status(run)
            elif run.why is None:
                late.append(run.name)
            else:
                self._schedule(run, now + KILL_AGAIN_MS)
                self._kill(run)
        if late:
            self.end(late, "walltime")
        if look:
            self.look()

    def _schedule(self, run: Run, due: int) -> None:
        run.due = due
        heapq.heappush(self._agenda, (due, run.name))

    def _kill(self, run: Run) -> None:
        if run.cgroup is not None:
            groups.kill(run.cgroup)
            forest.send(self._own_first(run), signal.SIGKILL)
        else:
            forest.send(forest.members(run.root, self._forest.survey()), signal.SIGKILL)

    def _own_first(self, run: Run) -> set[int]:
        """Its first process, if that is a child of this keeper; it may not have entered its cgroup yet."""
        return {pid for pid in (run.pid,) if pid is not None and self._by_pid.get(pid) is run}

    def look(self) -> None:
        """End what is left of runs whose first process is over; those of which nothing is left are over."""
        left = self._left_in_forest() if any(run.cgroup is None for run in self._leaving.values()) else set()
        for run in list(self._leaving.values()):
            if run.cgroup is None:
                gone = run.name not in left
            else:
                if run.memory is not None:
                    run.lacked_memory |= groups.lacked_memory(run.memory)
                gone = groups.remove(run.cgroup)
            if gone:
                del self._leaving[run.name]
                self._over(run)
                continue
            if run.cgroup is not None:
                groups.kill(run.cgroup)
            self._schedule(run, boot_ms() + run.pause)
            run.pause = min(run.pause * 2, LOOK_MS[1])

    def _left_in_forest(self) -> set[str]:
        """Kill what is left of runs without a cgroup, and name those of which something was left."""
        leaving = {run.name: run for run in self._leaving.values() if run.cgroup is None}
        left: set[str] = set()
        strays = [pid for pid in self._forest.children() if pid not in self._by_pid]
        doomed = [run for run in leaving.values() if run.adopted and run.pid is not None]
        for pid in strays:
            seen = self._forest.see(pid)
            if seen is None or seen.dead:
                continue
            owner = self._owner(seen)
            if owner in leaving:
                doomed.append(leaving[owner])
            elif owner not in self.live and not self._may_be_needed(seen):
                forest.send([pid], signal.SIGKILL)
                left.update(run.name for run in leaving.values() if run.start <= seen.start)
        if doomed:
            all_seen = self._forest.survey()
            for run in doomed:
                if found := forest.members(run.root, all_seen):
                    forest.send(found, signal.SIGKILL)
                    left.add(run.name)
        return left

    def _owner(self, seen: forest.Seen) -> str | None:
        """Whose a process is."""
        if seen.run is not None:
            return seen.run
        owners = [run for run in self.live.values() if run.pid == seen.session and run.start <= seen.start]
        # A number that is free again may have been given to a later run.
        return max(owners, key=lambda run: run.boot_ms).name if owners else None

    def _may_be_needed(self, seen: forest.Seen) -> bool:
        """Whether a process of which nobody knows whose it is may be of a run that goes on: one that is older."""
        return any(run.ended is None and run.start <= seen.start for run in self.live.values())

    def _over(self, run: Run) -> None:
        ended = run.ended
        assert ended is not None
        if run.memory is not None:
            run.lacked_memory |= groups.lacked_memory(run.memory)
            groups.remove(run.memory)
        why = ended.why or run.why or "exit"
        record = {
            "run": run.name, "state": "unknown" if why.startswith(UNKNOWN) else "over", "pid": run.pid,
            "started_ms": run.unix_ms, "ended_ms": ended.unix_ms, "code": ended.code, "signal": ended.signal,
            "why": why,
        }  # fmt: skip
        if run.lacked_memory:
            record["memory"] = True
        self.unsaid.append(["over", run.name, record])

    def said(self, entries: Iterable[Entry]) -> list[Mapping[str, Any]]:
        """What was committed: the records of the runs that are over by that."""
        records = []
        for kind, name, *more in entries:
            if kind == "over":
                self.live.pop(name, None)
                records.append(more[0])
        return records

    def close(self) -> None:
        """Leave no cgroups behind."""
        self._groups.clean()


def _open_process(pid: int, start: int) -> int | None:
    """A file for a process, if that is the one which began at `start`."""
    try:
        file = os.pidfd_open(pid)
    except OSError:
        return None
    if forest.start_of(pid) == start:
        return file
    os.close(file)
    return None


def open_files() -> tuple[int, int]:
    """Allow this process as many open files as may be; the limits from before."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return soft, hard
