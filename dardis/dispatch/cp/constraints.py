"""The constraints of the models, one function each. Times in s from now."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from dardis.solver.cpsat import weighted_sum

if TYPE_CHECKING:
    from dardis.solver.cpsat import CpModel, IntervalVar, IntVar, LinearExpr

Taken = Sequence[tuple[int, int, int]]
"""Start, end and amount of what is taken already; an amount of nothing is none."""


def alternative(model: CpModel, units: Sequence[IntVar], of_job: int) -> None:
    """All units of a job are somewhere (T equation 3.7); that they start with it is in their intervals."""
    model.add(weighted_sum(units, [1] * len(units)) == of_job)


def cumulative(
    model: CpModel, intervals: Sequence[IntervalVar], demands: Sequence[LinearExpr | int], taken: Taken, capacity: int
) -> None:
    """Never more than the capacity (T equation 3.8), of a node and kind, or of a pool of nodes."""
    fixed = [model.new_fixed_size_interval_var(start, end - start, "") for start, end, _ in taken]
    amounts = [amount for _, _, amount in taken]
    model.add_cumulative([*intervals, *fixed], [*demands, *amounts], capacity)


def one_after_the_other(model: CpModel, starts: Sequence[IntVar]) -> None:
    """Jobs that nobody can tell apart start in this order: to change places would change nothing."""
    for before, after in pairwise(starts):
        model.add(before <= after)
