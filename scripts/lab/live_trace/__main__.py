"""Runs a trace through the live service: its jobs as sleeping processes, time run faster, through kills; then judges.

Each job is handed in when its time has come, claims its cores and sleeps for its runtime. Ranks, keepers and `mpirun`
are killed or stopped meanwhile. What keepers have recorded, which the service's journal has, is audited as a schedule
in ms; what jobs have written down themselves says whether one was lost, or ran twice.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

from dardis.config.platform_file import load_platform
from dardis.live.client import Client, is_over
from dardis.live.journal import read_instants
from dardis.live.live_decisions import replay
from dardis.metrics.audit import audit
from dardis.metrics.jobs_csv import write_jobs
from dardis.model.platform import Platform
from dardis.workload.trace_jobs import to_jobs
from dardis.workload.trace_reader import read_trace
from scripts.lab.kit.command import ROOT
from scripts.lab.live_trace.processes import Processes
from scripts.lab.live_trace.schedule import SLACK_MS, schedule_of
from scripts.lab.live_trace.submitter import Submitter, wait_until_ready


def main() -> int:
    """Run it; 0 where nothing is wrong."""
    options = _options()
    platform = load_platform(options.platform)
    trace = read_trace(options.trace)
    jobs = to_jobs(trace, platform).jobs[: options.jobs]
    options.out.mkdir(parents=True)
    ran = options.out / "ran"
    ran.touch()
    folder = options.out / "live"
    hosts = ["-n", options.hosts] if options.hosts > 1 else []
    words = [ROOT / "launch" / "serve", *hosts, "--folder", folder, "--platform", options.platform.absolute()]
    with (options.out / "serve.log").open("w") as said:
        served = subprocess.Popen(list(map(str, words)), stdout=said, stderr=said)
    client, begun = Client(folder), time.monotonic()
    rng = Random(options.seed)  # noqa: S311 (a seed is to say it all)
    feed = Submitter(client, jobs, platform, options.factor, ran)
    kills: Counter[str] = Counter()
    try:
        wait_until_ready(client)
        feed.start()
        processes = Processes(folder)
        span_s = (jobs[-1].submit - jobs[0].submit) / options.factor
        for _ in range(options.kills):
            if feed.over.wait(rng.uniform(0.5, 1.5) * span_s / (options.kills + 1)):
                break
            kills[processes.disturb_one(rng)] += 1
        feed.join()
        wait_until_ready(client)
        while client.get("/jobs", state="open", limit=1)["jobs"]:
            time.sleep(1.0)
        told = client.history(state="all")
        client.post("/stop", {"kill": True})
        served.wait(60)
    finally:
        served.send_signal(signal.SIGTERM)
        served.wait(60)
    return _judge(options.out, platform, feed, told, ran, kills, time.monotonic() - begun)


def _judge(
    out: Path,
    platform: Platform,
    feed: Submitter,
    told: list[dict[str, Any]],
    ran: Path,
    kills: Counter[str],
    took_s: float,
) -> int:
    mine = [job for job in told if job["id"] in feed.numbers]
    schedule = schedule_of(mine, platform)
    write_jobs(schedule, out / "jobs.csv")
    wrong = audit(schedule, platform, reserved=False)
    times = Counter(map(int, ran.read_text().split()))
    states = Counter(job["state"] for job in mine)
    lost = feed.numbers.keys() - {job["id"] for job in mine if is_over(job)}
    twice = [number for number, count in times.items() if count > 1]
    unwritten = [job["id"] for job in mine if job["state"] == "completed" and not times[job["id"]]]
    early = [
        job["id"] for job in mine
        if job["state"] == "timeout" and job["ended_ms"] - job["started_ms"] < 1000 * job["walltime_s"]
    ]  # fmt: skip
    replayed = replay(read_instants(out / "live"))
    found = {
        "jobs": len(feed.numbers), "states": states, "kills": kills, "lost": sorted(lost), "ran_twice": twice,
        "completed_without_a_trace": unwritten, "before_their_walltime": early,
        "violations": list(map(str, wrong)), "took_s": round(took_s),
        "starts": replayed.starts, "services": replayed.services, "replay_differs": replayed.differs,
        "slack_ms": SLACK_MS,
    }  # fmt: skip
    (out / "found.json").write_text(json.dumps(found, indent=2) + "\n")
    sys.stdout.write(json.dumps(found, indent=2) + "\n")
    return int(bool(lost or twice or unwritten or early or wrong or replayed.differs))


def _options() -> argparse.Namespace:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog="scripts/lab/run live_trace", description=__doc__, formatter_class=raw)
    parser.add_argument("trace", type=Path, help="of jobs; cut by `dardis trace convert`")
    parser.add_argument("--platform", type=Path, required=True, help="the machine that it ran on")
    parser.add_argument("--out", type=Path, required=True, help="a new folder")
    parser.add_argument("--factor", type=float, default=800.0, help="how much faster time runs")
    parser.add_argument("--hosts", type=int, default=3, help="ranks that share the nodes out")
    parser.add_argument("--kills", type=int, default=30, help="processes that are killed or stopped")
    parser.add_argument("--jobs", type=int, help="the first so many alone")
    parser.add_argument("--seed", type=int, default=1, help="of the kills")
    return parser.parse_args()
