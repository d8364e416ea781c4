"""Forked child up to `exec`."""

from __future__ import annotations

import errno
import os
import resource
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NoReturn

from dardis.live.keeper import cgroups
from dardis.live.keeper.kernel import close_files, rename_new
from dardis.live.keeper.lease import Lease, boot_ms
from dardis.live.keeper.log_records import LEASE_LINE, failure_text, start_record_text
from dardis.live.keeper.process_tree import start_of
from dardis.live.keeper.run_request import StartRequest, User

CANT_START: Final = 127
"""Exit code; the start file has the reason."""
_OUTPUT_MODE: Final = 0o600
_JOB_UMASK: Final = 0o022


@dataclass(frozen=True, slots=True)
class RunSettings:
    """Settings common to all runs."""

    supervisor: str
    boot: str
    reset_signals: Sequence[signal.Signals]
    file_limits: tuple[int, int]
    lock: int
    """Held until the start file exists, so no new supervisor misses the run."""


@dataclass(frozen=True, slots=True)
class RunResources:
    """Run's resources."""

    start_file: str
    cgroup_paths: Sequence[str]
    """Cgroups to join after the fork."""
    address_space: int | None
    """Limit per process, bytes."""
    lease: Lease | None
    unix_ms: int
    boot_ms: int
    tmp: str | None
    """Private folder for temporary files, to be made."""


def exec_job(start: StartRequest, place: RunResources, setting: RunSettings) -> NoReturn:
    """Become the job, or exit. Written memory pages are copied first."""
    code = errno.EINVAL
    try:
        close_files(setting.lock)  # includes the connections of the supervisor
        os.setsid()
        for number in setting.reset_signals:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        file = _begin(place, setting.boot)
        os.close(setting.lock)
        code = CANT_START
        if place.lease is not None and place.lease.end_ms <= boot_ms():
            os.write(file, LEASE_LINE)  # the watchdog may have looked before the start file existed
            os._exit(code)
        try:
            _set_up(start, place, setting)
            start.env["DARDIS_RUN"] = f"{start.run}@{setting.supervisor}"
            program = start.argv[0]
            (os.execve if "/" in program else os.execvpe)(program, start.argv, start.env)
        except BaseException as error:
            os.write(file, failure_text(_error_text(error, start)))
            raise
    except OSError as error:
        if code != CANT_START:
            code = error.errno or code
    finally:
        os._exit(code)


def _begin(place: RunResources, boot: str) -> int:
    pid = os.getpid()
    start = start_of(pid)
    assert start is not None
    name = place.start_file.encode()
    new = name + b".new"
    file = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        os.write(file, start_record_text(pid, start, boot, place.unix_ms, place.boot_ms))
        rename_new(new, name)
    except OSError:
        os.unlink(new)
        raise
    return file


def _set_up(start: StartRequest, place: RunResources, setting: RunSettings) -> None:
    for path in place.cgroup_paths:
        cgroups.join(path)
    if start.cores is not None:
        try:
            os.sched_setaffinity(0, start.cores)
        except OSError as error:
            raise OSError(error.errno, f"cores {start.cores}: {error.strerror}") from error
    os.umask(_JOB_UMASK)
    if setting.file_limits[0] != setting.file_limits[1]:
        resource.setrlimit(resource.RLIMIT_NOFILE, setting.file_limits)
    if start.user is not None:
        _become_user(start.user)
    if place.tmp is not None:
        os.mkdir(place.tmp, 0o700)
        start.env["TMPDIR"] = place.tmp
    os.chdir(start.chdir)
    os.dup2(os.open(start.input or "/dev/null", os.O_RDONLY | os.O_CLOEXEC), 0)
    how = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOCTTY | os.O_CLOEXEC | (0 if start.append else os.O_TRUNC)
    os.dup2(os.open(start.output, how, _OUTPUT_MODE), 1)
    os.dup2(1 if start.error == start.output else os.open(start.error, how, _OUTPUT_MODE), 2)
    if place.address_space is not None:
        resource.setrlimit(resource.RLIMIT_AS, (place.address_space, place.address_space))


def _become_user(user: User) -> None:
    if os.geteuid() != 0:
        if (user.uid, user.gid) != (os.getuid(), os.getgid()):
            raise PermissionError(errno.EPERM, f"only a job supervisor of root runs jobs as user {user.uid}")
        return
    os.setgroups(user.groups)
    os.setresgid(user.gid, user.gid, user.gid)
    os.setresuid(user.uid, user.uid, user.uid)


def _error_text(error: BaseException, start: StartRequest) -> str:
    if not isinstance(error, OSError):
        return " ".join(f"{type(error).__name__}: {error}".split())
    place = None if isinstance(error.filename, bytes) else error.filename  # bytes: a folder of PATH, set by exec
    if place is None and error.errno in {errno.ENOEXEC, errno.ENOENT, errno.EACCES, errno.E2BIG}:
        place = start.argv[0]
    said = error.strerror or str(error)
    return " ".join(f"{place}: {said}".split()) if place is not None else said
