"""Starts processes that do runs: forks of one process that has loaded what every run needs, and runs nothing itself.

That process (`dardis.cli.worker`) is told over a socket, a message at a time, each answered by one. A message is
`[number, about]` as JSON: with three files beside it (input, output and standard error) it asks for a process that
tells its progress to the file `about`, and the answer is its id, or minus the number of the system's error; without,
it asks how the process `about` ended, and the answer is its exit status, or null while it runs. The system keeps who
has ended until that is asked, so an id is nobody else's before we know.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from dardis.comparison import end_with_parent
from dardis.engine.clock import monotonic_s
from dardis.model.errors import DardisError

WORKER: Final = (sys.executable, "-m", "dardis.cli.worker")
"""What starts them."""
NO_VARIABLES: Final[Mapping[str, str]] = MappingProxyType({})
_LOOK_S: Final = 0.01
"""Between two looks at whether one that is to end has."""


def same_modules() -> dict[str, str]:
    """Environment variables with which another process finds modules where this one does.

    The folder that we are in hides none of them.
    """
    return {"PYTHONPATH": os.pathsep.join(str(one) or str(Path.cwd()) for one in sys.path), "PYTHONSAFEPATH": "1"}


class Forked:
    """A process that a nursery has started."""

    def __init__(self, nursery: Nursery, pid: int) -> None:
        self._nursery = nursery
        self._pid = pid
        self._status: int | None = None

    def poll(self) -> int | None:
        """Its exit status, minus the signal that killed it; None while it runs."""
        if self._status is None:
            self._status = self._nursery.status_of(self._pid)
        return self._status

    def send_signal(self, which: signal.Signals) -> None:
        """Send it a signal, if it runs."""
        if self.poll() is None:
            os.kill(self._pid, which)

    def ends(self, deadline: float) -> bool:
        """Whether it is over by then, on `monotonic_s`."""
        while self.poll() is None:
            if monotonic_s() >= deadline:
                return False
            time.sleep(_LOOK_S)
        return True

    def wait(self) -> int:
        """Wait until it is over; its exit status."""
        while (status := self.poll()) is None:
            time.sleep(_LOOK_S)
        return status


class Nursery:
    """Starts processes, which end with it, as it does with this process."""

    def __init__(self, variables: Mapping[str, str] = NO_VARIABLES) -> None:
        """Start it with these environment variables beside those of this process."""
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 (lives as long as the process)
        self._line, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._asked = 0
        with theirs:
            # In a session of its own, so that Ctrl-C reaches what it starts through us, and once.
            self._process = subprocess.Popen(
                WORKER, stdin=theirs.fileno(), stdout=subprocess.DEVNULL, stderr=self._said, start_new_session=True,
                env={"OPENBLAS_NUM_THREADS": "1"} | os.environ | dict(variables)
                | {end_with_parent.VARIABLE: str(os.getpid())},
            )  # fmt: skip

    def start(self, progress: Path, ends: Sequence[int]) -> Forked:
        """Start a process with these files as input, output and standard error.

        Raises OSError where the system does not let it, and DardisError where the nursery is gone.
        """
        try:
            pid = self._ask(str(progress), ends)
        except ConnectionError:
            raise DardisError(f"no process for runs: {self._why_gone()}") from None
        if pid < 0:
            raise OSError(-pid, os.strerror(-pid))
        return Forked(self, pid)

    def status_of(self, pid: int) -> int | None:
        """How a process that was started here ended; None while it runs."""
        try:
            status: int | None = self._ask(pid)
        except ConnectionError:  # the system kills it with the nursery
            self._process.wait()  # its end of the line is closed a moment before it is over
            return -signal.SIGKILL
        return status

    @property
    def is_gone(self) -> bool:
        """Whether it can start no more."""
        return self._process.poll() is not None

    def close(self) -> None:
        """End it, and whatever of its processes is left."""
        self._process.kill()
        self._process.wait()
        self._line.close()
        self._said.close()

    def _ask(self, about: object, ends: Sequence[int] = ()) -> Any:  # noqa: ANN401 (JSON)
        """The answer to one message. Raises ConnectionError where there is nobody to answer."""
        self._asked += 1
        message = json.dumps([self._asked, about]).encode()
        if ends:
            socket.send_fds(self._line, [message], ends)
        else:
            self._line.send(message)
        while answer := self._line.recv(1 << 16):
            number, found = json.loads(answer)
            if number == self._asked:  # else of one whose asking was interrupted
                return found
        raise ConnectionResetError

    def _why_gone(self) -> str:
        """What it said last, or how it ended."""
        status = self._process.wait()
        self._said.seek(0)
        lines = self._said.read().decode("utf-8", errors="replace").strip().splitlines()
        return lines[-1].removeprefix("dardis: ") if lines else ended_by(status)


def ended_by(status: int) -> str:
    """An exit status in words."""
    with suppress(ValueError):
        if status < 0:
            return f"killed by {signal.Signals(-status).name}"
    return f"ended with exit status {status}"
