"""What is run: the thesis's three tests, its test 0, and the days of Eurora-2014; each run is kept in a folder."""

from __future__ import annotations

import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from dardis.workload.read import read_trace
from scripts.lab.kit.cache import fingerprint, kept_metrics
from scripts.lab.kit.command import DARDIS, ROOT
from scripts.lab.thesis_4 import paper

PLATFORMS: Final = ROOT / "launch" / "platforms"
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
        if not path.is_file():
            path.parent.mkdir(parents=True, exist_ok=True)
            sizes = ("--jobs", self.jobs, "--nodes", self.nodes, "--kinds", self.kinds, "--seed", seed)
            command = (*DARDIS, "trace", "generate", "eurora", str(path), *map(str, sizes), "--begin", "2014-12-01")
            subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
        return path


TESTS: Final = (Test("4.13", 4, 99), Test("4.14", 65, 330), Test("4.15", 65, 700))
HETEROGENEITY: Final = tuple(Test("figure 4.5", 4, 100, kinds) for kinds in KINDS)


@dataclass(frozen=True, slots=True)
class Run:
    """A dispatcher on a trace; `most_jobs` of it, if that is bounded."""

    dispatcher: str
    trace: Path
    platform: Path
    most_jobs: int | None = None

    def folder(self, out: Path) -> Path:
        """Where it is kept."""
        told = fingerprint(self.trace.name, self.platform.read_text(encoding="utf-8"), self.dispatcher, self.most_jobs)
        return out / "runs" / f"{self.trace.stem}-{self.dispatcher}-{told}"


def run(one: Run, out: Path, until: float) -> dict[str, Any] | None:
    """Do a run if it is not there; None if it would begin after `until`, s of the machine's clock."""
    folder = one.folder(out)
    if not (folder / "metrics.json").exists() and time.time() > until:
        return None
    bound = () if one.most_jobs is None else ("--jobs", str(one.most_jobs))
    return kept_metrics(
        folder, str(one.trace), "--platform", str(one.platform), "--dispatcher", one.dispatcher, *bound
    )  # fmt: skip


def generated(test: Test, seeds: list[int], dispatchers: tuple[str, ...], out: Path) -> dict[tuple[str, int], Run]:
    """The runs of a test, by dispatcher and seed."""
    platform = PLATFORMS / f"eurora-{test.nodes}.toml"
    return {
        (dispatcher, seed): Run(dispatcher, test.trace(out, seed), platform)
        for seed in seeds
        for dispatcher in dispatchers
    }


def recorded(trace: Path, most_jobs: int, out: Path) -> dict[str, Run]:
    """The runs on Eurora-2014, by dispatcher; its platform has the thesis's longest waits."""
    text = (PLATFORMS / "eurora-2014.toml").read_text(encoding="utf-8")
    for queue in sorted({*read_trace(trace).queue.tolist()}):
        longest = paper.LONGEST_WAITS_S.get(queue, paper.OTHERS_S)
        text += f'\n[[queues]]\nname = "{queue}"\nlongest_wait_s = {longest}\n'
    platform = out / "eurora-2014.toml"
    platform.write_text(text, encoding="utf-8")
    return {name: Run(name, trace, platform, most_jobs) for name in (*paper.OPPONENTS, paper.PORTFOLIO)}
