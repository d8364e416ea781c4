"""The live service: no-op jobs beside HyperQueue and xargs, how soon a job begins, what a long queue and idling cost.

Clock times of one host; all of a row is measured in turns. Needs HyperQueue (`pip install hyperqueue`), else it is left out.
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
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from scripts.bench_peers.rows import Row
from scripts.kit.spread import Spread

NO_OPS, QUEUED, RUNNING, SINGLE = 400, 10_000, 100, 100
ROOM = 'name = "m"\n[[nodes]]\ncount = 10\nprefix = "n"\nresources = {{ cores = {cores} }}\n'


class Connection(HTTPConnection):
    """One that stays open, to a service's socket."""

    def __init__(self, folder: Path) -> None:
        super().__init__("localhost")
        self._folder = folder

    def connect(self) -> None:
        """Connect to the socket instead of a host."""
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(str(self._folder / "gateway.sock"))

    def ask(self, method: str, path: str, body: Any = None) -> Any:  # noqa: ANN401 (JSON)
        """What the service answers."""
        self.request(method, path, None if body is None else json.dumps(body))
        answer = self.getresponse()
        told = json.loads(answer.read())
        if answer.status != 200:
            raise RuntimeError(f"{path}: {told}")
        return told

    def submit(self, argv: list[str], count: int = 1, **more: Any) -> range:  # noqa: ANN401 (JSON)
        """Hand jobs in; their numbers."""
        array = {"array": {"first": 1, "last": count, "step": 1, "most": None}} if count > 1 else {}
        asked = {"argv": argv, "output": "/dev/null", "error": "/dev/null"} | array | more
        ids = self.ask("POST", "/jobs", {"jobs": asked, "cwd": "/", "script": "", "environment": {}})["ids"]
        return range(ids[0], ids[-1] + 1)


@contextmanager
def service(folder: Path, cores: int | None = None) -> Iterator[tuple[Connection, subprocess.Popen[bytes]]]:
    """A service of this machine, or of counted cores on ten nodes; it is ended with all its jobs."""
    process = started(folder, cores)
    connection = Connection(folder)
    try:
        ready(connection)
        yield connection, process
    finally:
        Connection(folder).ask("POST", "/stop", {"kill": True})
        process.wait(60)


def started(folder: Path, cores: int | None) -> subprocess.Popen[bytes]:
    """Start the process."""
    words = [sys.executable, "-m", "dardis", "serve", "--folder", str(folder)]
    if cores is not None:
        platform = folder.with_suffix(".toml")
        platform.write_text(ROOM.format(cores=cores))
        words += ["--platform", str(platform)]
    return subprocess.Popen(words, stderr=subprocess.DEVNULL)


def ready(connection: Connection) -> None:
    """Wait until it serves."""
    while True:
        try:
            if not connection.ask("GET", "/status")["trouble"]:
                return
        except OSError:
            connection.close()
        time.sleep(0.005)


def timed(work: Callable[[], object]) -> float:
    """Clock time, s."""
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def no_ops(repeats: int) -> list[Row]:
    """Arrays of `/bin/true`, in turns."""
    with tempfile.TemporaryDirectory() as place, service(Path(place) / "s") as (ours, _), hyperqueue() as theirs:
        def run() -> None:
            last = ours.submit(["/bin/true"], NO_OPS)[-1]
            while ours.ask("GET", "/status")["queued"] or ours.ask("GET", "/status")["running"]:
                ours.ask("GET", f"/jobs/{last}/wait")

        def plain() -> None:
            words = [str(number) for number in range(NO_OPS)]
            subprocess.run(["xargs", "-P2", "-n1", "/bin/true"], input="\n".join(words).encode(), check=True)

        programs = {"HyperQueue": theirs, "xargs -P2": plain}
        taken: dict[str, list[float]] = {name: [] for name in ("ours", *programs)}
        for _ in range(repeats + 1):
            taken["ours"].append(timed(run))
            for name, program in programs.items():
                if program is not None:
                    taken[name].append(timed(program))
    rows = []
    for name, goal in (("HyperQueue", ">= 1"), ("xargs -P2", ">= 0.8")):
        if taken[name]:
            ratios = [b / a for a, b in zip(taken["ours"][1:], taken[name][1:], strict=True)]
            rates = {"a_second": round(NO_OPS / Spread.of(taken["ours"][1:]).median, 1),
                     "theirs_a_second": round(NO_OPS / Spread.of(taken[name][1:]).median, 1)}  # fmt: skip
            rows.append((name, Spread.of(ratios), goal, rates))
    for row in rows: print(row)
    return rows


@contextmanager
def hyperqueue() -> Iterator[Callable[[], None] | None]:
    """What runs no-op jobs in a HyperQueue of two workers' cores; None where it isn't installed."""
    try:
        from hyperqueue import Job, LocalCluster
        from hyperqueue.cluster import WorkerConfig
    except ImportError:
        yield None
        return
    with LocalCluster() as cluster:
        cluster.start_worker(WorkerConfig(cores=len(os.sched_getaffinity(0))))
        client = cluster.client()

        def run() -> None:
            job = Job()
            for _ in range(NO_OPS):
                job.program(["/bin/true"], stdout=None, stderr=None)
            client.wait_for_jobs([client.submit(job)])

        yield run


def rss_mib(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return 0.0


def cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def latency() -> None:
    with tempfile.TemporaryDirectory() as place, service(Path(place) / "s") as (ours, process):
        out = Path(place) / "out"
        took = []
        for i in range(SINGLE):
            begun = time.time()
            (n,) = ours.submit(["/bin/date", "+%s.%N"], output=str(out), error="/dev/null")
            ours.ask("GET", f"/jobs/{n}/wait")
            took.append(1e3 * (float(out.read_text()) - begun)); time.sleep(.05)
        took.sort()
        file = os.open(Path(place) / "x", os.O_CREAT | os.O_WRONLY)
        syncs = sorted(timed(lambda: (os.write(file, b"x" * 200), os.fdatasync(file))) * 1e3 for _ in range(100))
        print("latency ms median, p99", took[len(took) // 2], took[-2], "fdatasync", syncs[50])
        keeper = [int(p.name) for p in Path("/proc").iterdir() if p.name.isdigit() and b"dardis.live.keeper" in (p / "cmdline").read_bytes() and place.encode() in (p / "cmdline").read_bytes()][0]
        a = cpu_s(process.pid), cpu_s(keeper); time.sleep(10); b = cpu_s(process.pid), cpu_s(keeper)
        print("idle cpu in 10 s", b[0] - a[0], b[1] - a[1], "rss", rss_mib(process.pid), rss_mib(keeper))


def long_queue() -> None:
    with tempfile.TemporaryDirectory() as place, service(Path(place) / "s", 10) as (ours, process):
        ours.submit(["/bin/sleep", "1000"], RUNNING)
        while ours.ask("GET", "/status")["running"] < RUNNING: time.sleep(.05)
        def one():
            return timed(lambda: ours.submit(["/bin/true"], walltime_s=3000))
        empty = sorted(one() for _ in range(50))
        print("big array", timed(lambda: ours.submit(["/bin/true"], QUEUED)))
        full = sorted(one() for _ in range(50))
        print("submission ms", empty[25] * 1e3, full[25] * 1e3, full[25] / empty[25], "rss", rss_mib(process.pid))
        process.kill(); process.wait()
        begun = time.perf_counter()
        p2 = started(Path(place) / "s", 10)
        c = Connection(Path(place) / "s"); ready(c)
        print("recovery s", time.perf_counter() - begun, c.ask("GET", "/status"))
        ours.close()
        Connection(Path(place) / "s").ask("POST", "/stop", {"kill": True}); p2.wait()
        started(Path(place) / "s", 10); time.sleep(4)


if __name__ == "__main__":
    which = sys.argv[1:]
    if not which or "n" in which: no_ops(3)
    if not which or "l" in which: latency()
    if not which or "q" in which: long_queue()
