"""Hands the jobs of a trace in to a live service, each at its time."""

from __future__ import annotations

import time
from contextlib import suppress
from math import ceil
from pathlib import Path
from threading import Event, Thread
from typing import Any

from dardis.live.client import Client
from dardis.model.errors import DardisError
from dardis.model.job import ActualJob
from dardis.model.platform import Platform

GRACE_S = 1


class Submitter(Thread):
    """Hands the jobs in, each at its time; a submission that nobody has answered is repeated under its key."""

    def __init__(
        self, client: Client, jobs: list[ActualJob], platform: Platform, factor: float, ran: Path,
        first: int | None = None,
    ) -> None:  # fmt: skip
        """Begin at time `first` of the trace, or with the first job; times are divided by `factor`."""
        super().__init__(name="feed")
        self._client, self._jobs, self._platform, self._factor, self._ran = client, jobs, platform, factor, ran
        self._first = jobs[0].submit if first is None else first
        self.numbers: dict[int, int] = {}
        """Of the trace, by the service's."""
        self.over = Event()

    def run(self) -> None:
        """Until all are acknowledged."""
        begun, first = time.monotonic(), self._first
        for actual in self._jobs:
            due = begun + (actual.submit - first) / self._factor
            time.sleep(max(due - time.monotonic(), 0.0))
            body = self._body(actual)
            while True:
                with suppress(DardisError):
                    (number,) = self._client.submit(body)["ids"]
                    break
                time.sleep(0.1)
            self.numbers[number] = int(actual.number)
        self.over.set()

    def _body(self, actual: ActualJob) -> dict[str, Any]:
        job = actual.job
        request = dict(zip(self._platform.kinds, job.request, strict=True))
        runtime, walltime = actual.runtime / self._factor, max(ceil(job.walltime / self._factor), 1)
        command = f"echo $DARDIS_JOB_ID >> $RAN; exec sleep {runtime:.3f}"
        return {
            "key": str(job.number), "script": "", "cwd": str(self._ran.parent),
            "environment": {"RAN": str(self._ran), "PATH": "/usr/bin:/bin"},
            "jobs": {
                "argv": ["/bin/sh", "-c", command], "name": f"t{job.number}", "nodes": job.units,
                "cpus": request["cores"], "walltime_s": walltime, "grace_s": GRACE_S, "output": "/dev/null",
                "error": "/dev/null",
            },
        }  # fmt: skip


def wait_until_ready(client: Client) -> None:
    """Wait until the service has all its hosts."""
    while True:
        with suppress(DardisError):
            status = client.get("/status")
            if not status["trouble"] and not status["silent"]:
                return
        time.sleep(0.2)
