"""The live service: no-op jobs beside HyperQueue and xargs, functions beside Dask, first output, long queues, idling.

Clock times of one host, in turns. HyperQueue and Dask are left out where they are not installed (`pip install
hyperqueue distributed`).
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, Final

from dardis.live import Executor
from scripts.lab.bench.measure import Row
from scripts.lab.kit.spread import Spread

NO_OPS: Final = 400
CALLS, ROUND_TRIPS, WORKERS = 2000, 200, 2
QUEUED, RUNNING, SINGLE, IDLE_S = 10_000, 100, 100, 10
ROOM: Final = f'name = "m"\n[[nodes]]\ncount = 10\nprefix = "n"\nresources = {{ cores = {RUNNING // 10} }}\n'


Mapper = Callable[[Callable[[int], int], Sequence[int]], Iterable[int]]


class Connection(HTTPConnection):
    """One to a service's socket, that stays open."""

    def __init__(self, folder: Path) -> None:
        super().__init__("localhost")
        self._folder = folder

    def connect(self) -> None:
        """Connect to the socket instead of a host."""
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(str(self._folder / "gateway.sock"))

    def ask(self, method: str, path: str, body: object = None) -> Any:  # noqa: ANN401 (JSON)
        """What the service answers."""
        self.request(method, path, None if body is None else json.dumps(body))
        answer = self.getresponse()
        told = json.loads(answer.read())
        if answer.status != 200:
            raise RuntimeError(f"{path}: {told}")
        return told

    def submit(self, argv: list[str], count: int = 1, output: str = "/dev/null") -> range:
        """Hand jobs in; their numbers."""
        array = {"array": f"1-{count}"} if count > 1 else {}
        asked = {"argv": argv, "output": output, "error": "/dev/null"} | array
        ids = self.ask("POST", "/jobs", {"jobs": asked, "cwd": "/", "script": "", "environment": {}})["ids"]
        return range(ids[0], ids[-1] + 1)


class Service:
    """A service in a folder: of this machine's own cores, or of ten nodes whose cores are counted."""

    def __init__(self, folder: Path, *more: str, counted: bool = False) -> None:
        self._folder = folder
        self._words = [sys.executable, "-m", "dardis", "serve", "--folder", str(folder), *more]
        if counted:
            platform = folder.with_suffix(".toml")
            platform.write_text(ROOM)
            self._words += ["--platform", str(platform)]
        self.asks = Connection(folder)
        self.start()

    def start(self) -> float:
        """Start its process; after how many seconds it serves."""
        begun = time.perf_counter()
        self._process = subprocess.Popen(self._words, stderr=subprocess.DEVNULL)
        while True:
            with suppress(OSError):
                if not self.asks.ask("GET", "/status")["trouble"]:
                    return time.perf_counter() - begun
            self.asks.close()
            time.sleep(0.005)

    def kill(self) -> None:
        """End its process at once."""
        self._process.kill()
        self._process.wait()
        self.asks.close()

    def end(self) -> None:
        """End it with all its jobs."""
        self.asks.ask("POST", "/stop", {"kill": True})
        self._process.wait()

    @property
    def processes(self) -> tuple[int, int]:
        """The service's, and its keeper's."""
        mine = str(self._folder / "keeper").encode()
        for entry in Path("/proc").iterdir():
            with suppress(OSError):
                words = (entry / "cmdline").read_bytes().split(b"\0") if entry.name.isdigit() else []
                if mine in words and b"dardis.live.keeper" in words:
                    return self._process.pid, int(entry.name)
        raise RuntimeError("its job supervisor is gone")


def live(folder: Path, repeats: int) -> list[Row]:
    """All rows; `folder` is for the services' own."""
    return [
        *_no_ops(new_folder(folder, "a"), repeats), _idle(new_folder(folder, "b")),
        _long_queue(new_folder(folder, "c")),
        *_functions(new_folder(folder, "d"), repeats),
    ]  # fmt: skip


def new_folder(folder: Path, name: str) -> Path:
    """An empty place for the folder of a service."""
    place = folder / f"live-{name}"
    subprocess.run(["/bin/rm", "-rf", str(place)], check=True)
    place.mkdir(parents=True)
    return place / "s"


def _no_ops(folder: Path, repeats: int) -> list[Row]:
    """Arrays of `/bin/true`, beside others who start as many."""
    with ExitStack() as stack:
        service = Service(folder)
        stack.callback(service.end)
        programs: dict[str, Callable[[], None]] = {"xargs -P2": _xargs}
        if (theirs := stack.enter_context(_hyperqueue())) is not None:
            programs["HyperQueue"] = theirs
        taken: dict[str, list[float]] = {name: [] for name in ("ours", *programs)}
        for _ in range(repeats + 1):  # the first is for caches
            taken["ours"].append(_timed(lambda: _all_of(service.asks, service.asks.submit(["/bin/true"], NO_OPS))))
            for name, program in programs.items():
                taken[name].append(_timed(program))
        cpu, peak = cpu_s(service.processes), mib_of(service.processes)
    goals = {"xargs -P2": ">= 0.8", "HyperQueue": ">= 1.5"}
    own = Spread.of([cpu / (repeats + 1)])
    rows = []
    for name in programs:
        rates = {"ours_a_second": taken["ours"][1:], "theirs_a_second": taken[name][1:]}
        notes = {of: round(NO_OPS / Spread.of(seconds).median, 1) for of, seconds in rates.items()}
        rows.append(Row(
            "an array of /bin/true", "dardis serve", NO_OPS, own, Spread.of([peak]),
            Spread.ratio(*reversed(rates.values())), f"jobs a second / those of {name}", goals[name], notes,
        ))  # fmt: skip
    return rows


def _all_of(asks: Connection, numbers: range) -> None:
    """Wait for the ends of jobs that end about in order."""
    for number in reversed(numbers):
        if asks.ask("GET", f"/jobs/{number}/wait")["state"] != "completed":
            raise RuntimeError(f"job {number} has not completed")


def _xargs() -> None:
    words = "\n".join(map(str, range(NO_OPS)))
    subprocess.run(["/usr/bin/xargs", "-P2", "-n1", "/bin/true"], input=words, text=True, check=True)


@contextmanager
def _hyperqueue() -> Iterator[Callable[[], None] | None]:
    """What runs no-op jobs in a HyperQueue with as many cores; None where it isn't installed."""
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


def _idle(folder: Path) -> Row:
    """How soon single jobs begin where nothing else is, beside a sync of the disk; what doing nothing costs."""
    service, out = Service(folder), folder.with_suffix(".out")
    took, synced = [], []
    with out.with_suffix(".sync").open("wb") as file:
        for _ in range(SINGLE):
            file.write(b"x" * 200)
            file.flush()
            synced.append(1e3 * _timed(lambda: os.fdatasync(file.fileno())))
            begun = time.time()
            _all_of(service.asks, service.asks.submit(["/bin/date", "+%s.%N"], output=str(out)))
            took.append(1e3 * (float(out.read_text()) - begun))
            out.unlink()
            time.sleep(0.05)
    before, peak = cpu_s(service.processes), mib_of(service.processes)
    time.sleep(IDLE_S)
    idle, keeper = cpu_s(service.processes) - before, mib_of(service.processes[1:])
    service.end()
    notes = {
        "median_ms": round(sorted(took)[SINGLE // 2], 1), "p99_ms": round(sorted(took)[-2], 1),
        "sync_ms": round(Spread.of(synced).median, 2), "keeper_mib": round(keeper, 1),
    }  # fmt: skip
    return Row(
        "one job at a time, then none", "dardis serve", SINGLE, Spread.of([idle]), Spread.of([peak]),
        Spread.of([idle / IDLE_S]), "CPU of a core when idle", "<= 0.01", notes,
    )  # fmt: skip


def _long_queue(folder: Path) -> Row:
    """A submission into a long queue beside one into an empty one, and how soon a killed service serves again."""
    service = Service(folder, counted=True)
    asks = service.asks
    asks.submit(["/bin/sleep", "1000"], RUNNING)
    while asks.ask("GET", "/status")["running"] < RUNNING:
        time.sleep(0.05)
    empty = [_timed(lambda: asks.submit(["/bin/true"])) for _ in range(50)]
    asks.submit(["/bin/true"], QUEUED)
    long = [_timed(lambda: asks.submit(["/bin/true"])) for _ in range(50)]
    queue = [sys.executable, "-m", "dardis", "queue", "--folder", str(folder)]
    shown = [_timed(lambda: subprocess.run(queue, stdout=subprocess.DEVNULL, check=True)) for _ in range(5)]
    peak = mib_of(service.processes[:1])
    service.kill()
    recovered = service.start()
    told = asks.ask("GET", "/status")
    service.end()
    a, b = Spread.of(empty).median, Spread.of(long).median
    notes = {
        "empty_ms": round(1e3 * a, 1), "long_ms": round(1e3 * b, 1), "recovery_s": round(recovered, 2),
        "dardis_queue_s": round(Spread.of(shown).median, 2), "queued": told["queued"], "running": told["running"],
    }  # fmt: skip
    return Row(
        f"a submission behind {QUEUED}", "dardis serve", QUEUED, Spread.of(long), Spread.of([peak]),
        Spread.of([b / a]), "time / into an empty queue", "<= 2", notes,
    )  # fmt: skip


def _functions(folder: Path, repeats: int) -> list[Row]:
    """No-op functions in warm workers, all at once and one after the other, beside Dask's."""
    with ExitStack() as stack:
        service = Service(folder)
        stack.callback(service.end)
        programs: dict[str, Mapper] = {"ours": stack.enter_context(Executor(WORKERS, folder=folder)).map}
        if (theirs := stack.enter_context(_dask())) is not None:
            programs["Dask"] = theirs
        rates: dict[str, list[float]] = {name: [] for name in programs}
        trips_ms: dict[str, list[float]] = {name: [] for name in programs}
        for _ in range(repeats + 1):  # the first is for caches
            for name, run in programs.items():
                rates[name].append(CALLS / _timed(partial(_map_all, run, range(CALLS))))
                alone = [1e3 * _timed(partial(_map_all, run, [-1])) for _ in range(ROUND_TRIPS)]
                trips_ms[name].append(Spread.of(alone).median)
        cpu, peak = Spread.of([cpu_s(service.processes)]), Spread.of([mib_of(service.processes)])
    rows = [
        Row(
            "one function at a time", "dardis serve", ROUND_TRIPS, cpu, peak, Spread.of(trips_ms["ours"][1:]),
            "ms of a round trip", "<= 10", {f"{name}_ms": round(trips_ms[name][-1], 2) for name in programs},
        )
    ]  # fmt: skip
    if "Dask" in programs:
        ratio = Spread.ratio(rates["ours"][1:], rates["Dask"][1:])
        notes = {f"{name}_a_second": round(Spread.of(rates[name][1:]).median, 0) for name in programs}
        rows.append(
            Row(
                "no-op functions", "dardis serve", CALLS, cpu, peak, ratio, "functions a second / Dask's", ">= 1", notes
            )
        )
    return rows


def _map_all(run: Mapper, values: Sequence[int]) -> None:
    list(run(abs, values))


@contextmanager
def _dask() -> Iterator[Mapper | None]:
    """What maps a function in as many workers of Dask; None where it isn't installed."""
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        yield None
        return
    with (
        LocalCluster(n_workers=WORKERS, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        yield lambda function, values: client.gather(client.map(function, values, pure=False))


def _timed(work: Callable[[], object]) -> float:
    """Clock time, s."""
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def cpu_s(processes: tuple[int, ...]) -> float:
    """CPU time that they have taken, without what they have started, s."""
    ticks = 0
    for process in processes:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def mib_of(processes: tuple[int, ...]) -> float:
    """Memory that they have now, MiB."""
    pages = sum(int(Path(f"/proc/{process}/statm").read_text().split()[1]) for process in processes)
    return pages * os.sysconf("SC_PAGE_SIZE") / (1 << 20)
