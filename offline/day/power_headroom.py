"""Uses the room below a power limit left by nodes off.

A search with eased limits is kept if feasible and more profitable.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from dardis.model.schedule import Downtime
from dardis.power.account import Account
from dardis.power.conditions import Tariff
from offline.planner.day_planner import Plans
from offline.planner.day_problem import DayProblem, StoppedBy
from offline.planner.money import account_of
from offline.planner.power_limits import strict_limit_spans

ROUNDS: Final = 4
LEAST_HEADROOM: Final = 0.01
"""Smallest useful room, share of the limit."""


@dataclass(frozen=True)
class EvaluatedPlans:
    """Plans, downtime, and accounts without and with downtime."""

    plans: Plans
    all_on: Account
    downtime: Downtime
    account: Account


def use_headroom(
    problem: DayProblem, first: EvaluatedPlans, settle: Callable[[Tariff], EvaluatedPlans]
) -> EvaluatedPlans:
    """Best of the first plan and plans made by `settle` with eased limits.

    Stops once a search is ended by user or time limit.
    """
    if not strict_limit_spans(problem) or not len(first.downtime.node):
        return first
    best, share = first, 1.0
    eased, found = problem.tariff, first
    for _ in range(ROUNDS):
        wider = _ease_limits(problem, best, eased, share)
        if wider == eased or found.plans.best.stopped_by in {StoppedBy.USER, StoppedBy.TIME}:
            break
        found = settle(wider)
        if found.account.feasible and found.account.profit > best.account.profit:
            best, eased = found, wider
        else:
            share /= 2
    return best


def _ease_limits(problem: DayProblem, plan: EvaluatedPlans, tariff: Tariff, share: float) -> Tariff:

    def room(start: int, end: int, most_kw: float) -> float:
        day = problem.conditions
        if start >= day.end or end <= day.start:
            return 0.0
        during = replace(problem, conditions=day.between(max(start, day.start), min(end, day.end)))
        left = most_kw - account_of(during, plan.plans.best.start, plan.downtime).peak_kw
        return share * left if left > LEAST_HEADROOM * most_kw else 0.0

    limits = tuple(
        replace(now, most_kw=now.most_kw + room(limit.start, limit.end, limit.most_kw))
        if limit.penalty_per_kwh is None
        else now
        for limit, now in zip(problem.tariff.limits, tariff.limits, strict=True)
    )
    contracted = tariff.contracted_kw
    if contracted is not None and tariff.contract_penalty_per_kwh is None:
        assert problem.tariff.contracted_kw is not None
        contracted += room(problem.conditions.start, problem.conditions.end, problem.tariff.contracted_kw)
    return replace(tariff, limits=limits, contracted_kw=contracted)
