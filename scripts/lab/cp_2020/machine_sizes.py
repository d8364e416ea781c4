"""Whether the cost of a decision grows with the machine (003, sections 1 and 3), on made-up decisions.

The same jobs wait for the same few free nodes of machines of 64 to 16,384 nodes. All other nodes are in use, either by
one running job of each kind of node, or by a running job each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from statistics import median
from typing import Final

import numpy as np

from dardis.dispatch.cp.decision_problem import DecisionProblem, RunningJobPart, WaitingJob
from dardis.dispatch.cp.setups import CP_SETUPS
from dardis.engine.clock import process_cpu_s
from dardis.model.arrays import Ints
from dardis.model.job import Job
from dardis.model.platform import NodeGroup, Platform
from dardis.report import chart
from scripts.lab.kit.drawing import save, sheet
from scripts.lab.kit.page import write_csv

SIZES: Final = (64, 256, 1_024, 4_096, 16_384)
MODELS: Final = {"PCP'20": "pcp20", "PCP'19": "pcp19", "HCP'19": "hcp19"}
OTHERS: Final = ("one job of each kind of node", "one job a node")
"""What the other nodes are in use by."""
HEAD: Final = ("others' nodes", "nodes", "model", "variables", "CPU a decision (ms): median", "least", "most",
               "solver called, of all decisions")  # fmt: skip
DECISIONS, WAITING, FREE, NOW = 10, 25, 16, 100_000
_AT_FIRST: Final = 32
"""The first nodes of each kind are the same on every machine."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What the decisions of a model cost on machines of a size."""

    others: str
    nodes: int
    model: str
    variables: float
    cpu_ms: Sequence[float]
    asked: int


def _held(nodes: int, seed: int, others: str) -> Iterator[tuple[int, list[int]]]:
    """Kind and nodes of running jobs."""
    free = {*np.random.default_rng(seed).choice(2 * _AT_FIRST, FREE, replace=False).tolist()}
    for kind, first in enumerate((0, nodes // 2)):
        near = [first + k for k in range(_AT_FIRST) if kind * _AT_FIRST + k not in free]
        far = [*range(first + _AT_FIRST, first + nodes // 2)]
        yield from ((kind, [node]) for node in near)
        yield from ((kind, [node]) for node in far) if others == OTHERS[1] else ([(kind, far)] if far else [])


def problem(nodes: int, seed: int, others: str) -> DecisionProblem:
    """A decision: jobs of one to four units like Eurora's, and running jobs of up to ten hours."""
    half = nodes // 2
    platform = Platform(
        "large", (NodeGroup("g", half, {"cores": 16, "gpu": 2}), NodeGroup("m", half, {"cores": 16, "mic": 2}))
    )
    cores, gpu = (platform.kinds.index(kind) for kind in ("cores", "gpu"))
    running = []
    for number, (kind, where) in enumerate(_held(nodes, seed, others), WAITING + 1):
        end = NOW + int(np.random.default_rng([seed, where[0]]).integers(600, 36_000))
        whole = tuple(platform.capacity[where[0]].tolist())
        job = Job(number, 0, 0, None, 1 << 20, len(where), whole, 1 << kind)  # type: ignore[arg-type]
        running.append(RunningJobPart(job, end, end, np.array(where), np.ones(len(where), dtype=np.int64)))
    return DecisionProblem(platform, NOW, tuple(running), tuple(_waiting(seed, len(platform.kinds), cores, gpu)))


def _waiting(seed: int, kinds: int, cores: int, gpu: int) -> Iterator[WaitingJob]:
    rng = np.random.default_rng([seed, 1])
    for number in range(1, WAITING + 1):
        request: Ints = np.zeros(kinds, dtype=np.int64)
        request[cores], request[gpu] = rng.choice([1, 4, 8, 16]), rng.choice([0, 0, 0, 1])
        units, duration, submit = int(rng.choice([1, 1, 1, 2, 4])), int(rng.integers(60, 14_400)), NOW - 7200
        submit += int(rng.integers(0, 7200))
        job = Job(number, submit, submit, None, duration, units, tuple(request.tolist()), 3)  # type: ignore[arg-type]
        yield WaitingJob(job, duration)


def costs() -> list[Cost]:
    """Decide all problems, the first of each size twice: kernels are compiled in the first."""
    found = []
    for others in OTHERS:
        for nodes in SIZES:
            for label, name in MODELS.items():
                model, variables, cpu_ms, asked = CP_SETUPS[name].model(), [], [], 0
                model.decide(problem(nodes, 0, others), 1)
                for seed in range(DECISIONS):
                    case = problem(nodes, seed, others)
                    begun = process_cpu_s()
                    answer = model.decide(case, 1)
                    cpu_ms.append(1e3 * (process_cpu_s() - begun))
                    variables.append(answer.variables)
                    asked += answer.result is not None
                found.append(Cost(others, nodes, label, median(variables), cpu_ms, asked))
    return found


def write(folder: Path, found: Sequence[Cost]) -> None:
    """Write the table, and curves of variables and CPU time by nodes."""
    rows = [
        (one.others, one.nodes, one.model, round(one.variables), f"{median(one.cpu_ms):.3g}", f"{min(one.cpu_ms):.3g}",
         f"{max(one.cpu_ms):.3g}", f"{one.asked} of {DECISIONS}")
        for one in found
    ]  # fmt: skip
    write_csv(folder / "machine_sizes.csv", HEAD, rows)
    with chart.style():
        drawing, panels = sheet(6.0, 2, 2)
        for row, others in enumerate(OTHERS):
            for place, label in enumerate(MODELS):
                mine = [one for one in found if (one.others, one.model) == (others, label)]
                nodes = [one.nodes for one in mine]
                look = chart.line_look(place, marked=True)
                panels[row][0].plot(nodes, [one.variables for one in mine], label=label, **look)
                panels[row][1].plot(nodes, [median(one.cpu_ms) for one in mine], label=label, **look)
                missing = [(one.nodes, median(one.cpu_ms)) for one in mine if one.asked == 0]
                if missing:
                    panels[row][1].plot(
                        *zip(*missing, strict=True), "o", color=chart.INK, fillstyle="none", markersize=9
                    )
            panels[row][0].set_ylabel("variables")
            panels[row][0].set_title(f"the other nodes hold {others}", fontsize="small")
            panels[row][1].set_ylabel("CPU of a decision (ms)")
            panels[row][1].set_title("circle: model too large, our own answer counts", fontsize="small")
        for axes in chain(*panels):
            axes.set_xscale("log", base=2)
            axes.set_yscale("log")
            axes.set_xticks(SIZES, [f"{nodes:,}" for nodes in SIZES])
            axes.set_xlabel("nodes")
        panels[0][0].legend(loc="best")
        save(drawing, folder / "machine_sizes")
