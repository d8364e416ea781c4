"""What is run: the thesis's three tests, its test 0, and the days of Eurora-2014; each run is kept in a folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dardis.workload.trace_reader import read_trace
from scripts.lab.kit.cache import Run
from scripts.lab.kit.command import DARDIS, EURORA_PLATFORM, PLATFORMS, run_quietly
from scripts.lab.thesis_4 import paper

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
            wanted = ("eurora", str(path), *map(str, sizes), "--begin", "2014-12-01")
            run_quietly(*DARDIS, "trace", "generate", *wanted)
        return path


TESTS: Final = (Test("4.13", 4, 99), Test("4.14", 65, 330), Test("4.15", 65, 700))
HETEROGENEITY: Final = tuple(Test("figure 4.5", 4, 100, kinds) for kinds in KINDS)


def generated(test: Test, seeds: list[int], dispatchers: tuple[str, ...], out: Path) -> dict[tuple[str, int], Run]:
    """The runs of a test, by dispatcher and seed."""
    platform = PLATFORMS / f"eurora-{test.nodes}.toml"
    return {
        (dispatcher, seed): Run((dispatcher,), test.trace(out, seed), platform)
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
    return {name: Run((name,), trace, platform, first) for name in (*paper.OPPONENTS, paper.PORTFOLIO)}
