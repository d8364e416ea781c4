"""Makes the workloads of AUCSCHED (6.1 and table 4): jobs of four types, all of which fit one of its three machines.

Promises the same jobs for the same seed; versions that differ in `contiguous` alone have the same jobs otherwise.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from dardis.model.arrays import Ints
from dardis.model.errors import InputError
from dardis.model.randomness import stream
from dardis.model.resources import CORES
from dardis.workload.table import processors
from dardis.workload.trace import StatedPart, StatedRequest, Trace, build_trace

AUCTION: Final = "auction"
MACHINES: Final = {"S": 128, "M": 256, "L": 1024}
"""Nodes of each."""
NODE_CORES: Final = 8
SHORTEST, LONGEST = 60, 600
"""Runtimes (s) are uniform, both included."""
MOST_HOURS: Final = 100
GPU: Final = "gpu"


class _Type(NamedTuple):
    """A column of table 4."""

    node_cores: tuple[int, ...]
    """How many cores it may ask for on each node, each as likely; none: it asks for cores wherever they are."""
    gpus: int
    """On each node."""


_TYPES: Final = (_Type((), 0), _Type((4, 8), 0), _Type((1, 2), 1), _Type((2, 4), 2))
WORKLOADS: Final = {"I": (1, 0, 0, 0), "II": (0, 1, 0, 0), "III": (1, 1, 0, 0), "IV": (2, 2, 1, 0), "V": (2, 2, 1, 1)}
"""Weights of the types, the rows of table 4."""


class Auction(NamedTuple):
    """Which of them is made."""

    workload: str = "I"
    machine: str = "S"
    contiguous: int = 0
    """Percent of the jobs that ask for neighbouring nodes, each by chance."""
    hours: float = 4.0
    """Theoretical runtime that is reached: runtime times cores of all jobs over the cores of the machine."""
    max_share: float = 0.1
    """Of the machine's cores the most that a job may ask for. AUCSCHED does not print it; docs/formats.md has why."""


def generate_auction(wanted: Auction, seed: int) -> Trace:
    """The jobs, all submitted at second 0, with their runtimes for walltimes. Raises InputError."""
    _check(wanted)
    nodes = MACHINES[wanted.machine]
    rng = stream(seed, "generate", AUCTION)
    blocks: list[dict[str, Ints]] = []
    need = max(1, round(wanted.hours * 3600 * nodes * NODE_CORES))
    while need > 0:
        block = _block(wanted, nodes, rng)
        work = np.cumsum(block["runtime"] * block["cores"])
        blocks.append({name: values[: int(np.searchsorted(work, need)) + 1] for name, values in block.items()})
        need -= int(work[-1])
    drawn = {name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]}
    return _trace(drawn)


def _check(wanted: Auction) -> None:
    for option, value, known in (("workload", wanted.workload, WORKLOADS), ("machine", wanted.machine, MACHINES)):
        if value not in known:
            raise InputError(f"--{option}", repr(value), "one of " + ", ".join(known))
    if not 0 <= wanted.contiguous <= 100:
        raise InputError("--contiguous", f"{wanted.contiguous}", "0 to 100 percent of the jobs")
    if not 0 < wanted.hours <= MOST_HOURS:
        raise InputError("--hours", f"{wanted.hours}", f"above 0, at most {MOST_HOURS}")
    nodes = MACHINES[wanted.machine]
    if not 1 / nodes <= wanted.max_share <= 1:
        expected = f"from {1 / nodes:g} (a node of machine {wanted.machine}) to 1"
        raise InputError("--max-share", f"{wanted.max_share}", expected)


def _block(wanted: Auction, nodes: int, rng: np.random.Generator) -> dict[str, Ints]:
    """Some jobs. `node_cores` is 0 where they may be on any nodes.

    "The number of CPUs a job requests is multiples of the CPUs per node in a system": so are the cores in all of every
    type, and nodes follow from them. No job asks for more nodes than there are.
    """
    size = 1000
    weights = np.array(WORKLOADS[wanted.workload])
    type_ = rng.choice(len(_TYPES), size, p=weights / weights.sum())
    second = rng.integers(0, 2, size)
    node_cores = np.array([t.node_cores or (0, 0) for t in _TYPES])[type_, second]
    most = int(wanted.max_share * nodes) * NODE_CORES
    most_here = np.minimum(most, np.where(node_cores > 0, node_cores, NODE_CORES) * nodes)
    return {
        "node_cores": node_cores,
        "gpus": np.array([t.gpus for t in _TYPES])[type_],
        "cores": rng.integers(1, most_here // NODE_CORES, endpoint=True) * NODE_CORES,
        "runtime": rng.integers(SHORTEST, LONGEST, size, endpoint=True),
        "contiguous": (100 * rng.random(size) < wanted.contiguous).astype(np.int64),
    }


def _trace(drawn: dict[str, Ints]) -> Trace:
    node_cores, runtime = drawn["node_cores"], drawn["runtime"]
    unit_cores = np.where(node_cores > 0, node_cores, 1)
    units = drawn["cores"] // unit_cores
    request = {CORES: unit_cores, GPU: drawn["gpus"]}
    numbers = np.arange(1, len(units) + 1)
    requests = {}
    shape = zip(units.tolist(), node_cores.tolist(), drawn["contiguous"].tolist(), runtime.tolist(), strict=True)
    for place, (count, on_nodes, contiguous, seconds) in enumerate(shape):
        if on_nodes or contiguous:
            asked = {kind: int(amounts[place]) for kind, amounts in request.items()}
            part = StatedPart(count, asked, "", count if on_nodes else 0)
            requests[place + 1] = (StatedRequest((part,), seconds, seconds, bool(contiguous)),)
    columns = {
        "number": numbers, "submit": np.zeros_like(numbers), "runtime": runtime, "walltime": runtime, "units": units,
        "procs": processors(units, request), "request": request, "requests": requests,
    }  # fmt: skip
    return build_trace(Path(AUCTION), numbers, columns, [], strict=True)
