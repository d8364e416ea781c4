"""What is run, each in a folder that is kept: the thesis's three tests, its test 0, and Eurora-2014 with its days."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from dardis.metrics.jobs_csv import read_jobs
from dardis.model.resources import CORES
from dardis.workload.trace_reader import read_trace
from scripts.lab.kit.cache import Run, cached_file
from scripts.lab.kit.command import DARDIS, EURORA_PLATFORM, PLATFORMS, run_quietly
from scripts.lab.thesis_4 import paper

DAY_S: Final = 86_400
WEEK_S: Final = 7 * DAY_S


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a run: jobs submitted, their wait over the queue's longest (mean, deviation), mean cores in use."""

    jobs: int
    weighted_wait: float
    deviation: float
    cores: float


def spans_of(path: Path, span_s: int) -> list[Span]:
    """By days or weeks from the first submission on; the last span ends with the last submission."""
    schedule = read_jobs(path)
    ran = schedule.ran
    first = int(schedule.submit.min())
    longest = np.array([paper.LONGEST_WAITS_S.get(queue, paper.OTHERS_S) for queue in schedule.queue])[ran]
    submit, start, finish = schedule.submit[ran] - first, schedule.start[ran] - first, schedule.finish[ran] - first
    cores = (schedule.units * schedule.request[:, schedule.kinds.index(CORES)])[ran]
    weighted = (start - submit) / longest
    found = []
    last = int(submit.max()) + 1
    for begin in range(0, last, span_s):
        end = min(begin + span_s, last)
        inside = (submit >= begin) & (submit < end)
        runs = np.maximum(np.minimum(finish, end) - np.maximum(start, begin), 0)
        there = weighted[inside] if inside.any() else np.zeros(1)
        wait, deviation = float(there.mean()), float(there.std())
        found.append(Span(int(inside.sum()), wait, deviation, float((runs * cores).sum()) / (end - begin)))
    return found


def mean_walltime_s(path: Path) -> float:
    """Of the jobs of a run."""
    return float(read_jobs(path).walltime.mean())


KINDS: Final = (1, 2, 3, 4, 6)


@dataclass(frozen=True, slots=True)
class Test:
    """A generated workload: the thesis's table, nodes, jobs and resource kinds."""

    table: str
    nodes: int
    jobs: int
    kinds: int = 4

    def trace(self, out: Path, seed: int) -> Path:
        """Its jobs, drawn if they are not there."""
        path = out / "traces" / f"eurora-{self.nodes}-{self.jobs}-{self.kinds}-{seed}.csv"
        sizes = ("--jobs", self.jobs, "--nodes", self.nodes, "--kinds", self.kinds, "--seed", seed)
        wanted = (*map(str, sizes), "--begin", "2014-12-01")
        command = (*DARDIS, "trace", "generate", "eurora")
        return cached_file(path, lambda draft: run_quietly(*command, str(draft), *wanted))


TESTS: Final = (Test("4.13", 4, 99), Test("4.14", 65, 330), Test("4.15", 65, 700))
LARGEST: Final = Test("section 4.4", 65, 1600)
HETEROGENEITY: Final = tuple(Test("figure 4.5", 4, 100, kinds) for kinds in KINDS)


def generated(test: Test, seeds: list[int], dispatchers: tuple[str, ...], out: Path) -> dict[tuple[str, int], Run]:
    """The runs of a test, by dispatcher and seed."""
    platform = PLATFORMS / f"eurora-{test.nodes}.toml"
    return {
        (dispatcher, seed): Run(tuple(dispatcher.split()), test.trace(out, seed), platform)
        for seed in seeds
        for dispatcher in dispatchers
    }


def recorded(trace: Path, most_jobs: int, out: Path) -> dict[str, Run]:
    """The runs on Eurora-2014, by dispatcher; its platform has the thesis's longest waits."""
    text = EURORA_PLATFORM.read_text(encoding="utf-8")
    for queue in sorted({*read_trace(trace).queue.tolist()}):
        longest = paper.LONGEST_WAITS_S.get(queue, paper.OTHERS_S)
        text += f'\n[[queues]]\nname = "{queue}"\nlongest_wait_s = {longest}\n'
    platform = out / "eurora-2014.toml"
    platform.write_text(text, encoding="utf-8")
    first = ("--jobs", str(most_jobs))
    return {name: Run(tuple(name.split()), trace, platform, first) for name in (*paper.OPPONENTS, paper.PORTFOLIO)}
