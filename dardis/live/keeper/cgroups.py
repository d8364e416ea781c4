"""Cgroups, by path: end whole runs and limit memory."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

V2, V1 = "v2", "v1"
SETTINGS: Final = ("auto", V2, V1, "none")
"""`auto` prefers version 2."""


@dataclass(frozen=True, slots=True)
class CgroupParents:
    """Parent cgroups of runs; None: not available."""

    runs: str | None = None
    runs_version: str | None = None
    memory: str | None = None
    memory_version: str | None = None

    def clean(self) -> None:
        """Remove the cgroups if empty."""
        for path in {self.runs, self.memory} - {None}:
            remove(str(path))


def find_groups(name: str, setting: str) -> CgroupParents:
    """Find usable cgroups called `name`."""
    whole = whole_version = memory = memory_version = None
    if setting in {"auto", V2} and (base := _own_cgroup(None)) is not None:
        whole = _usable(f"{base}/{name}", "cgroup.kill")
        if whole is not None:
            whole_version = V2
            if _offers_memory(base, whole):
                memory, memory_version = whole, V2
    if setting in {"auto", V1}:
        if whole is None and (base := _own_cgroup("freezer")) is not None:
            whole = _usable(f"{base}/{name}", "freezer.state")
            whole_version = None if whole is None else V1
        if memory is None and (base := _own_cgroup("memory")) is not None:
            memory = _usable(f"{base}/{name}", "memory.limit_in_bytes")
            memory_version = None if memory is None else V1
    return CgroupParents(whole, whole_version, memory, memory_version)


def _own_cgroup(controller: str | None) -> str | None:
    mount = None
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, place, kind, options, *_ = line.split()
        if kind == ("cgroup2" if controller is None else "cgroup") and controller in {None, *options.split(",")}:
            mount = place
    if mount is None:
        return None
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        number, controllers, path = line.split(":", 2)
        if (number == "0") if controller is None else controller in controllers.split(","):
            own = f"{mount}{path}".rstrip("/")
            return own if os.path.isdir(own) else mount  # the path in a container may differ
    return None


def _usable(path: str, needed: str) -> str | None:
    within = f"{path}/trial"
    try:
        make(path)
        if os.path.exists(f"{path}/{needed}"):
            make(within)
            child = os.fork()
            if child == 0:
                try:
                    join(within)
                    os._exit(0)
                finally:
                    os._exit(1)
            if os.waitpid(child, 0)[1] == 0:
                return path
        remove(path)
    except OSError:
        with suppress(OSError):
            remove(path)
    finally:
        with suppress(OSError):
            remove(within)
    return None


def _offers_memory(base: str, path: str) -> bool:
    if "memory" not in _read(f"{path}/cgroup.controllers").split():
        if "memory" not in _read(f"{base}/cgroup.controllers").split():
            return False
        with suppress(OSError):
            # Controllers can be enabled only without processes in the cgroup: if alone there, the supervisor moves
            # down.
            if _read(f"{base}/cgroup.procs").split() == [str(os.getpid())]:
                make(f"{path}/keeper")
                join(f"{path}/keeper")
            _write(f"{base}/cgroup.subtree_control", "+memory")
    try:
        _write(f"{path}/cgroup.subtree_control", "+memory")
    except OSError:
        return False
    return True


def make(path: str) -> None:
    """Create a cgroup unless present."""
    with suppress(FileExistsError):
        os.mkdir(path)


def join(path: str) -> None:
    """Move this process into a cgroup."""
    _write(f"{path}/cgroup.procs", "0")


def limit_memory(path: str, size: int, version: str | None) -> None:
    """Limit memory to `size` bytes, including swap if supported."""
    if version == V2:
        _write(f"{path}/memory.max", str(size))
        with suppress(OSError):
            _write(f"{path}/memory.swap.max", "0")
        with suppress(OSError):
            _write(f"{path}/memory.oom.group", "1")
    else:
        _write(f"{path}/memory.limit_in_bytes", str(size))
        with suppress(OSError):
            _write(f"{path}/memory.memsw.limit_in_bytes", str(size))


def has_oom_kill(path: str) -> bool:
    """Whether the kernel killed a process at the memory limit."""
    for name in ("memory.events", "memory.oom_control"):
        for line in _read(f"{path}/{name}").splitlines():
            word, _, count = line.partition(" ")
            if word == "oom_kill":
                return count.strip() != "0"
    return False


def processes(path: str) -> Iterator[int]:
    """Yield processes, including nested cgroups."""
    for folder in [path, *_within(path)]:
        yield from map(int, _read(f"{folder}/cgroup.procs").split())


def send_signal(path: str, number: signal.Signals) -> None:
    """Send a signal to all processes."""
    for pid in processes(path):
        with suppress(OSError):
            os.kill(pid, number)


def kill(path: str) -> None:
    """Kill all processes, including new forks."""
    with suppress(OSError):
        _write(f"{path}/cgroup.kill", "1")
        send_signal(path, signal.SIGKILL)  # the kernel skips processes whose first thread has ended
        return
    try:
        with suppress(OSError):
            _write(f"{path}/freezer.state", "FROZEN")
        send_signal(path, signal.SIGKILL)
    finally:
        with suppress(OSError):
            _write(f"{path}/freezer.state", "THAWED")


def remove(path: str) -> bool:
    """Remove a cgroup and nested cgroups. False while processes remain."""
    try:
        os.rmdir(path)
    except FileNotFoundError:
        return True
    except OSError:
        within = _within(path)
        return bool(within) and all(map(remove, within)) and remove(path)
    return True


def _within(path: str) -> list[str]:
    try:
        with os.scandir(path) as found:
            return [one.path for one in found if one.is_dir(follow_symlinks=False)]
    except OSError:
        return []


def _read(path: str) -> str:
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return ""


def _write(path: str, text: str) -> None:
    file = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(file, text.encode())
    finally:
        os.close(file)
