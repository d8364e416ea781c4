"""Steps a CPU second of `dardis/Queue-v0` beside a pure-Python environment, with the same picks and results."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

import dardis.gym  # noqa: F401 (registers the environments)
from scripts.lab.bench.measure import Row, RunError, cpu_of
from scripts.lab.bench.python_queue_env import PLACES, PythonQueueEnv, QueuedJob
from scripts.lab.kit.command import ROOT
from scripts.lab.kit.spread import Spread

JOBS, WINDOWS = 1024, 4
PLATFORM = ROOT / "launch" / "platforms" / "kth-sp2.toml"
"""Nodes of one core, where a pool of cores gives the same schedules."""


def environments(trace: Path, repeats: int) -> list[Row]:
    """Parts of a trace, where the first job is always picked."""
    env: Any = gymnasium.make(
        "dardis/Queue-v0", trace=trace, platform=PLATFORM, jobs_per_episode=JOBS, jobs_seen=PLACES
    )
    jobs = env.unwrapped.jobs
    places = np.linspace(0, len(jobs) - JOBS, WINDOWS, dtype=int).tolist()
    _ours(env, places[0])
    costs: dict[str, list[float]] = {"pure Python": [], "dardis/Queue-v0": []}
    for turn in range(repeats):
        told = {}
        for name, play in (
            ("pure Python", lambda place: _theirs(jobs, place)),
            ("dardis/Queue-v0", lambda place: _ours(env, place)),
        ):
            found, spent = cpu_of(lambda play=play: [play(place) for place in places])  # type: ignore[misc]
            told[name] = found
            costs[name].append(spent / sum(steps for steps, _ in found))
            sys.stderr.write(f"turn {turn + 1}/{repeats}  {name}: {1 / costs[name][-1]:.0f} steps / CPU s\n")
        if not np.allclose(told["pure Python"], told["dardis/Queue-v0"]):
            raise RunError(f"the environments differ: {told}")
    steps = sum(count for count, _ in told["pure Python"])
    rows = [
        Row("environments", name, steps, Spread.of([one * steps for one in spent])) for name, spent in costs.items()
    ]
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
    env = PythonQueueEnv(part, 100)
    steps, done = 0, False
    while not done:
        _, reward, done = env.step(0)
        steps += 1
    return steps, reward
