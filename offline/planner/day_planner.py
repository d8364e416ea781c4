"""Plans a day: reference searches, our search, and a proven bound."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from dardis.model.job import NO_TIME, Status
from dardis.model.placements import Placements
from dardis.model.schedule import Schedule
from offline.planner.budget import SearchBudget, SearchProgress, Watch, ignore_progress, never_stop
from offline.planner.day_problem import DayProblem, Plan, StoppedBy
from offline.planner.improve import improve
from offline.planner.money import rank_of
from offline.planner.power_limits import close_nodes_to_limits, strict_limit_spans
from offline.planner.searches import multi_search, rule_plans

MULTI_SHARE, BOUND_SHARE = 0.5, 0.4
"""Largest time shares. Our search gets the rest."""
GROUPS = 6000
POLISHES = 2
PROOF_S = 5.0
"""Deterministic seconds of each solver."""
OPTIMAL_GAP = 1e-6


@dataclass(frozen=True)
class Plans:
    """Best plan, multi-search's plan, and the best rule's."""

    best: Plan
    multi_search: Plan
    rule: Plan


def plan(
    problem: DayProblem,
    *,
    time_limit: float = 60.0,
    seed: int = 1,
    progress: SearchProgress = ignore_progress,
    stop: Callable[[], bool] = never_stop,
) -> Plans:
    """Best plan found; reproducible by seed unless the time limit (s) stops the search.

    Ctrl-C or `stop` ends the search. The plan never ranks (`rank_of`) below multi-search or any rule.
    """
    most: float | None = None

    def tell(doing: str, best: float | None, _: float | None) -> None:
        progress(doing, best, most)

    whole = Watch(time_limit, tell, stop)
    whole.progress("rules", None, None)
    rank, _, rule = max((rank_of(problem, rule.start)[0], rule.search, rule) for rule in rule_plans(problem))
    multi, _ = multi_search(problem, whole.for_share(MULTI_SHARE))
    best = rule if rank > rank_of(problem, multi.start)[0] else multi
    reasons = [multi.stopped_by]
    if strict_limit_spans(problem) and multi.stopped_by is not StoppedBy.USER:
        kept, _ = multi_search(close_nodes_to_limits(problem), whole.for_share(MULTI_SHARE))
        best = max(best, kept, key=lambda plan: rank_of(problem, plan.start)[0])
        reasons.append(kept.stopped_by)
    if StoppedBy.USER not in reasons:
        part = whole.for_share(BOUND_SHARE)
        most = _bound(problem, part)
        reasons.append(part.stopped_by)
    if StoppedBy.USER not in reasons:
        best = improve(problem, best, SearchBudget(GROUPS, seed), whole.for_share(1.0), polishes=POLISHES)
        reasons.append(best.stopped_by)
    return Plans(replace(best, bound=most, stopped_by=_reason(best.profit, most, reasons)), multi, rule)


def _bound(problem: DayProblem, watch: Watch) -> float | None:
    from offline.planner.cp.bound import bound

    found = None
    with watch.interruptible():
        if not watch.over():
            found = bound(problem, deterministic_s=PROOF_S, guard_s=watch.left_s)
            watch.over()
    return found if found is not None and math.isfinite(found) else None


def _reason(profit: float, bound: float | None, reasons: list[StoppedBy]) -> StoppedBy:
    if bound is not None and bound - profit <= OPTIMAL_GAP * abs(bound):
        return StoppedBy.OPTIMAL
    return next((reason for reason in (StoppedBy.USER, StoppedBy.TIME) if reason in reasons), StoppedBy.DONE)


def schedule_of(problem: DayProblem, plan: Plan) -> Schedule:
    """Planned and running jobs as a schedule, run as expected."""
    jobs, running = problem.jobs, problem.running
    number, submit = np.concatenate([jobs.number, running.number]), np.concatenate([jobs.submit, running.submit])
    order = np.lexsort((number, submit))
    start = np.concatenate([plan.start, running.start])
    finish = np.concatenate([plan.start + jobs.duration, running.finish])
    count = len(order)
    return Schedule(
        kinds=problem.platform.kinds,
        number=number[order],
        submit=submit[order],
        earliest=np.concatenate([jobs.earliest, running.start])[order],
        latest=np.concatenate([jobs.latest, np.full(len(running.number), NO_TIME)])[order],
        walltime=(finish - start)[order],
        units=np.concatenate([jobs.units, running.placed.units_of_jobs])[order],
        request=np.concatenate([jobs.request, running.request])[order],
        status=np.full(count, Status.COMPLETED, dtype=np.int8),
        start=start[order],
        finish=finish[order],
        attempts=np.ones(count, dtype=np.int64),
        placed=Placements.of_parts([plan.placed, running.placed]).take(order),
        queue=[""] * count,
        user=[""] * count,
    )
