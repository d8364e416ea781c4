"""What is run: workloads I to V in three versions on three machines, and who dispatches them; runs are kept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dardis.dispatch.auction.setups import AUCTION_SETUPS
from dardis.workload.csv_trace import write_table
from dardis.workload.generate import MACHINES, WORKLOADS, AuctionParameters, generate_auction
from scripts.lab.kit.cache import Run, cached_file
from scripts.lab.kit.command import PLATFORMS

MACHINE_OF: Final = {"5": "S", "6": "M", "7": "L", "8": "L"}
"""The machine of each table of the paper."""
ADDITIONAL: Final = "8"
CONTIGUOUS: Final = {1: 0, 2: 50, 3: 100}
"""Percent of the jobs of each version that ask for neighbouring nodes."""

DispatcherSettings = tuple[str, ...]
"""A dispatcher, and what is set."""
EASY, PRINTED, LATE = "easy", "aucsched, as printed", "dardis-late"
MAIN_LOOP = "aucsched, main loop"
CONTENDERS: Final[dict[str, DispatcherSettings]] = {
    EASY: ("easy", "node_choice=contiguous"),
    LATE: ("dardis-late",),
    "conservative": ("conservative", "node_choice=contiguous"),
    "replan": ("replan",),
    PRINTED: ("aucsched", "slurm_bids=on", "alpha=paper"),
    MAIN_LOOP: ("aucsched", "slurm_bids=on", "alpha=paper", "window=200", "main_loop=on"),
    "aucsched": ("aucsched", "slurm_bids=off", "alpha=exact"),
}
"""Of tables 5 to 7, those that take least time first."""
_SEARCH: Final = AUCTION_SETUPS["aucsched"].search_nodes
_LARGEST: Final = "bids_per_job=15"
KINDS: Final[dict[str, DispatcherSettings]] = {
    "": (),
    "largest": (_LARGEST,),
    "largest - longsolve": (_LARGEST, f"search_nodes={2 * _SEARCH}"),
    "largest - shortsolve": (_LARGEST, f"search_nodes={round(0.6 * _SEARCH)}"),
    "contigonlybids": ("bids=contiguous",),
}
"""Of table 8, whose solver had 10 and 3 s instead of 5."""


@dataclass(frozen=True, slots=True)
class Case:
    """A workload version in a table of the paper; in table 8 of a kind."""

    table: str
    workload: str
    version: int
    kind: str = ""

    @property
    def name(self) -> str:
        """What the paper calls it."""
        return f"{self.workload}.{self.version}" + (f" - {self.kind}" if self.kind else "")

    @property
    def machine(self) -> str:
        """S, M or L."""
        return MACHINE_OF[self.table]

    @property
    def platform(self) -> Path:
        """Its machine's file."""
        return PLATFORMS / f"auction-{MACHINES[self.machine]}.toml"

    @property
    def contenders(self) -> dict[str, DispatcherSettings]:
        """Who is run, by label; late binding where no job has a shape, which it does not obey."""
        if self.table == ADDITIONAL:
            printed = ("aucsched", "slurm_bids=off", "alpha=paper", *KINDS[self.kind])
            return {EASY: CONTENDERS[EASY], PRINTED: printed}
        plain = self.workload == "I" and not CONTIGUOUS[self.version]
        return {label: asked for label, asked in CONTENDERS.items() if plain or label != LATE}

    def trace(self, out: Path, seed: int, hours: float) -> Path:
        """Its jobs, drawn if they are not there."""
        path = out / "traces" / f"{self.machine}-{self.workload}.{self.version}-{hours:g}h-{seed}.csv"
        wanted = AuctionParameters(self.workload, self.machine, CONTIGUOUS[self.version], hours)
        return cached_file(path, lambda draft: write_table(generate_auction(wanted, seed), draft))


def cases_of(table: str) -> list[Case]:
    """The cases of a table, in its order."""
    if table != ADDITIONAL:
        return [Case(table, workload, version) for workload in WORKLOADS for version in CONTIGUOUS]
    every = [Case(table, "V", version, kind) for kind in KINDS for version in CONTIGUOUS]
    # With all jobs contiguous there are no other bids anyway.
    return [case for case in every if (case.kind, case.version) != ("contigonlybids", 3)]


def requested_runs(seeds: dict[str, list[int]], hours: float, out: Path) -> Iterator[tuple[Case, str, int, Run]]:
    """Every run of tables with their seeds, in the order in which they are worth having.

    Seed by seed, then table by table, and in a table those first that take least time.
    """
    for seed in dict.fromkeys(seed for of in seeds.values() for seed in of):
        for table in (table for table, of in seeds.items() if seed in of):
            for label in CONTENDERS:
                for case in cases_of(table):
                    if label in case.contenders:
                        trace = case.trace(out, seed, hours)
                        yield case, label, seed, Run(case.contenders[label], trace, case.platform)
