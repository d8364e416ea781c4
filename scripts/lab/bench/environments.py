"""Steps a CPU second of `dardis/Queue-v0` beside a pure-Python environment, with the same picks and results."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

import dardis
import dardis.gym
from scripts.lab.bench.measure import Row, RunError, cpu_of
from scripts.lab.bench.python_queue_env import PLACES, PythonQueueEnv, QueuedJob
from scripts.lab.kit.spread import Spread

JOBS, WINDOWS, CORES = 1024, 4, 100
LOAD = 2
"""Jobs arrive so many times as fast as in the trace, so that the queue is long."""
MACHINES = {"a pool of 100 cores": (1, CORES), "100 nodes of a core": (CORES, 1)}
"""Both have the schedules of a count of cores."""


def environments(trace: Path, repeats: int) -> list[Row]:
    """Parts of a trace, where the first job is always picked."""
    frame = dardis.read_trace(trace).frame
    busy = dardis.Trace(frame.assign(submit_s=frame["submit_s"] // LOAD), name=trace.name)
    return [row for name in MACHINES for row in _beside(name, busy, repeats)]


def _beside(name: str, trace: dardis.Trace, repeats: int) -> list[Row]:
    nodes, cores = MACHINES[name]
    platform = dardis.Platform(dardis.nodes(nodes, cores=cores))
    env: Any = gymnasium.make(
        "dardis/Queue-v0", trace=trace, platform=platform, jobs_per_episode=JOBS, jobs_seen=PLACES
    )
    jobs = env.unwrapped.jobs
    places = np.linspace(0, len(jobs) - JOBS, WINDOWS, dtype=int).tolist()
    _ours(env, places[0])
    costs: dict[str, list[float]] = {"pure Python": [], "dardis/Queue-v0": []}
    for turn in range(repeats):
        theirs, spent = cpu_of(lambda: [_theirs(jobs, place) for place in places])
        costs["pure Python"].append(spent)
        ours, spent = cpu_of(lambda: [_ours(env, place) for place in places])
        costs["dardis/Queue-v0"].append(spent)
        if not np.allclose(theirs, ours):
            raise RunError(f"the environments differ: {theirs}, {ours}")
        steps = sum(count for count, _ in ours)
        told = ", ".join(f"{program} {steps / spent[-1]:.0f}" for program, spent in costs.items())
        sys.stderr.write(f"turn {turn + 1}/{repeats}  {name}, steps a CPU s: {told}\n")
    rows = [Row(f"environments, {name}", program, steps, Spread.of(spent)) for program, spent in costs.items()]
    ratio = Spread.ratio(*costs.values())
    return [rows[0], replace(rows[1], ratio=ratio, ratio_of="steps a CPU s / pure Python's", goal=">= 20")]


def _ours(env: Any, first: int) -> tuple[int, float]:  # noqa: ANN401 (a wrapped environment)
    env.reset(options={"first": first})
    steps, done = 0, False
    while not done:
        _, reward, done, _, _ = env.step(0)
        steps += 1
    return steps, reward


def _theirs(jobs: list[Any], first: int) -> tuple[int, float]:
    part = [
        QueuedJob(place, job.submit, job.duration, job.walltime, job.units * job.request[0])
        for place, job in enumerate(jobs[first : first + JOBS])
    ]
    env = PythonQueueEnv(part, CORES)
    steps, done = 0, False
    while not done:
        _, reward, done = env.step(0)
        steps += 1
    return steps, reward
