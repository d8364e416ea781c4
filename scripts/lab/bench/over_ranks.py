"""What a question through a tree of ranks takes until all have answered, beside MPI alone with the same bytes.

Beside a broadcast and a gather, and beside a tree of bare `mpi4py` messages: for each number of ranks one launch, in
which all of them take turns. Waiting ranks poll and share the cores, so it is clock time that is compared.
"""

from __future__ import annotations

import json
import sys

from dardis.registry import find_dispatcher
from dardis.runs.kernel_warmup import warm_reach
from scripts.lab.bench.measure import Row, output_of
from scripts.lab.kit.command import ROOT
from scripts.lab.kit.spread import Spread

RANKS = (16, 64)
NODES, ARITY, JOBS = 6_400, 8, 25
BESIDE = {"tree": ("a tree of bare messages", "<= 3"), "collective": ("bare broadcast and gather", "<= 8")}
"""What a question's time is compared with, and the goal on the most ranks."""
MODULE = "scripts.lab.bench.rank_of_tree"


def over_ranks(repeats: int) -> list[Row]:
    """Two rows for each number of ranks. CPU time is a leaf's, from having a question to waiting for the next."""
    warm_reach(find_dispatcher("dardis-throughput"))  # once for all ranks
    rows = []
    for ranks in RANKS:
        arguments = [str(number) for number in (NODES, ARITY, JOBS, repeats)]
        command = [str(ROOT / "launch" / "mpirun"), "-n", str(ranks), sys.executable, "-m", MODULE, *arguments]
        taken: dict[str, list[float]] = json.loads(output_of(command))
        for name, (program, goal) in BESIDE.items():
            rows.append(
                Row(
                    f"a question to {NODES} nodes on {ranks} ranks", f"arity {ARITY}, beside {program}", JOBS,
                    Spread.of(taken["leaf"]), Spread.of(taken["peak_mib"]),
                    Spread.ratio(taken["question"], taken[name]), f"time / that of {program}",
                    goal if ranks == RANKS[-1] else "",
                    {**_in_ms("question", taken["question"]), **_in_ms("bare", taken[name]),
                     "relay_cpu_ms": round(Spread.of(taken["relay"]).median * 1e3, 3)},
                )
            )  # fmt: skip
    return rows


def _in_ms(name: str, taken_s: list[float]) -> dict[str, float]:
    spread = Spread.of([1e3 * one for one in taken_s])
    figures = {"": spread.median, "_least": spread.least, "_most": spread.most}
    return {f"{name}_ms{which}": round(figure, 2) for which, figure in figures.items()}
