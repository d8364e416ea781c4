"""Target use by hour, from a regression tree or thesis algorithm 8."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Any, Final

import numpy as np

from dardis.model.arrays import Floats
from dardis.model.branch import Branch
from dardis.model.platform import Platform
from dardis.model.step_function import StepFunction
from dardis.model.target import Switching
from offline.extract.trees import HourTable, Shape, branch_of, predict_held_out, rules_of
from offline.site.calendar import DAY_S, HOUR_S


@dataclass(frozen=True)
class TargetTree:
    """Predicts the target share of the machine."""

    fitted: Any
    rules: tuple[str, ...]
    branch: Branch
    cv_error: float
    """Mean absolute error on held-out days, share."""
    naive_error: float
    """Error of the other days' mean."""

    def predict(self, table: HourTable) -> Floats:
        """Target share by hour, from 0 to 1."""
        return np.asarray(np.clip(self.fitted.predict(table.values), 0.0, 1.0))

    def cores(self, table: HourTable, capacity: int) -> StepFunction:
        """Target cores, rounded up; `capacity` outside the hours."""
        wished = np.ceil(self.predict(table) * capacity - 1e-9).astype(np.int64)
        steps = [*zip(table.edges[:-1].tolist(), wished.tolist(), strict=True), (int(table.edges[-1]), capacity)]
        return StepFunction.from_steps(capacity, steps)


def learn_target(table: HourTable, use: Floats, shape: Shape | None = None) -> TargetTree:
    """Learn from the use (hours,) in past plans. ValueError for a single day."""
    fit = (shape or Shape()).regressor
    tree = fit(table.values, use)
    shares = tree.tree_.value[:, 0, 0]

    def say(leaf: int) -> str:
        return f"{100 * shares[leaf]:.0f} % of the cores"

    def error(predicted: Floats) -> float:
        return float(np.abs(predicted - use).mean())

    return TargetTree(
        fitted=tree,
        rules=tuple(rules_of(tree, table.names, table.values, say)),
        branch=branch_of(tree, table.names, table.values, say),
        cv_error=error(predict_held_out(fit, table.values, use, table.day)),
        naive_error=error(
            predict_held_out(lambda _, labels: _Mean(float(labels.mean())), table.values, use, table.day)
        ),
    )


@dataclass(frozen=True)
class _Mean:
    value: float

    def predict(self, values: Floats) -> Floats:
        return np.full(len(values), self.value)


FULL_ABOVE: Final = Fraction(84, 100)
"""Above this last-day use, the target is the full machine (thesis 6.8)."""


def desired_cores(
    used: StepFunction, capacity: int, day: int, offset: Fraction | float, planned: StepFunction | None = None
) -> StepFunction:
    """Target cores by hour for 24 hours from midnight `day` on (algorithm 8); `capacity` outside.

    Let u be the mean use of the 24 hours before an hour. The target is the full machine if u > 84 %, otherwise u + (1 -
    u) · `offset`, rounded up to whole cores; `offset` is 1 in DARDIS100, 0.7 in DARDIS70. After a day above 84 %, the
    whole day is full.

    `used`: past use in cores; no value counts as unused. Hours of the day itself count as `planned`, or as the previous
    day's.
    """
    share = Fraction(offset).limit_denominator(10**6)
    if not 0 <= share <= 1:
        raise ValueError("an offset lies between 0 and 1")
    full = FULL_ABOVE * capacity
    before = used.integral(day - DAY_S, day)
    steps = []
    for begin in range(day, day + DAY_S, HOUR_S):
        passed = 0
        if planned is not None:
            passed = planned.integral(day, begin) - used.integral(day - DAY_S, begin - DAY_S)
        mean = Fraction(before + passed, DAY_S)
        wished = mean + (capacity - mean) * share
        everything = Fraction(before, DAY_S) > full or mean > full
        steps.append((begin, capacity if everything else ceil(wished)))
    return StepFunction.from_steps(capacity, [*steps, (day + DAY_S, capacity)])


def floor_switching(cores: StepFunction, platform: Platform, idle_s: int) -> Switching:
    """Keep the target share of each node group on, rounded up."""
    floors = {
        group: StepFunction(cores.times, -(-cores.values * nodes.count // platform.cores))
        for group, nodes in enumerate(platform.groups)
        if not nodes.always_on
    }
    return Switching(floors=floors, idle_s=idle_s)
