"""What late binding is chosen on and judged on: traces of real and made machines, at their own load and at others.

A trace that any part of the rule was chosen on counts as chosen on; the others are to be judged on alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np

from dardis.config.platform_file import load_platform
from dardis.model.randomness import stream
from dardis.workload.csv_trace import write_table
from dardis.workload.trace import Trace
from dardis.workload.trace_jobs import in_units
from dardis.workload.trace_reader import read_trace
from dardis.workload.transform import offered_load, resubmitted, with_load
from scripts.lab.kit.cache import cached_file
from scripts.lab.kit.command import DARDIS, EURORA_PLATFORM, PLATFORMS, equal_nodes, run_quietly

FIRST: Final = 10_000
"""Jobs of a case that is not a whole trace."""
FEW: Final = 5000
"""Jobs of a case of the frontier, which has many runs."""
MANY: Final = 40_000
"""The same of RADDIT, of which fewer do not wait."""
LOADS: Final = (None, 0.7, 0.9, 1.1, 1.3)
"""None: its own."""
SHAKEN_S: Final = 60
"""Submissions of a shaken trace are later by up to a minute, each by chance."""
WALLTIMES: Final = ("stated", "exact", "doubled", "five times", "equal")


@dataclass(frozen=True, slots=True)
class Source:
    """A trace, its machine, and whether the rule is chosen on it."""

    name: str
    file: str
    """Of the folder of traces; "": it is made by `dardis trace generate rivals` with the seed that its name ends in."""
    nodes: int
    """With so many cores each; 0: a platform file of ours."""
    cores: int
    chosen_on: bool
    cut: tuple[str, ...] = ()
    """Options of `dardis trace convert`."""

    def platform(self, out: Path) -> Path:
        """Its machine's file."""
        if self.nodes == 0:
            return EURORA_PLATFORM if self.file else PLATFORMS / "eurora.toml"
        return equal_nodes(out, self.nodes, self.cores)


SOURCES: Final = {
    source.name: source
    for source in (
        Source("KTH", "KTH-SP2-1996.swf.gz", 100, 1, True),
        Source("HPC2N", "HPC2N-2002-2.2-cln.swf.gz", 120, 2, True),
        Source("Curie partition 4", "CEA-Curie-2012-slice36k.swf.gz", 300, 32, True, ("--partition", "4")),
        Source("Curie 2011", "CEA-Curie-2011-derived295k.swf.gz", 5040, 16, True, ("--from", "43025465")),
        Source("Wagap", "MetaCentrum-Wagap-2013.swf.gz", 136, 16, True),
        Source("rivals 1", "", 0, 0, True),
        Source("SDSC-BLUE", "SDSC-BLUE-2000-4.2-cln.swf.gz", 144, 8, True),
        Source("Eurora", "Eurora-2014.csv.gz", 0, 0, False),
        Source("RADDIT", "NREL-RADDIT-2024.swf.gz", 2229, 1, False, ("--from", "4377851")),
        Source("rivals 2", "", 0, 0, False),
    )
}
"""RADDIT counts nodes, and is cut to the submissions since 2024-08-30, before which only long waits are in it.
Curie 2011 is cut to the jobs from the 100,000th on, since the load of earlier ones is low."""
_WHOLE: Final = ("KTH", "Wagap", "HPC2N", "SDSC-BLUE")
"""Of the others the first jobs are all, or nearly."""


@dataclass(frozen=True, slots=True)
class Case:
    """A trace at a load."""

    source: str
    load: float | None = None
    jobs: int | None = FIRST
    """So many of the first; None: all."""
    shaken: int = 0
    """Seed by which submissions are shaken; 0: they are not."""
    walltimes: str = "stated"

    @property
    def name(self) -> str:
        """For tables and files."""
        size = "" if self.jobs is None else f", {self.jobs / 1000:g}k"
        told = f"{self.source}{size}, {'own load' if self.load is None else format(self.load, 'g')}"
        told += "" if self.walltimes == "stated" else f", walltimes {self.walltimes}"
        return told + (f", shaken {self.shaken}" if self.shaken else "")

    @property
    def chosen_on(self) -> bool:
        """Whether the rule was chosen on it; else it is judged on."""
        return SOURCES[self.source].chosen_on

    def trace(self, traces: Path, out: Path) -> Path:
        """Its jobs in a file, which is made if it is not there."""
        path = out / "traces" / (self.name.replace(", ", "_").replace(" ", "-") + ".csv")
        return cached_file(path, lambda draft: self._write(draft, traces, out))

    def _write(self, path: Path, traces: Path, out: Path) -> None:
        source = SOURCES[self.source]
        platform = load_platform(source.platform(out))
        made = read_trace(_cut(source, self.jobs, traces, out))
        if self.walltimes != "stated":
            made = with_walltimes(made, self.walltimes)
        if self.load is not None:
            made = with_load(made, platform, self.load)
        if self.shaken:
            made = shake_submissions(made, self.shaken)
        write_table(in_units(made, platform, None), path)

    def load_there(self, traces: Path, out: Path) -> float:
        """What `dardis trace info` prints of it."""
        load = offered_load(read_trace(self.trace(traces, out)), load_platform(SOURCES[self.source].platform(out)))
        return 0.0 if load is None else load


def cases(*, long: bool = True) -> Iterator[Case]:
    """Those of the table, those that the rule is chosen on first."""
    for source in SOURCES:
        if source == "RADDIT":
            yield Case(source, jobs=None)
            continue
        yield from (Case(source, load) for load in LOADS)
        if long and source in _WHOLE:
            yield from (Case(source, load, None) for load in (None, 0.9))


def cases_of_frontier() -> Iterator[Case]:
    """The first jobs of every trace, at its own load and around a full machine."""
    for source in SOURCES:
        if source == "RADDIT":
            yield Case(source, jobs=MANY)
        else:
            yield from (Case(source, load, FEW) for load in (None, 0.9, 1.0, 1.1))


def with_walltimes(trace: Trace, how: str) -> Trace:
    """The trace with other walltimes, none of them below the runtime if the stated one was not."""
    stated = trace.walltime
    other = {
        "exact": np.minimum(trace.runtime, stated),
        "doubled": 2 * stated,
        "five times": 5 * stated,
        "equal": np.full_like(stated, stated.max()),
    }[how]
    nobody_lacks = np.zeros(len(trace), dtype=bool)
    return replace(trace, walltime=other, runtime=np.minimum(trace.runtime, stated), no_walltime=nobody_lacks)


def shake_submissions(trace: Trace, seed: int) -> Trace:
    """The trace with each submission up to a minute later."""
    later = stream(seed, "shaken").integers(0, SHAKEN_S, len(trace), endpoint=True)
    return resubmitted(trace, trace.submit + later)


def _cut(source: Source, jobs: int | None, traces: Path, out: Path) -> Path:
    """The jobs as they were."""
    path = out / "traces" / (source.name.replace(" ", "-") + ("" if jobs is None else f"-{jobs}") + "-cut.csv")
    count = () if jobs is None else ("--jobs", f"{jobs}")
    of: tuple[str, ...] = ("generate", "rivals")
    more: tuple[str, ...] = ("--seed", source.name.split()[-1])
    if source.file:
        of, more = ("convert", str(traces / source.file)), (*source.cut, "--platform", str(source.platform(out)))
    command = (*DARDIS, "trace", *of)
    return cached_file(path, lambda draft: run_quietly(*command, str(draft), *count, *more, "--force"))
