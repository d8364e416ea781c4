"""The use to aim at in each hour, learned by a regression tree from the near-optimal plans of past days."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dardis.model.arrays import Floats
from dardis.model.branch import Branch
from dardis.model.profile import StepFunction
from offline.extract.hours import HourTable
from offline.extract.trees import Shape, branch_of, held_out, rules_of


@dataclass(frozen=True)
class TargetTree:
    """Tells the share of the machine to aim at for rows of features."""

    fitted: Any
    rules: tuple[str, ...]
    drawn: Branch
    cv_error: float
    """Mean absolute error on days that the tree had not seen, share of the machine."""
    naive_error: float
    """The same of whoever always says the mean of the other days."""

    def predict(self, table: HourTable) -> Floats:
        """Share of the machine to aim at in each hour, from 0 to 1."""
        return np.asarray(np.clip(self.fitted.predict(table.values), 0.0, 1.0))

    def cores(self, table: HourTable, capacity: int) -> StepFunction:
        """The same as cores, rounded up; `capacity` before the first hour and after the last."""
        wished = np.ceil(self.predict(table) * capacity - 1e-9).astype(np.int64)
        steps = [*zip(table.edges[:-1].tolist(), wished.tolist(), strict=True), (int(table.edges[-1]), capacity)]
        return StepFunction.from_steps(capacity, steps)


def learn_target(table: HourTable, use: Floats, shape: Shape | None = None) -> TargetTree:
    """Learn from the use (hours,) that plans of past days had in the hours of `table`. ValueError for a single day."""
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
        drawn=branch_of(tree, table.names, table.values, say),
        cv_error=error(held_out(fit, table.values, use, table.day)),
        naive_error=error(held_out(lambda _, labels: _Mean(float(labels.mean())), table.values, use, table.day)),
    )


@dataclass(frozen=True)
class _Mean:
    """Says the same for every row."""

    value: float

    def predict(self, values: Floats) -> Floats:
        return np.full(len(values), self.value)
