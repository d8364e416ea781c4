"""A real keeper, and somebody who talks with it."""

import json
import os
import signal
import socket
import struct
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Self

from kit.waiting import PATIENCE_S, until

OPEN: list[socket.socket] = []
"""Connections that a test has opened, for its end to close."""


def close_all() -> None:
    """Close all connections."""
    while OPEN:
        OPEN.pop().close()


def listens_there(connection: socket.socket) -> int:
    """Who has made the socket that this is connected to."""
    pid, _, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return pid


class Keeper:
    """The keeper of a folder, in the foreground so that it can be killed, and a connection to it."""

    def __init__(self, folder: Path, *words: str) -> None:
        self.folder, self.words = folder, words
        self.events: list[dict] = []
        self.process = None
        self.begin()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        finish(self)

    def begin(self) -> None:
        """Start one."""
        with (self.folder.parent / "said").open("ab") as said:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "dardis.live.keeper", str(self.folder), "--foreground", *self.words],
                stderr=said, start_new_session=True,
            )  # fmt: skip

    def connect(self) -> "Asker":
        """A new connection, once it listens."""
        return Asker(self.folder / "keeper.sock", self.process)

    def lead(self, epoch: int = 1) -> "Asker":
        """A new connection that leads."""
        asker = self.connect()
        asker.hello(epoch)
        return asker

    def kill(self) -> None:
        """End it as nothing can be prepared for."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> int:
        """End it as it should be; its exit code."""
        self.process.terminate()
        return self.process.wait(PATIENCE_S)


class Asker:
    """Somebody who asks."""

    def __init__(self, path: Path, process: subprocess.Popen | None = None) -> None:
        self.events: list[dict] = []
        self.now_ms = 0
        """What the keeper's clock was when it last answered."""
        self._last = 0
        self._read = b""

        def connected() -> bool:
            self.socket = socket.socket(socket.AF_UNIX)
            with suppress(OSError):
                self.socket.connect(str(path))
                # A child of one that was killed may have its socket for a moment yet.
                if process is None or listens_there(self.socket) == process.pid:
                    return True
            self.socket.close()
            assert process is None or process.poll() is None, f"the keeper has ended: {process.returncode}"
            return False

        until(connected)
        OPEN.append(self.socket)
        self.socket.settimeout(PATIENCE_S)

    def ask(self, do: str, **more) -> dict:
        """Its answer."""
        self.tell(do, **more)
        while True:
            told = self.line()
            if told.get("id", 0) in {self._last, None}:
                self.now_ms = told.pop("now")
                return told

    def tell(self, do: str, **more) -> None:
        """Ask, and don't wait."""
        if do == "hello":
            more = {"mark": f"{id(self)}.{self._last}"} | more
        self._last += 1
        self.socket.sendall(json.dumps({"id": self._last, "do": do, **more}).encode() + b"\n")

    def start(self, runs: list[dict]) -> dict:
        """Let runs begin; the answer of what was refused, else of the last."""
        told = self.ask("intend", runs=runs)
        return told if "error" in told else self.ask("go", runs=[run["run"] for run in runs])

    def tell_start(self, runs: list[dict]) -> None:
        """Let runs begin, and don't wait."""
        self.tell("intend", runs=runs)
        self.tell("go", runs=[run["run"] for run in runs])

    def line(self) -> dict:
        """The next line. Raises ConnectionError."""
        while b"\n" not in self._read:
            come = self.socket.recv(1 << 16)
            if not come:
                raise ConnectionError
            self._read += come
        line, _, self._read = self._read.partition(b"\n")
        told = json.loads(line)
        if "event" in told:
            self.events.append(told["record"])
        return told

    def over(self, run: str) -> dict:
        """What is told when a run is over."""
        while True:
            for record in self.events:
                if record["run"] == run:
                    return record
            self.line()

    def hello(self, epoch: int = 1) -> dict[str, dict]:
        """All runs that are known."""
        return {record["run"]: record for record in self.ask("hello", epoch=epoch)["runs"]}


def keeper_of(folder: Path) -> int | None:
    """The process that holds the lock of a keeper's folder: what it has just forked looks like it."""
    with suppress(FileNotFoundError):
        place = (folder / "keeper.lock").stat()
        file = f"{os.major(place.st_dev):02x}:{os.minor(place.st_dev):02x}:{place.st_ino}"
        for line in Path("/proc/locks").read_text().splitlines():
            _, kind, *_, process, what, _, _ = line.split()
            if (kind, what) == ("FLOCK", file):
                return int(process)
    return None


def start(run: str, folder: Path, *argv: str, **more) -> dict:
    """A run to be asked for."""
    out = str(folder / f"{run}.out")
    return {
        "run": run, "argv": list(argv), "env": {"PATH": "/usr/bin:/bin"}, "chdir": str(folder), "output": out,
        "error": out, "append": False, "cores": None, "memory_bytes": None, "walltime_ms": 60_000, "grace_ms": 1000,
        "user": None, **more,
    }  # fmt: skip


def lives(pid: int) -> bool:
    """Whether a process is there, and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in {"Z", "X"}
    except OSError:
        return False


def end_all(folder: Path) -> None:
    """Kill what a test may have left of its keeper's runs: whoever has the folder in its command line."""
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if str(folder).encode() in (place / "cmdline").read_bytes() and int(place.name) != os.getpid():
                os.kill(int(place.name), signal.SIGKILL)


def finish(keeper: Keeper) -> None:
    """A last keeper ends what runs, and takes its cgroups away."""
    if keeper.process.poll() is None:
        keeper.kill()
    keeper.begin()
    asker = keeper.lead(1000)

    def stopped() -> bool:
        left = asker.ask("stop").get("runs")
        if left:
            asker.ask("end", runs=left)
        return left is None

    until(stopped)
    keeper.process.wait()
    end_all(keeper.folder.parent)
