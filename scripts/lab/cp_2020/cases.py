"""What is run for PCP'20: Eurora, and on KIT's machine the middle of a Curie trace at another load."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from dardis.config.platform import load_platform
from dardis.workload.read import read_trace
from dardis.workload.trace import Trace
from scripts.lab.kit.command import ROOT, convert
from scripts.lab.kit.compared import Contender, Experiment
from scripts.lab.kit.constraint import EASY, REPLAN, named, newest, versioned

CURIE: Final = "CEA-Curie-2011-derived295k.swf.gz"
KIT_PLATFORM: Final = ROOT / "launch" / "platforms" / "forhlr2.toml"
JOBS: Final = 10_000
LOAD: Final = 0.7
KIT_EXPECTED: Final = ("L2", "R")
EURORA_EXPECTED: Final = ("D", "R")
_SHOWN: Final = {
    "HCP3": "HCP'19", "HCP19": "HCP'19", "PCP3": "PCP'19", "PCP19": "PCP'19", "PCP20": "PCP'20"
}  # fmt: skip
NAMES: Final = ("HCP'19", "PCP'19", "PCP'20", EASY, REPLAN)


@dataclass(frozen=True)
class Cut:
    """So many jobs of a trace that fit a machine of so many cores, from the time of the first of them on."""

    cores: int
    since: int
    jobs: int
    load: float
    """What they ask of the machine between the first and the last submission, as they were submitted."""

    def options(self, load: float) -> tuple[str, ...]:
        """How `dardis trace convert` makes it, brought to another load."""
        return (
            f"--max-width={self.cores}", f"--from={self.since}", f"--jobs={self.jobs}", f"--load={load / self.load:.6f}"
        )  # fmt: skip


def middle(trace: Trace, cores: int, jobs: int) -> Cut:
    """The middle jobs of those that fit; all that were submitted with the first of them as well."""
    fits = np.flatnonzero(trace.procs <= cores)
    first = int(trace.submit[fits[max(0, (len(fits) - jobs) // 2)]])
    chosen = fits[trace.submit[fits] >= first][:jobs]
    area = int((trace.procs[chosen] * trace.runtime[chosen]).sum())
    span = int(trace.submit[chosen[-1]]) - first
    return Cut(cores, first, len(chosen), area / (cores * span))


def kit(traces: Path, out: Path, jobs: int | None) -> tuple[Cut, Experiment]:
    """KIT's machine under the middle of the Curie trace, of which `jobs` may name the first to be run."""
    platform = load_platform(KIT_PLATFORM)
    cores = int(platform.capacity[:, platform.kinds.index("cores")].sum())
    cut = middle(read_trace(traces / CURIE), cores, JOBS)
    trace = out / "curie.swf"
    convert(traces / CURIE, trace, *cut.options(LOAD))
    contenders = [newest(name, how) for how in KIT_EXPECTED for name in NAMES]
    return cut, Experiment(named("KIT", jobs), trace, KIT_PLATFORM, contenders, jobs=jobs)


def eurora_contenders() -> list[Contender]:
    """The same on Eurora, where PCP'19 and HCP'19 are called as in paper 002."""
    return [
        versioned(name.removesuffix("'19"), 3, how) if name.endswith("'19") else newest(name, how)
        for how in EURORA_EXPECTED
        for name in NAMES
    ]


def shown(label: str) -> str:
    """What paper 003 calls a contender."""
    name, dash, expected = label.rpartition("-")
    return _SHOWN.get(name, name) + dash + expected
