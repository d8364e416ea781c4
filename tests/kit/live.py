"""A live service in a folder of its own, whose processes may be killed at any moment; jobs write down that they ran."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

from dardis.live.client import Client
from dardis.model.errors import DardisError

PLATFORM = 'name = "m"\n[[nodes]]\ncount = 4\nprefix = "n"\nresources = { cores = 4, memory = "4GiB" }\n'


class Live:
    """The processes of one service."""

    def __init__(self, folder: Path, platform: str = PLATFORM):
        self.folder, self.ran = folder / "s", folder / "ran"
        self.platform = folder / "machine.toml"
        self.platform.write_text(platform)
        self.ran.touch()
        self.service = None

    def start(self, *more, wait=True):
        words = [sys.executable, "-m", "dardis", "serve", "--folder", self.folder, "--platform", self.platform, *more]
        with (self.ran.parent / "service.err").open("ab") as said:
            self.service = subprocess.Popen(words, stdout=said, stderr=said)
        if wait:
            self.ready()
        return self

    def ready(self, seconds=60.0):
        until = time.monotonic() + seconds
        while True:
            with suppress(DardisError):
                if not self.client.get("/status")["trouble"]:
                    return
            assert self.service.poll() is None, self.said()
            assert time.monotonic() < until, self.said()
            time.sleep(0.02)

    def said(self):
        return (self.ran.parent / "service.err").read_text()

    @property
    def client(self):
        return Client(self.folder)

    @property
    def keeper(self):
        """Its process, if there is one."""
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                with suppress(OSError):
                    words = (entry / "cmdline").read_bytes().split(b"\0")
                    if b"dardis.live.keeper" in words and str(self.folder / "keeper").encode() in words:
                        return int(entry.name)
        return None

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

    def end(self):
        """Kill all that is left."""
        with suppress(DardisError, AssertionError):
            if self.service.poll() is None:
                self.client.post("/stop", {"kill": True})
                self.service.wait(20)
        with suppress(ProcessLookupError):
            self.service.kill()
        self.service.wait()
        if (keeper := self.keeper) is not None:
            os.kill(keeper, signal.SIGKILL)
