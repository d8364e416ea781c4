"""Who is measured, and how each runs a case."""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from dardis.config.settings import with_settings
from dardis.dispatch import CENTRAL_SETUPS, CentralDispatcher
from dardis.dispatch.base import Decider
from dardis.model.addresses import FIRST_HOST
from dardis.model.choices import EventOrder
from dardis.node_manager import NodePool
from dardis.registry import find_dispatcher
from dardis.runs.hosts import even_bounds, host_from_plan, host_plan
from dardis.runs.kernel_warmup import warm
from dardis.sim.simulation import Simulation
from dardis.task_manager import SETUPS
from dardis.task_manager.layout import layout_of
from dardis.turns import CentralTurns, PlannedTurns
from scripts.lab.decision_time.plain_rules import PlainRules, PrintedRules
from scripts.lab.decision_time.timed import Ledger, TimedDispatcher, TimedHosts, TimedTaskManager, WindowOver
from scripts.lab.decision_time.workloads import Case

SEED: Final = 1
Run = Callable[[Case], Ledger]


@dataclass(frozen=True)
class Contender:
    """Somebody who decides, and which cases he can be asked to end in time."""

    run: Run
    takes: Callable[[Case], bool]


def run_dardis(case: Case) -> Ledger:
    """The throughput set-up of the thesis, all nodes in one pool."""
    setup = SETUPS["dardis-throughput"]
    bounds = even_bounds(case.nodes, 1)
    ledger = Ledger(case.since, case.until, case.most_decisions)
    hosts = TimedHosts([host_from_plan(host_plan(case.platform, case.desired, bounds, SEED), FIRST_HOST, NodePool)])
    manager = TimedTaskManager(setup, layout_of(case.platform, bounds, case.desired), SEED)
    manager.ledger = hosts.ledger = ledger
    return until_over(Simulation(case.jobs, PlannedTurns(setup, [manager], bounds), hosts).run, ledger)


def central(name: str, *settings: str) -> Run:
    """A central dispatcher of the project."""
    setup = with_settings(CENTRAL_SETUPS[name], settings).checked()

    def run(case: Case) -> Ledger:
        return run_central(case, CentralDispatcher(setup, case.platform, case.desired, SEED))

    return run


def central_plain(kind: type[PlainRules], *, backfill: bool) -> Run:
    """The thesis's rule-based scheduler in plain Python."""
    return lambda case: run_central(case, kind(case.platform, case.desired, backfill=backfill))


def run_central(case: Case, dispatcher: Decider) -> Ledger:
    """Ask a central dispatcher once an instant."""
    ledger = Ledger(case.since, case.until, case.most_decisions)
    simulation = Simulation(case.jobs, CentralTurns(EventOrder.BATCHED, TimedDispatcher(dispatcher, ledger)))
    return until_over(simulation.run, ledger)


def until_over(run: Callable[[], None], ledger: Ledger) -> Ledger:
    """Run to the end of the time that is counted; nobody pays for what others left in memory."""
    gc.collect()
    gc.disable()
    try:
        run()
    except WindowOver:
        pass
    finally:
        gc.enable()
    return ledger


def warm_all() -> None:
    """Compile what everybody needs."""
    for name in ("dardis-throughput", "easy"):
        warm(find_dispatcher(name), wished=True)


def fed(case: Case) -> bool:
    """Whether jobs come one after the other, so that a job has costs of its own."""
    return case.most_decisions is None


def within(nodes: int, jobs: int) -> Callable[[Case], bool]:
    """Machines and traces up to a size: beyond, a run would take minutes."""
    return lambda case: not fed(case) or (case.nodes <= nodes and len(case.jobs) <= jobs)


DARDIS: Final = "dardis-throughput"
FCFS, FCFS_BACKFILL, EASY, CONSERVATIVE = "rules-fcfs", "rules-fcfs + backfilling", "easy", "conservative"
PLAIN, PLAIN_BACKFILL, PRINTED = "plain algorithm 4", "plain algorithms 4 and 3", "the same, loops as printed"
CONTENDERS: Final = {
    DARDIS: Contender(run_dardis, fed),
    FCFS: Contender(central("rules-fcfs"), lambda _case: True),
    FCFS_BACKFILL: Contender(central("rules-fcfs", "backfill=on"), lambda _case: True),
    EASY: Contender(central("easy"), lambda _case: True),
    CONSERVATIVE: Contender(central("conservative"), within(5_000, 10_000)),
    PLAIN: Contender(central_plain(PlainRules, backfill=False), within(5_000, 10_000)),
    PLAIN_BACKFILL: Contender(central_plain(PlainRules, backfill=True), within(1_000, 500)),
    PRINTED: Contender(central_plain(PrintedRules, backfill=True), lambda case: not fed(case)),
}
"""By name; the last three are plain Python."""
