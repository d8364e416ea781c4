"""Who is measured, how each runs a case, and the CPU of his decisions: node managers apart from task managers.

These are the thesis's scheduling and dispatching. Counting changes nothing of what is decided, and ends a run where its
time is over.
"""

from __future__ import annotations

import gc
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, Final, TypeVar

from dardis.config.settings import with_settings
from dardis.dispatch import CENTRAL_SETUPS, CentralDispatcher
from dardis.dispatch.base import Decider
from dardis.engine.clock import cpu_ns
from dardis.model.addresses import FIRST_HOST, JobId
from dardis.model.choices import EventOrder
from dardis.model.events import Change
from dardis.model.job import Job
from dardis.node_manager import NodePool
from dardis.registry import find_dispatcher
from dardis.runs.hosts import even_bounds, host_from_plan, host_plan
from dardis.runs.kernel_warmup import warm_kernels
from dardis.sim.simulation import Simulation
from dardis.task_manager import SETUPS, PlannedManager
from dardis.task_manager.layout import layout_of
from dardis.transport.local_transport import LocalHosts
from dardis.turns import CentralTurns, PlannedTurns
from dardis.wire.effects import Effect, Placed, Rejected, Solved, ToHosts
from dardis.wire.messages import Message, UnitsEnded
from scripts.lab.decision_time.plain_rules import PlainRules, PrintedRules
from scripts.lab.decision_time.workloads import Case

T = TypeVar("T")


class WindowOver(Exception):  # noqa: N818 (nothing is wrong)
    """The time that is counted is over."""


class DecisionCause(Enum):
    """What a decision was made for."""

    SUBMIT = auto()
    """A job came, and everything until it has its place. Of a central dispatcher, every cycle is of this kind."""
    REPAIR = auto()
    """Jobs ask again after an early end, or after waiting."""
    END = auto()
    """Nodes hear of an end and tell who may gain by it."""


@dataclass
class Decision:
    """One decision, ns: what node managers took, and what task managers or a central dispatcher did."""

    cause: DecisionCause
    scheduling: int = 0
    dispatching: int = 0


@dataclass
class Ledger:
    """The decisions of `[since, until)`, the first `most` of them."""

    since: int
    until: int
    most: int | None = None
    decisions: list[Decision] = field(default_factory=list)
    last: Decision = field(default_factory=lambda: Decision(DecisionCause.SUBMIT))
    """The decision that began last, counted or not."""

    def begin(self, why: DecisionCause, now: int) -> None:
        """A decision begins. Raises WindowOver when it is not to be counted any more."""
        if now >= self.until or len(self.decisions) == self.most:
            raise WindowOver
        self.last = Decision(why)
        if now >= self.since:
            self.decisions.append(self.last)

    def timed(self, part: str, work: Callable[..., T], *arguments: Any) -> T:  # noqa: ANN401 (those of the work)
        """Do some work of the decision that began last, and count it as `scheduling` or `dispatching`."""
        begun = cpu_ns()
        came = work(*arguments)
        setattr(self.last, part, getattr(self.last, part) + cpu_ns() - begun)
        return came

    def total(self, part: str, *whys: DecisionCause) -> float:
        """Seconds of `scheduling` or `dispatching` over the decisions made for these reasons (none: for all)."""
        spent: int = sum(getattr(one, part) for one in self.decisions if not whys or one.cause in whys)
        return spent / 1e9

    def deviation(self, part: str) -> float:
        """Standard deviation, s, of `scheduling` or `dispatching` over the decisions for a job that came."""
        times = [getattr(one, part) for one in self.decisions if one.cause is DecisionCause.SUBMIT]
        mean = sum(times) / len(times)
        return math.sqrt(sum((time - mean) ** 2 for time in times) / len(times)) / 1e9


class TimedTaskManager(PlannedManager):
    """A task manager whose turns are counted."""

    ledger: Ledger

    def submit(self, job: Job, now: int) -> list[Effect]:
        """Take a new job and ask for it."""
        self.ledger.begin(DecisionCause.SUBMIT, now)
        return self.ledger.timed("dispatching", super().submit, job, now)

    def ask_again(self, numbers: Iterable[JobId], now: int, freed_until: int = 0) -> list[Effect]:
        """Let jobs ask again."""
        self.ledger.begin(DecisionCause.REPAIR, now)
        return self.ledger.timed("dispatching", super().renegotiate, numbers, now, freed_until)

    def handle(self, message: Message, now: int) -> list[Effect]:
        """Take a message; it belongs to the decision that began last."""
        return self.ledger.timed("dispatching", super().handle, message, now)


class TimedHosts(LocalHosts):
    """Node managers whose answers are counted."""

    ledger: Ledger

    def deliver(self, sends: Sequence[ToHosts], now: int) -> list[Message]:
        """Deliver at once."""
        if sends and isinstance(sends[0].message, UnitsEnded):
            self.ledger.begin(DecisionCause.END, now)
        return self.ledger.timed("scheduling", super().deliver, sends, now)


@dataclass
class TimedDispatcher:
    """A central dispatcher whose cycles are counted: one an instant, with what it was told before."""

    inner: Decider
    ledger: Ledger
    event_ns: int = 0

    def _timed_call(self, work: Callable[..., T], *arguments: Any) -> T:  # noqa: ANN401 (those of the work)
        begun = cpu_ns()
        came = work(*arguments)
        self.event_ns += cpu_ns() - begun
        return came

    def submit(self, job: Job, now: int) -> Rejected | None:
        """Take a new job."""
        return self._timed_call(self.inner.submit, job, now)

    def ended(self, number: JobId, now: int) -> None:
        """A job has ended."""
        self._timed_call(self.inner.ended, number, now)

    def changed(self, change: Change, now: int) -> None:
        """Something else is no more as it was."""
        self._timed_call(self.inner.changed, change, now)

    def decide(self, now: int) -> Sequence[Placed | Rejected | Solved]:
        """Say which jobs start."""
        self.ledger.begin(DecisionCause.SUBMIT, now)
        begun = cpu_ns()
        effects = self.inner.decide(now)
        self.ledger.last.dispatching += self.event_ns + cpu_ns() - begun
        self.event_ns = 0
        return effects

    def wake(self) -> int:
        """When it wants to be asked."""
        return self.inner.wake()


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
    return run_to_window_end(Simulation(case.jobs, PlannedTurns(setup, [manager], bounds), hosts).run, ledger)


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
    return run_to_window_end(simulation.run, ledger)


def run_to_window_end(run: Callable[[], None], ledger: Ledger) -> Ledger:
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
        warm_kernels(find_dispatcher(name), wished=True)


def has_cost_per_job(case: Case) -> bool:
    """Whether jobs come one after the other, so that a job has costs of its own."""
    return case.most_decisions is None


def limit_size(nodes: int, jobs: int) -> Callable[[Case], bool]:
    """Machines and traces up to a size: beyond, a run would take minutes."""
    return lambda case: not has_cost_per_job(case) or (case.nodes <= nodes and len(case.jobs) <= jobs)


DARDIS: Final = "dardis-throughput"
FCFS, FCFS_BACKFILL, EASY, CONSERVATIVE = "rules-fcfs", "rules-fcfs + backfilling", "easy", "conservative"
PLAIN, PLAIN_BACKFILL, PRINTED = "plain algorithm 4", "plain algorithms 4 and 3", "the same, loops as printed"
CONTENDERS: Final = {
    DARDIS: Contender(run_dardis, has_cost_per_job),
    FCFS: Contender(central("rules-fcfs"), lambda _case: True),
    FCFS_BACKFILL: Contender(central("rules-fcfs", "backfill=on"), lambda _case: True),
    EASY: Contender(central("easy"), lambda _case: True),
    CONSERVATIVE: Contender(central("conservative"), limit_size(5_000, 10_000)),
    PLAIN: Contender(central_plain(PlainRules, backfill=False), limit_size(5_000, 10_000)),
    PLAIN_BACKFILL: Contender(central_plain(PlainRules, backfill=True), limit_size(1_000, 500)),
    PRINTED: Contender(central_plain(PrintedRules, backfill=True), lambda case: not has_cost_per_job(case)),
}
"""By name; the last three are plain Python."""
