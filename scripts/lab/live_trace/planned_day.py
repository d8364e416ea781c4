"""Runs the day of a plan through the live service, under the cap and the switching of the plan, time run faster.

The jobs of that day are sleeping processes. One host is killed on the way. Each second, the sum of what runs is taken
twice: from the service, and from the processes. Then the same jobs run in the simulator.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from threading import Event, Thread
from typing import Any, NamedTuple

from dardis.config.platform_file import load_platform
from dardis.live.client import Client, is_over
from dardis.model.errors import DardisError
from dardis.model.platform import Platform
from dardis.power.node_power import MachinePower
from dardis.report import chart
from dardis.workload.trace_jobs import to_jobs
from dardis.workload.trace_reader import read_trace
from offline.folder.plan_folder import read_plan
from scripts.lab.kit.command import ROOT
from scripts.lab.kit.drawing import save
from scripts.lab.live_trace.processes import Processes
from scripts.lab.live_trace.submitter import Submitter, wait_until_ready

DAY_S = 86_400
PROGRAM = """#!/bin/sh
echo "$(date +%s.%N) begin {state} $1" >> {log}
sleep {seconds}
echo "$(date +%s.%N) end {state} $1" >> {log}
"""


class Second(NamedTuple):
    """What is there at a moment: W, by the service (None: no answer) and by the processes; cores in use."""

    unix_s: float
    cap_w: float | None
    service_w: float | None
    processes_w: float
    cores: int


class Watch(Thread):
    """Takes the sum each second."""

    def __init__(
        self, folder: Path, platform: Platform, jobs: Submitter, cores: dict[int, int], log: Path
    ) -> None:  # fmt: skip
        """`folder`: of the service; `cores`: of each job of the trace; `log`: of the programs."""
        super().__init__(name="watch", daemon=True)
        self._folder, self._jobs, self._cores, self._log = folder.absolute(), jobs, cores, log
        self._client = Client(folder)
        power = MachinePower.of_platform(platform)
        self._nodes, self._core_w = platform.node_count, float(power.core_w[0])
        self._idle_w, self._off_w = float(power.idle_w[0]), float(power.off_w[0])
        self.seconds: list[Second] = []
        self.over = Event()

    def run(self) -> None:
        """Until it is over."""
        while not self.over.wait(1.0 - time.time() % 1.0):
            now = time.time()
            limit = used = None
            with suppress(DardisError):
                told = self._client.get("/cap")["now"]
                limit, used = (None, None) if told is None else (told["limit"], told["used"])
            off = self._off_nodes()
            running = {number for number in _running_jobs(self._folder) if number in self._jobs.numbers}
            cores = sum(self._cores[self._jobs.numbers[number]] for number in running)
            watts = (self._nodes - off) * self._idle_w + off * self._off_w + cores * self._core_w
            self.seconds.append(Second(now, limit, used, watts, cores))

    def _off_nodes(self) -> int:
        off: set[str] = set()
        for line in self._log.read_text().splitlines():
            _, what, state, names = line.split()
            if (what, state) == ("end", "off"):
                off.update(names.split(","))
            elif state == "on":
                off.difference_update(names.split(","))
        return len(off)


def _running_jobs(folder: Path) -> set[int]:
    """Numbers of the jobs of a service that have a process."""
    home = f"DARDIS_FOLDER={folder}".encode()
    found: set[int] = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError, ValueError):
                words = (entry / "environ").read_bytes().split(b"\0")
                if (entry / "comm").read_text().strip() == "sleep" and any(word.startswith(home) for word in words):
                    found.update(int(word[14:]) for word in words if word.startswith(b"DARDIS_JOB_ID="))
    return found


def main() -> int:
    """Run it; 0 where nothing is wrong."""
    options = _options()
    out, factor = options.out, options.factor
    out.mkdir(parents=True)
    faster = _faster_platform(options.platform, out / "platform.toml", factor)
    platform = load_platform(faster)
    begin = read_plan(options.plan).profile.start
    jobs = [
        job for job in to_jobs(read_trace(options.trace), platform).jobs if begin <= job.submit < begin + DAY_S
    ][: options.jobs]  # fmt: skip
    log, ran, folder = out / "switched", out / "ran", out / "live"
    log.touch()
    ran.touch()
    programs = _write_programs(out, platform, log)
    words = [ROOT / "launch" / "serve", "-n", options.hosts, "--folder", folder, "--platform", faster.absolute()]
    words += [*programs, "--switch-limit", "60s"]
    with (out / "serve.log").open("w") as said:
        served = subprocess.Popen(list(map(str, words)), stdout=said, stderr=said)
    client = Client(folder)
    try:
        wait_until_ready(client)
        start = int(time.time()) + 2
        target = json.loads((options.plan / "target.json").read_text())
        client.post("/cap", _cap(options.plan, start, begin, factor))
        client.post("/switching", _rule(target, start, begin, factor))
        cores = {int(job.number): job.units * job.request[platform.kinds.index("cores")] for job in jobs}
        feed = Submitter(client, jobs, platform, factor, ran, begin)
        watch = Watch(folder, platform, feed, cores, log)
        time.sleep(max(start - time.time(), 0))
        feed.start()
        watch.start()
        killed_s = _kill_host(folder, start + options.kill_hour * 3600 / factor, feed)
        feed.join()
        wait_until_ready(client)
        while client.get("/jobs", state="open", limit=1)["jobs"]:
            time.sleep(1.0)
        watch.over.set()
        watch.join()
        told = [job for job in client.history(state="all") if job["id"] in feed.numbers]
        _dardis("history", "--out", out / "history", "--folder", folder)
        client.post("/stop", {"kill": True})
        served.wait(60)
    finally:
        served.send_signal(signal.SIGTERM)
        served.wait(60)
    simulated = _simulate(options, target, begin)
    return _judge(out, watch.seconds, told, simulated, start, killed_s, factor)


def _faster_platform(path: Path, to: Path, factor: float) -> Path:
    """Write the platform with boots and shut-downs in less time."""

    def less(match: re.Match[str]) -> str:
        return f"{match[1]}{max(round(int(match[2]) / factor), 1)}"

    to.write_text(re.sub(r"((?:boot_s|shutdown_s) *= *)(\d+)", less, path.read_text()))
    return to


def _write_programs(out: Path, platform: Platform, log: Path) -> list[str | Path]:
    power = MachinePower.of_platform(platform)
    words: list[str | Path] = []
    for state, seconds in (("off", power.shutdown_s), ("on", power.boot_s)):
        path = (out / state).absolute()
        path.write_text(PROGRAM.format(state=state, log=log.absolute(), seconds=int(seconds[0])))
        path.chmod(0o755)
        words += [f"--{state}-program", path]
    return words


def _cap(plan: Path, start: int, begin: int, factor: float) -> dict[str, Any]:
    profile = read_plan(plan).profile
    times = [round(start + (time - begin) / factor) for time in profile.edges[:-1].tolist()]
    steps = [[time, int(watts)] for time, watts in zip(times, profile.power_cap_w.tolist(), strict=True)]
    return {"kind": "power", "hard": True, "steps": steps, "source": str(plan)}


def _rule(target: dict[str, Any], start: int, begin: int, factor: float) -> dict[str, Any]:
    table = target["switching"]
    groups = {
        prefix: {
            name: [[round(start + (time - begin) / factor), value] for time, value in steps]
            for name, steps in group.items()
        }
        for prefix, group in table["groups"].items()
    }
    most = table["most_cycles_per_day"] * factor  # in a day of the service
    rule = {"idle_s": round(table["idle_s"] / factor), "most_cycles_per_day": min(most, 86_400), "groups": groups}
    return {"table": rule, "source": "target.json"}


def _kill_host(folder: Path, at: float, feed: Submitter) -> float:
    """Kill all processes of the last host: its rank, its supervisor and its jobs; when, Unix s."""
    time.sleep(max(at - time.time(), 0))
    if feed.over.is_set():
        return 0.0
    home = str(max(folder.glob("host-*")))
    mine = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                words = (entry / "environ").read_bytes().split(b"\0") + (entry / "cmdline").read_bytes().split(b"\0")
                if any(word.endswith(home.encode()) or f"{home}/".encode() in word for word in words):
                    mine.append(int(entry.name))
    mine += sorted(Processes(folder).by_kind()["rank"])[-1:]
    for process in mine:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    return time.time()


def _dardis(*words: str | Path) -> None:
    subprocess.run([sys.executable, "-m", "dardis", *map(str, words)], check=True, stdout=subprocess.DEVNULL)


def _simulate(options: argparse.Namespace, target: dict[str, Any], begin: int) -> list[dict[str, str]]:
    """The same day with the cores and the switching of the plan, as the live service follows its power."""
    shared = options.out / "target.json"
    shared.write_text(json.dumps(target | {"profile": target["profile"] | {"split": "shared"}}))
    to = options.out / "simulated"
    _dardis(
        "simulate", options.trace, "--platform", options.platform, "--dispatcher", "dardis-late", "--from", str(begin),
        "--to", str(begin + DAY_S - 1), "--profile", shared, "--set", "profile=hard", "--out", to,
    )  # fmt: skip
    with (to / "jobs.csv").open() as file:
        return list(csv.DictReader(file))


def _judge(
    out: Path, seconds: list[Second], told: list[dict[str, Any]], simulated: list[dict[str, str]], start: int,
    killed_s: float, factor: float,
) -> int:  # fmt: skip
    with (out / "sum.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(Second._fields)
        writer.writerows(seconds)
    waits = [(job["started_ms"] - job["submitted_ms"]) / 1000 for job in told if job["started_ms"]]
    states: dict[str, int] = {}
    for job in told:
        states[job["state"]] = states.get(job["state"], 0) + 1
    asked = [one for one in seconds if one.cap_w is not None and one.service_w is not None]
    rises = [
        (before, after) for before, after in pairwise(asked)
        if after.cap_w == before.cap_w and after.service_w > max(before.service_w, after.cap_w) + 0.01  # type: ignore[operator,type-var]
    ]  # fmt: skip
    planned = [float(row["waiting_time"]) for row in simulated if row["waiting_time"]]
    found = {
        "jobs": len(told), "states": states, "open": sum(not is_over(job) for job in told),
        "seconds": len(seconds), "seconds_without_an_answer": len(seconds) - len(asked),
        "seconds_above_the_cap": sum(one.service_w > one.cap_w + 0.01 for one in asked),  # type: ignore[operator]
        "most_above_the_cap_w": max((one.service_w - one.cap_w for one in asked), default=0),  # type: ignore[operator]
        "rises_above_the_cap": len(rises),
        "seconds_in_which_processes_take_more_than_the_service_counts": sum(
            one.processes_w > one.service_w + 0.01 for one in asked  # type: ignore[operator]
        ),
        "killed_s": round(killed_s - start), "mean_wait_s": factor * sum(waits) / max(len(waits), 1),
        "simulated_mean_wait_s": sum(planned) / max(len(planned), 1),
    }  # fmt: skip
    (out / "found.json").write_text(json.dumps(found, indent=2) + "\n")
    sys.stdout.write(json.dumps(found, indent=2) + "\n")
    _draw(out, seconds, start, killed_s, factor)
    return int(bool(found["open"] or rises))


def _draw(out: Path, seconds: list[Second], start: int, killed_s: float, factor: float) -> None:
    drawing, (axes,) = chart.figure(chart.FULL, 4.4, 1)
    drawing.set_layout_engine("constrained")
    hours = [(one.unix_s - start) * factor / 3600 for one in seconds]
    kilo = [None if one.cap_w is None else min(one.cap_w, 1e6) / 1000 for one in seconds]
    axes.step(hours, [float("nan") if one is None else one for one in kilo], where="post", label="cap", color=chart.INK)
    sums = [float("nan") if one.service_w is None else one.service_w / 1000 for one in seconds]
    axes.plot(hours, sums, label="sum by the service", **chart.line_look(0) | {"linewidth": 1.8})
    of_processes = [one.processes_w / 1000 for one in seconds]
    axes.plot(hours, of_processes, label="sum of processes", color=chart.line_look(1)["color"], linewidth=0.7)
    if killed_s:
        axes.axvline((killed_s - start) * factor / 3600, color=chart.INK, linewidth=0.8, linestyle=":")
        axes.annotate("a host is killed", ((killed_s - start) * factor / 3600, 0.5), fontsize=8)
    axes.set_xlim(0, 30)  # the last jobs run for days
    axes.set_xlabel("hour of the planned day")
    axes.set_ylabel("IT power, kW")
    axes.set_ylim(bottom=0)
    axes.legend()
    save(drawing, out / "sum")


def _options() -> argparse.Namespace:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog="planned_day", description=__doc__, formatter_class=raw)
    parser.add_argument("trace", type=Path, help="of jobs, on the clock of the plan")
    parser.add_argument("plan", type=Path, help="a folder of dardis plan --cap")
    parser.add_argument("--platform", type=Path, required=True, help="the machine of the plan")
    parser.add_argument("--out", type=Path, required=True, help="a new folder")
    parser.add_argument("--factor", type=float, default=60.0, help="how much faster time runs")
    parser.add_argument("--hosts", type=int, default=3, help="ranks that share the nodes out")
    parser.add_argument("--kill-hour", type=float, default=11.0, help="hour of the day in which a host is killed")
    parser.add_argument("--jobs", type=int, help="the first so many alone")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
