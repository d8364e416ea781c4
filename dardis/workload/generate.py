"""Generates job tables.

- `eurora`: the thesis's generator (4.5.2), for 64 or other numbers of nodes.
- `lublin`: shape of Lublin and Feitelson's model.
- `rivals`: jobs wider than half the machine among narrow ones.
- AUCSCHED workloads, for its machines.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from dardis.model.arrays import Ints
from dardis.model.errors import InputError
from dardis.model.moments import utc_text
from dardis.model.randomness import stream
from dardis.model.resources import CORES, MEMORY
from dardis.workload.csv_trace import processors
from dardis.workload.trace import StatedPart, StatedRequest, Trace, build_trace
from dardis.workload.trace_jobs import in_units

DAY = 86_400
NODE_CORES = 16
NODES, LEAST_NODES, MOST_NODES = 64, 2, 65
KINDS, MOST_KINDS = 4, 6
"""Kinds in the thesis's tables, and maximum."""
EARLIEST = 10_000 * DAY
"""First midnight (Unix s) allowed; later clocks are calendar clocks."""
MOST_JOBS = 1_000_000


class _Queue(NamedTuple):
    """Queue of the thesis. Shares: percent of jobs."""

    name: str
    share: int
    most_nodes: int
    volume: int
    """Average volume of utilisation (AVU): nodes × cores per node × walltime (s)."""
    gpus: dict[int, int]
    mics: dict[int, int]
    memory_gib: dict[int, int]


EURORA_QUEUES = (
    _Queue("debug", 27, 2, 6465, {0: 96, 1: 3, 2: 1}, {0: 99, 1: 0, 2: 1}, {1: 5, 4: 77, 8: 3, 14: 15}),
    _Queue("parallel", 72, 32, 147145, {0: 31, 1: 4, 2: 65}, {0: 99, 1: 1, 2: 0}, {1: 22, 4: 17, 8: 55, 14: 6}),
    _Queue("np_longpar", 1, 32, 111372, {0: 19, 1: 0, 2: 81}, {0: 100, 1: 0, 2: 0}, {1: 88, 4: 0, 8: 4, 14: 8}),
)
DAYTIME = (8 * 3600, 18 * 3600)
DAYTIME_SHARE = {1: 89, 0: 11}
FULL_WALLTIME_SHARE = {1: 20, 0: 80}
MORE_KINDS = {"ssd": {0: 50, 20: 25, 40: 15, 80: 10}, "fpga": {0: 95, 1: 5}}
"""Local disk (GiB) and FPGAs per node: our choice; the thesis names no fifth and sixth kind."""


class GeneratorRequest(NamedTuple):
    """`nodes` and `kinds` of the machine; `begin`: midnight (s)."""

    jobs: int
    days: int | None
    nodes: int
    kinds: int
    begin: int


def generate(
    kind: str, jobs: int, seed: int, days: int | None = None, *,
    nodes: int = NODES, kinds: int = KINDS, begin: int | None = None,
) -> Trace:  # fmt: skip
    """Generate `jobs` jobs over `days` days from midnight `begin` (Unix s; default: time 0).

    Default of `days`: 1 for `eurora`, else enough for load 0.7 on Eurora.
    """
    if kind not in GENERATORS:
        raise InputError("generator", repr(kind), "one of " + ", ".join((*GENERATORS, AUCTION)))
    for name, number, least, most in (
        ("jobs", jobs, 1, MOST_JOBS), ("days", days, 1, 36_500), ("nodes", nodes, LEAST_NODES, MOST_NODES),
        ("kinds", kinds, 1, MOST_KINDS),
    ):  # fmt: skip
        if number is not None and not least <= number <= most:
            raise InputError(f"number of {name}", f"{number}", f"{least} to {most}")
    if begin is not None and (begin < EARLIEST or begin % DAY):
        raise InputError("--begin", utc_text(begin), f"a midnight since {utc_text(EARLIEST)}")
    if kind != "eurora" and (nodes, kinds) != (NODES, KINDS):
        raise InputError("generator", f"{kind} makes jobs of {NODES} nodes, without resource kinds", "eurora")
    return GENERATORS[kind](GeneratorRequest(jobs, days, nodes, kinds, begin or 0), stream(seed, "generate", kind))


def _eurora(wanted: GeneratorRequest, rng: np.random.Generator) -> Trace:
    """T 4.5.2. Shares are met as exactly as whole jobs allow.

    MICs go to jobs without GPUs, in the printed share. Jobs request at most half the nodes: as many have GPUs.
    """
    jobs = wanted.jobs
    queue = _apportion(rng, jobs, {index: q.share for index, q in enumerate(EURORA_QUEUES)})
    nodes, cores, walltime, gpu, mic, memory = (np.zeros(jobs, dtype=np.int64) for _ in range(6))
    for index, q in enumerate(EURORA_QUEUES):
        rows = np.flatnonzero(queue == index)
        nodes[rows] = rng.integers(1, q.most_nodes, len(rows), endpoint=True)
        cores[rows] = rng.integers(1, NODE_CORES, len(rows), endpoint=True)
        walltime[rows] = -(-q.volume // (nodes[rows] * cores[rows]))
        gpu[rows] = _apportion(rng, len(rows), q.gpus)
        memory[rows] = _apportion(rng, len(rows), q.memory_gib) * 1024
        mics = _apportion(rng, len(rows), q.mics)
        mics = mics[mics > 0]
        free = rng.permutation(rows[gpu[rows] == 0])[: len(mics)]
        mic[free] = mics[: len(free)]
    full = _apportion(rng, jobs, FULL_WALLTIME_SHARE) == 1
    runtime = np.where(full, walltime, rng.integers(-(-walltime // 5), walltime))
    names = np.array([q.name for q in EURORA_QUEUES], dtype=object)[queue]
    submit = _eurora_arrivals(rng, jobs, wanted.days or 1)
    more = {kind: _apportion(rng, jobs, shares) for kind, shares in MORE_KINDS.items()}
    request = {CORES: cores, MEMORY: memory, "gpu": gpu, "mic": mic, **more}
    request = {kind: request[kind] for kind in list(request)[: wanted.kinds]}
    units = np.minimum(nodes, wanted.nodes // 2)
    columns: dict[str, Any] = {"submit": submit + wanted.begin, "runtime": runtime, "walltime": walltime}
    columns |= {"units": units, "request": request, "procs": processors(units, request), "queue": names}
    return _finish("eurora", columns)


def _eurora_arrivals(rng: np.random.Generator, jobs: int, days: int) -> Ints:
    dawn, dusk = DAYTIME
    by_day = _apportion(rng, jobs, DAYTIME_SHARE) == 1
    light = rng.integers(dawn, dusk, jobs)
    dark = (rng.integers(dusk, dawn + DAY, jobs)) % DAY
    return np.sort(rng.integers(0, days, jobs) * DAY + np.where(by_day, light, dark))


def _apportion(rng: np.random.Generator, count: int, shares: dict[int, int]) -> Ints:
    weights = np.array(list(shares.values()))
    exact = weights * count / weights.sum()
    often = np.floor(exact).astype(np.int64)
    often[np.argsort(often - exact, kind="stable")[: count - int(often.sum())]] += 1
    return rng.permutation(np.repeat(np.array(list(shares), dtype=np.int64), often))


SERIAL_SHARE, POWER_OF_TWO_SHARE = 0.244, 0.576
SIZE_LOG2, SMALLER_SHARE = (0.8, 4.5, 10.0), 0.86
"""Log2 of a parallel job's cores: two uniform ranges, the first with this share."""
SHORT_GAMMA, LONG_GAMMA = (4.2, 0.94), (312.0, 0.03)
SHORT_SHARE = (0.78, -0.0054)
"""Ln runtime (s) is gamma (shape, scale): short with probability 0.78 - 0.0054 per core."""
LONGEST_RUNTIME = 2 * DAY
CYCLE_GAMMA = (8.1737, 3.9631)
"""Gamma density of arrivals over half hours; peak at 14 h."""
ACCURACY = (0.2, 1.0)
"""Runtime over walltime, uniform; walltimes are rounded up to 15 min."""
MEMORY_A_CORE_KIB = 512 * 1024
LOAD = 0.7


def _lublin(wanted: GeneratorRequest, rng: np.random.Generator) -> Trace:
    jobs, days = wanted.jobs, wanted.days
    low, middle, high = SIZE_LOG2
    log2 = np.where(rng.random(jobs) < SMALLER_SHARE, rng.uniform(low, middle, jobs), rng.uniform(middle, high, jobs))
    log2 = np.where(rng.random(jobs) < POWER_OF_TWO_SHARE / (1 - SERIAL_SHARE), np.round(log2), log2)
    procs = np.where(rng.random(jobs) < SERIAL_SHARE, 1, np.round(2**log2)).astype(np.int64)
    short = rng.random(jobs) < np.clip(SHORT_SHARE[0] + SHORT_SHARE[1] * procs, 0, 1)
    ln = np.where(short, rng.gamma(*SHORT_GAMMA, jobs), rng.gamma(*LONG_GAMMA, jobs))
    runtime = np.ceil(np.clip(np.exp(np.minimum(ln, 20)), 1, LONGEST_RUNTIME)).astype(np.int64)
    walltime = _walltimes(runtime, rng)
    days = days or _days_of(procs * runtime)
    shape, scale = CYCLE_GAMMA
    slots = np.arange(48) + 0.5
    weights = slots ** (shape - 1) * np.exp(-slots / scale)
    slot = rng.choice(48, jobs, p=weights / weights.sum())
    submit = np.sort(rng.integers(0, days, jobs) * DAY + slot * 1800 + rng.integers(0, 1800, jobs))
    return _processor_trace("lublin", submit + wanted.begin, runtime, walltime, procs)


RIVALS_SHARE = 0.02
"""A good half of the work."""
RIVALS_LN_RUNTIME = (8.0, 1.3)
"""Mean and deviation of ln runtime (s); median 50 min."""
STREAM = 20
"""Mean length of streams of similar narrow jobs."""


def _rivals(wanted: GeneratorRequest, rng: np.random.Generator) -> Trace:
    jobs, days = wanted.jobs, wanted.days
    cores = NODES * NODE_CORES
    wide = rng.random(jobs) < RIVALS_SHARE
    stream_of = np.cumsum(rng.random(jobs) < 1 / STREAM)
    narrow = rng.integers(1, NODE_CORES, jobs, endpoint=True)[stream_of]
    procs = np.where(wide, rng.integers(cores // 2 + 1, cores, jobs, endpoint=True), narrow)
    drawn = rng.normal(*RIVALS_LN_RUNTIME, jobs)
    ln = np.where(wide, drawn, drawn[stream_of] + rng.normal(0, 0.2, jobs))
    runtime = np.ceil(np.clip(np.exp(ln), 1, LONGEST_RUNTIME)).astype(np.int64)
    walltime = _walltimes(runtime, rng)
    days = days or _days_of(procs * runtime)
    submit = np.sort(rng.integers(0, days * DAY, jobs))
    return _processor_trace("rivals", submit + wanted.begin, runtime, walltime, procs)


def _days_of(work: Ints) -> int:
    return max(1, round(float(work.sum()) / (LOAD * NODES * NODE_CORES * DAY)))


def _walltimes(runtime: Ints, rng: np.random.Generator) -> Ints:
    return np.ceil(runtime / rng.uniform(*ACCURACY, len(runtime)) / 900).astype(np.int64) * 900


def _processor_trace(name: str, submit: Ints, runtime: Ints, walltime: Ints, procs: Ints) -> Trace:
    columns = {"submit": submit, "runtime": runtime, "walltime": walltime, "procs": procs}
    trace = _finish(name, columns | {"memory_kb": np.full(len(runtime), MEMORY_A_CORE_KIB)})
    return in_units(trace, None, NODE_CORES)


def _finish(name: str, columns: dict[str, Any]) -> Trace:
    numbers = np.arange(1, len(columns["submit"]) + 1)
    return build_trace(Path(name), numbers, {"number": numbers} | columns, [], strict=True)


GENERATORS: dict[str, Callable[[GeneratorRequest, np.random.Generator], Trace]] = {
    "eurora": _eurora,
    "lublin": _lublin,
    "rivals": _rivals,
}


AUCTION: Final = "auction"
MACHINES: Final = {"S": 128, "M": 256, "L": 1024}
"""Number of nodes."""
AUCTION_NODE_CORES: Final = 8
SHORTEST, LONGEST = 60, 600
"""Uniform runtimes (s), bounds included."""
MOST_HOURS: Final = 100
GPU: Final = "gpu"


class _Type(NamedTuple):
    """Column of table 4."""

    node_cores: tuple[int, ...]
    """Equally likely cores per node; empty: cores anywhere."""
    gpus: int


_TYPES: Final = (_Type((), 0), _Type((4, 8), 0), _Type((1, 2), 1), _Type((2, 4), 2))
WORKLOADS: Final = {"I": (1, 0, 0, 0), "II": (0, 1, 0, 0), "III": (1, 1, 0, 0), "IV": (2, 2, 1, 0), "V": (2, 2, 1, 1)}
"""Weights of types (rows of table 4)."""


class AuctionParameters(NamedTuple):
    """AUCSCHED parameters."""

    workload: str = "I"
    machine: str = "S"
    contiguous: int = 0
    """Percentage of jobs on adjacent nodes."""
    hours: float = 4.0
    """Theoretical runtime: runtime × cores of all jobs over machine cores."""
    max_share: float = 0.1
    """Largest job, as share of machine cores: not in AUCSCHED, see docs/formats.md."""


def generate_auction(wanted: AuctionParameters, seed: int) -> Trace:
    """Jobs submitted at time 0, walltime equal to runtime. Raises InputError."""
    _check(wanted)
    nodes = MACHINES[wanted.machine]
    rng = stream(seed, "generate", AUCTION)
    blocks: list[dict[str, Ints]] = []
    need = max(1, round(wanted.hours * 3600 * nodes * AUCTION_NODE_CORES))
    while need > 0:
        block = _block(wanted, nodes, rng)
        work = np.cumsum(block["runtime"] * block["cores"])
        blocks.append({name: values[: int(np.searchsorted(work, need)) + 1] for name, values in block.items()})
        need -= int(work[-1])
    drawn = {name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]}
    return _trace(drawn)


def _check(wanted: AuctionParameters) -> None:
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


def _block(wanted: AuctionParameters, nodes: int, rng: np.random.Generator) -> dict[str, Ints]:
    """Random jobs; `node_cores` is 0 for any nodes.

    As in the paper, total cores are multiples of the cores per node, and determine the nodes.
    """
    size = 1000
    weights = np.array(WORKLOADS[wanted.workload])
    type_ = rng.choice(len(_TYPES), size, p=weights / weights.sum())
    second = rng.integers(0, 2, size)
    node_cores = np.array([t.node_cores or (0, 0) for t in _TYPES])[type_, second]
    most = int(wanted.max_share * nodes) * AUCTION_NODE_CORES
    most_here = np.minimum(most, np.where(node_cores > 0, node_cores, AUCTION_NODE_CORES) * nodes)
    return {
        "node_cores": node_cores,
        "gpus": np.array([t.gpus for t in _TYPES])[type_],
        "cores": rng.integers(1, most_here // AUCTION_NODE_CORES, endpoint=True) * AUCTION_NODE_CORES,
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
