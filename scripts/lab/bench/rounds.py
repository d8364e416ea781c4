"""What rounds cost on a million nodes: full ones beside a NumPy pass over the pool's arrays, sampled ones at 10,000.

Each node holds four reservations, laid out as `dardis scale` does it; jobs of 1 to 8 units, as there. Rounds that the
pool holds in one call are measured on busy nodes (`scripts.lab.kit.busy_pool`), for jobs that can start now and others.
"""

from __future__ import annotations

import os
import sys
import time
from dataclasses import replace

from dardis.model.addresses import Address
from dardis.node_manager import NodePool, RelayingHost
from dardis.registry import find_dispatcher
from dardis.runs.kernel_warmup import warm_reach
from dardis.scale import experiment as load
from dardis.scale.tally import resident_bytes
from dardis.task_manager import SETUPS, PlannedManager, Reach
from dardis.task_manager.layout import layout_of
from dardis.transport.local_transport import LocalHosts, Lockstep
from dardis.turns.turn import run_dialogue
from dardis.wire.effects import ExecutorAction
from scripts.lab.bench.measure import Row, cpu_of
from scripts.lab.kit import busy_pool
from scripts.lab.kit.busy_pool import BusyPool
from scripts.lab.kit.spread import Spread

WINDOW_S, RESERVATIONS, SEED = 86_400, 4, 1
FULL_JOBS, SAMPLED_JOBS = 20, 500
MANY, FEW = 1_000_000, 10_000
MOST, MOST_GIB = 10_000_000, 16
"""Nodes of the largest pool, and memory of a machine that can hold it."""
MOST_TIMES = 3
"""A job that can start now may cost so many times as much there as at a tenth of the nodes."""
ONE_CALL_JOBS = 10
ONE_CALL = {"a job that can start now": (busy_pool.NOW, 3), "a job that can't": (busy_pool.LATER, 30)}
"""What jobs ask for, and ns a node and job that are the goal."""
SAMPLE = 4
"""Nodes that a job asks for each of its units."""


class Machine:
    """A filled pool in this process, and task managers that ask it."""

    def __init__(self, nodes: int) -> None:
        """Fill so many nodes, and note what memory that takes."""
        platform = load.machine(nodes)
        before = resident_bytes()
        self.pool = NodePool(platform, 0, nodes)
        load.fill(self.pool.state, WINDOW_S, RESERVATIONS, SEED)
        self.bytes_per_node = (resident_bytes() - before) / nodes
        self._placed = 0
        self._lockstep = Lockstep(LocalHosts([RelayingHost(self.pool)]), self)
        self._layout = layout_of(platform, (0, nodes), None)

    def execute(self, who: Address, deed: ExecutorAction, now: int) -> None:
        """Nobody keeps the record."""

    def rounds(self, reach: Reach, count: int) -> float:
        """CPU seconds a job of placing so many more jobs, one after the other."""
        manager = PlannedManager(SETUPS["dardis-throughput"], self._layout, SEED, reach=reach)
        jobs = load.jobs(self._placed + count, WINDOW_S, SEED)[self._placed :]
        self._placed += count
        begun = time.process_time()
        for job in jobs:
            said = run_dialogue(manager, manager.submit(job.job, job.submit), lambda effects: effects, job.submit)
            self._lockstep.run_turn(said, job.submit)
        return (time.process_time() - begun) / count

    def pass_over(self) -> float:
        """CPU seconds of reading every slot in use of the pool's arrays once."""
        profiles = self.pool.state.profiles
        used = int(profiles.tail[0])
        arrays = (profiles.time[:used], profiles.value[:used], profiles.head, profiles.size)
        return cpu_of(lambda: [array.sum() for array in arrays])[1]


def rounds(repeats: int) -> list[Row]:
    """Rounds by messages, then those in one call; each kind has its pools."""
    return [*by_messages(repeats), *in_one_call(repeats)]


def by_messages(repeats: int) -> list[Row]:
    """Two rows for full rounds, flat and through a tree, and one for sampled ones; all in turns on the same pools."""
    warm_reach(find_dispatcher("dardis-throughput"))
    few, many = Machine(FEW), Machine(MANY)
    ways = {"flat": Reach(), "summed up a tree, arity 8": Reach(8)}
    sample = Reach(sample=SAMPLE)
    for machine in (few, many):
        for reach in (*ways.values(), sample):
            machine.rounds(reach, 2)
    full: dict[str, list[float]] = {name: [] for name in ways}
    plain, at_few, at_many = [], [], []
    for _ in range(repeats):
        plain.append(many.pass_over())
        for name, reach in ways.items():
            full[name].append(many.rounds(reach, FULL_JOBS))
        at_few.append(few.rounds(sample, SAMPLED_JOBS))
        at_many.append(many.rounds(sample, SAMPLED_JOBS))
    rows = [
        Row(
            "rounds", f"{MANY} nodes, all asked, {name}", FULL_JOBS, Spread.of(taken), ratio=Spread.ratio(taken, plain),
            ratio_of="CPU a job / a NumPy pass's", goal="< 10, < 150 ns",
            notes={"ns_a_node": round(Spread.of(taken).median * 1e9 / MANY, 1),
                   "bytes_a_node": round(many.bytes_per_node)},
        )
        for name, taken in full.items()
    ]  # fmt: skip
    rows.append(
        Row(
            "rounds", f"{MANY} nodes, {SAMPLE} asked a unit", SAMPLED_JOBS, Spread.of(at_many),
            ratio=Spread.ratio(at_many, at_few), ratio_of=f"CPU a job / at {FEW} nodes", goal="<= 2",
            notes={"us_a_job": round(Spread.of(at_many).median * 1e6)},
        )
    )  # fmt: skip
    return rows


def in_one_call(repeats: int) -> list[Row]:
    """A row for each kind of job, and one for what ten times the nodes cost who can start now, if memory holds them."""
    busy_pool.warm()
    fits = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >= MOST_GIB << 30
    if not fits:
        sys.stderr.write(f"{MOST} nodes are left out: they take a machine of {MOST_GIB} GiB\n")
    pools = {nodes: BusyPool(nodes, RESERVATIONS) for nodes in (MANY, MOST)[: 1 + fits]}
    taken: dict[tuple[int, str], list[float]] = {(nodes, name): [] for nodes in pools for name in ONE_CALL}
    for turn in range(repeats + 1):
        for (nodes, name), costs in taken.items():
            cost = pools[nodes].cpu_of(ONE_CALL[name][0], ONE_CALL_JOBS)
            if turn:  # the first touches what has not been touched yet
                costs.append(cost)
    now = next(iter(ONE_CALL))
    rows = []
    for (nodes, name), costs in taken.items():
        per_node = round(Spread.of(costs).median * 1e9 / nodes, 2)
        row = Row("rounds", f"{nodes} nodes in one call, {name}", ONE_CALL_JOBS, Spread.of(costs),
                  goal=f"<= {ONE_CALL[name][1]} ns", notes={"ns_a_node": per_node})  # fmt: skip
        if nodes == MOST:
            times = Spread.ratio(costs, taken[MANY, name])
            goal = f"<= {MOST_TIMES}" if name == now else ""
            row = replace(row, ratio=times, ratio_of=f"CPU a job / at {MANY} nodes", goal=goal)
        rows.append(row)
    return rows
