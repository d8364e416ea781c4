"""Command `python -m dardis.live.keeper FOLDER [--foreground | --step] [--cgroups=auto|v2|v1|none]`.

With `--step`, e.g. in Slurm, SIGTERM also ends all runs.
"""

from __future__ import annotations

import fcntl
import gc
import os
import signal
import socket
import sys
import time
import zlib
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Final, NoReturn

from dardis.live.keeper import PROTOCOL, kernel
from dardis.live.keeper.cgroups import SETTINGS, find_groups
from dardis.live.keeper.child import RunSettings
from dardis.live.keeper.keeper_log import Log
from dardis.live.keeper.log_records import DamagedLogError
from dardis.live.keeper.runs import SupervisedRuns, raise_open_files_limit
from dardis.live.keeper.server import KILL_DELAY_MS, Server, log_error

USAGE: Final = "expected FOLDER [--foreground | --step] [--cgroups=auto|v2|v1|none]"
FOREGROUND, STEP = "--foreground", "--step"
MISTAKE: Final = 2
LONGEST_SOCKET: Final = 107
LOCK_TRIES, LOCK_PAUSE_S = 40, 0.05
"""A child of a killed supervisor may hold the lock briefly."""


class UsageError(Exception):
    """User error, in a line."""


def main(words: list[str]) -> int:
    """Supervise a folder until stopped. Return the exit code."""
    try:
        folder, as_what, setting = _read(words)
        folder.mkdir(mode=0o700, exist_ok=True)
        kernel.close_files()
        if as_what is not None:
            _supervise(folder, setting, None, step=as_what == STEP)
            return 0
        return _in_background(folder, setting)
    except (UsageError, DamagedLogError) as error:
        log_error(str(error))
        return MISTAKE
    except OSError as error:
        log_error(f"{error.filename or words[0]}: {error.strerror}")
        return MISTAKE


def _read(words: list[str]) -> tuple[Path, str | None, str]:
    folders = [word for word in words if not word.startswith("--")]
    as_what, setting = None, "auto"
    for word in words:
        if word in {FOREGROUND, STEP}:
            as_what = word
        elif word.startswith("--cgroups=") and word.partition("=")[2] in SETTINGS:
            setting = word.partition("=")[2]
        elif word.startswith("--"):
            raise UsageError(f"{word}: {USAGE}")
    if len(folders) != 1:
        raise UsageError(USAGE)
    folder = Path(folders[0]).absolute()
    if len(os.fsencode(folder / "keeper.sock")) > LONGEST_SOCKET:
        raise UsageError(f"{folder}: the path is too long for a socket ({LONGEST_SOCKET} bytes with keeper.sock)")
    return folder, as_what, setting


def _in_background(folder: Path, setting: str) -> int:
    here, there = os.pipe2(os.O_CLOEXEC)
    if os.fork() == 0:
        os.close(here)
        _be_detached(folder, setting, os.fdopen(there, "wb", buffering=0))
    os.close(there)
    with open(here, "rb") as file:
        said = file.read()
    if said == b"ready":
        return 0
    log_error(said.decode(errors="replace") or "ended before it listened")
    return MISTAKE


def _be_detached(folder: Path, setting: str, teller: BinaryIO) -> NoReturn:
    code = MISTAKE
    try:
        os.setsid()
        null = os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC)
        out = os.open(folder / "keeper.out", os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        for source, to in ((null, 0), (out, 1), (out, 2)):
            os.dup2(source, to)
        os.close(null)
        os.close(out)
        _supervise(folder, setting, teller, step=False)
        code = 0
    except (UsageError, DamagedLogError, OSError) as error:
        if teller.closed:
            sys.excepthook(*sys.exc_info())
        else:
            said = f"{error.filename or folder}: {error.strerror}" if isinstance(error, OSError) else str(error)
            with suppress(OSError):
                teller.write(said.encode())
    except BaseException:  # noqa: BLE001 (printed as a traceback)
        sys.excepthook(*sys.exc_info())
        code = 1
    finally:
        os._exit(code)


def _supervise(folder: Path, cgroups: str, teller: BinaryIO | None, *, step: bool) -> None:
    os.umask(0o077)
    os.chdir("/")
    lock = _lock(folder)
    wake, woken = socket.socketpair()
    for end in (wake, woken):
        end.setblocking(False)
    asked: list[int] = []
    for number in (signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    signal.set_wakeup_fd(woken.fileno(), warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    signal.signal(signal.SIGTERM, lambda number, _frame: asked.append(number))
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    kernel.become_subreaper()
    (folder / "runs").mkdir(mode=0o700, exist_ok=True)
    log = Log(folder)
    name = f"{folder.stat().st_ino:x}{zlib.crc32(os.fsencode(folder)):08x}"
    own = find_groups(f"dardis-{name}", cgroups)
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    to_default = [number for number in signal.valid_signals() if _is_changed(number)]
    host = {
        "protocol": PROTOCOL, "host": socket.gethostname(), "boot": boot, "pid": os.getpid(),
        "cgroup": own.runs_version, "memory": own.memory_version,
    }  # fmt: skip
    listener = _listener(folder / "keeper.sock")
    server = Server(log, listener, wake, host, asked, step=step)
    setting = RunSettings(name, boot, to_default, raise_open_files_limit(), lock)
    runs = SupervisedRuns(folder, log, setting, own, server.watch, KILL_DELAY_MS if step else 0)
    runs.adopt()
    gc.collect()
    gc.freeze()  # forks share unmodified pages
    if teller is not None:
        with suppress(OSError), teller:  # the starting process may be gone
            teller.write(b"ready")
    server.serve(runs)
    signal.set_wakeup_fd(-1)
    (folder / "keeper.sock").unlink(missing_ok=True)
    runs.close()
    os.close(lock)


def _is_changed(number: signal.Signals) -> bool:
    with suppress(OSError, ValueError):
        return signal.getsignal(number) not in {signal.SIG_DFL, None}
    return False


def _lock(folder: Path) -> int:
    file = os.open(folder / "keeper.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    for _ in range(LOCK_TRIES):
        with suppress(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return file
        time.sleep(LOCK_PAUSE_S)
    raise UsageError(f"{folder}: another job supervisor uses it")


def _listener(path: Path) -> socket.socket:
    path.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
    listener.bind(str(path))
    listener.listen(64)
    return listener


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
