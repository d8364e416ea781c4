"""Replays an SWF trace under FCFS or EASY on a pool of equal cores: the smallest loop that gives the right schedule.

Promises the textbook's schedule: at each instant first all completions, then all arrivals, then one pass whose
reservation is worked out from scratch. It knows no nodes and no other resources, and it imports nothing of the project
and no outside library, so that its CPU time is what plain Python needs at the least.
"""

from __future__ import annotations

import argparse
import gzip
import sys
from heapq import heappop, heappush
from itertools import islice
from pathlib import Path
from typing import NamedTuple


class Jobs(NamedTuple):
    """A workload as columns in order of arrival; times in s, the first submit is 1, `cores` is what a job holds."""

    submit: list[int]
    runtime: list[int]
    estimate: list[int]
    cores: list[int]


def read_jobs(path: Path, machine: int, limit: int | None = None, partition: int | None = None) -> Jobs:
    """Read the first `limit` jobs that fit `machine` cores, of one partition (SWF field 16) or of all.

    Cores are the requested ones, else the allocated ones. A job's estimate is never below its runtime, so no job is
    killed. Jobs without runtime, cores or a submit time are left out.
    """
    rows: list[tuple[int, int, int, int]] = []
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as lines:
        for line in lines:
            fields = line.split()
            if not fields or fields[0].startswith(";") or (partition is not None and int(fields[15]) != partition):
                continue
            submit, runtime, cores = int(float(fields[1])), int(float(fields[3])), int(fields[7])
            if cores <= 0:
                cores = int(fields[4])
            if runtime > 0 and 0 < cores <= machine and submit >= 0:
                rows.append((submit, runtime, max(int(float(fields[8])), runtime), cores))
    rows.sort(key=lambda row: row[0])
    rows = rows[:limit]
    if not rows:
        raise SystemExit(f"{path}: no job that fits {machine} cores")
    submits, runtimes, estimates, cores_of = (list(column) for column in zip(*rows, strict=True))
    first = submits[0] - 1
    return Jobs([submit - first for submit in submits], runtimes, estimates, cores_of)


def backfill(
    queue: list[int], jobs: Jobs, now: int, free: int, running: list[tuple[int, int]]
) -> tuple[list[int], list[int]]:
    """Return which jobs behind the blocked head of the queue start now, and the queue that is left.

    `running` holds (estimated end, cores) in ascending order. A job starts if it fits now, and either is over before
    the head can start (the shadow time) or needs no more cores than the head leaves over then.
    """
    estimate, cores = jobs.estimate, jobs.cores
    needed = cores[queue[0]]
    shadow, then_free = now, free
    for end, held in running:
        if then_free >= needed and end > shadow:
            break
        shadow, then_free = end, then_free + held
    extra = then_free - needed
    longest = shadow - now
    started = []
    for job in islice(queue, 1, None):
        width = cores[job]
        if width > free:
            continue
        if estimate[job] > longest:
            if width > extra:
                continue
            extra -= width
        started.append(job)
        free -= width
        if not free:
            break
    if not started:
        return started, queue
    gone = set(started)
    return started, [job for job in queue if job not in gone]


def schedule(jobs: Jobs, machine: int, *, easy: bool) -> list[int]:
    """Return the start time of every job."""
    submit, runtime, estimate, cores = jobs
    count = len(submit)
    starts = [0] * count
    queue: list[int] = []
    ends: list[tuple[int, int]] = []
    running: dict[int, tuple[int, int]] = {}
    free = machine
    arrived = 0

    def start(job: int, now: int) -> None:
        starts[job] = now
        heappush(ends, (now + runtime[job], job))
        running[job] = (now + estimate[job], cores[job])

    while arrived < count or ends:
        now = ends[0][0] if ends and (arrived == count or ends[0][0] <= submit[arrived]) else submit[arrived]
        while ends and ends[0][0] == now:
            job = heappop(ends)[1]
            free += cores[job]
            del running[job]
        while arrived < count and submit[arrived] == now:
            queue.append(arrived)
            arrived += 1
        head = 0
        while head < len(queue) and cores[queue[head]] <= free:
            free -= cores[queue[head]]
            start(queue[head], now)
            head += 1
        del queue[:head]
        if easy and free and len(queue) > 1:
            started, queue = backfill(queue, jobs, now, free, sorted(running.values()))
            for job in started:
                free -= cores[job]
                start(job, now)
    return starts


def main() -> None:
    """Replay the trace named on the command line and print what identifies the schedule."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trace", type=Path, help="SWF file, plain or gzip")
    parser.add_argument("--cores", type=int, required=True, help="cores of the machine")
    parser.add_argument("--jobs", type=int, help="replay the first JOBS only")
    parser.add_argument("--policy", choices=("easy", "fcfs"), default="easy")
    options = parser.parse_args()
    jobs = read_jobs(options.trace, options.cores, options.jobs)
    starts = schedule(jobs, options.cores, easy=options.policy == "easy")
    total, submitted = sum(starts), sum(jobs.submit)
    sys.stdout.write(f"jobs={len(starts)} sum_start={total} mean_wait_s={(total - submitted) / len(starts):.4f}\n")


if __name__ == "__main__":
    main()
