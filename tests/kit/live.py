"""A live service in a folder of its own, whose processes may be killed at any moment; jobs write down that they ran."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from kit.keeper import keeper_of

from dardis.live.client import Client
from dardis.model.errors import DardisError

PLATFORM = 'name = "m"\n[[nodes]]\ncount = 4\nprefix = "n"\nresources = { cores = 4, memory = "4GiB" }\n'
CORES = 16
"""All of them."""


@contextmanager
def live_for_all(name: str, platform: str | None = None, *more: str):
    """A service of root for all users, in a folder that all may see. Skips the test without root."""
    if os.geteuid() != 0:
        pytest.skip("needs root, to be two users")
    folder = Path(f"/tmp/dardis-{name}-{os.getpid()}")  # noqa: S108 (where all may look)
    folder.mkdir(mode=0o777)
    folder.chmod(0o777)
    live = Live(folder, platform or PLATFORM)
    live.ran.chmod(0o666)
    try:
        with live:
            yield live.start("--users", *more)
    finally:
        subprocess.run(["rm", "-rf", str(folder)], check=True)


class Live:
    """The processes of one service."""

    program: tuple[str | Path, ...] = (sys.executable, "-m", "dardis", "serve")
    """What serves; folder and platform follow."""
    environment: dict[str, str] = {}  # noqa: RUF012 (nobody changes it)

    def __init__(self, folder: Path, platform: str = PLATFORM):
        self.folder, self.ran = folder / "s", folder / "ran"
        self.platform = folder / "machine.toml"
        self.platform.write_text(platform)
        self.ran.touch()
        self.service: subprocess.Popen[bytes] | None = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def start(self, *more, wait=True, under=()):
        """Serve; `under`: words of a command that becomes the service, in a world of its own."""
        words = [*under, *self.program, "--folder", self.folder, "--platform", self.platform, *more]
        with (self.ran.parent / "service.err").open("ab") as said:
            self.service = subprocess.Popen(words, stdout=said, stderr=said, env=os.environ | self.environment)
        if wait:
            self.ready()
        return self

    def ready(self, seconds=60.0):
        """Wait until it is."""
        until = time.monotonic() + seconds
        while True:
            with suppress(DardisError):
                if self.is_ready(self.client.get("/status")):
                    return
            assert self.service.poll() is None, self.said()
            assert time.monotonic() < until, self.said()
            time.sleep(0.02)

    def is_ready(self, status):
        """Whether it acknowledges."""
        return not status["trouble"]

    def said(self):
        return (self.ran.parent / "service.err").read_text()

    @property
    def client(self):
        return Client(self.folder)

    @property
    def keeper(self):
        """Its process, if there is one."""
        return keeper_of(self.folder / "keeper")

    def submit(self, command="echo $DARDIS_JOB_ID >> $RAN", key=None, **more):
        """Hand in a shell command; numbers of its jobs."""
        body = {
            "key": key, "script": "", "cwd": str(self.ran.parent),
            "environment": {"RAN": str(self.ran), "PATH": os.environ["PATH"]},
            "jobs": {"argv": ["/bin/sh", "-c", command], "output": "/dev/null", "error": "/dev/null"} | more,
        }  # fmt: skip
        return self.client.submit(body)["ids"]

    def job(self, number):
        return self.client.get(f"/jobs/{number}")

    def ended(self, number, seconds=60):
        return self.client.get(f"/jobs/{number}/wait", patience_s=seconds, timeout=seconds)

    def all_over(self, seconds=120.0):
        until = time.monotonic() + seconds
        while self.client.get("/jobs", state="open")["jobs"]:
            assert time.monotonic() < until, self.client.get("/jobs", state="open")["jobs"][:3]
            time.sleep(0.1)

    def lines(self):
        """How often each job has written its number."""
        return Counter(map(int, self.ran.read_text().split()))

    def kill(self, which, how=signal.SIGKILL):
        process = self.service.pid if which == "service" else self.keeper
        if process is None:
            return
        with suppress(ProcessLookupError):
            os.kill(process, how)

    def kill_all(self):
        """Kill service, keeper and jobs, as a host does that goes down."""
        for which in ("service", "keeper"):
            self.kill(which)
        self.service.wait()
        told = f"DARDIS_FOLDER={self.folder}".encode()
        for entry in Path("/proc").iterdir():
            with suppress(OSError):
                if entry.name.isdigit() and told in (entry / "environ").read_bytes().split(b"\0"):
                    os.kill(int(entry.name), signal.SIGKILL)

    def end(self):
        """Kill all that is left; nothing is, where the service was never started."""
        if self.service is None:
            return
        with suppress(DardisError, AssertionError, subprocess.TimeoutExpired):
            if self.service.poll() is None:
                self.client.post("/stop", {"kill": True})
                self.service.wait(20)
        with suppress(ProcessLookupError):
            self.service.kill()
        self.service.wait()
        self.kill("keeper")
