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


def alternative(model: CpModel, units: Sequence[IntVar], of_job: LinearExpr | int) -> None:
    """All units of a job are somewhere (T equation 3.7); that they start with it is in their intervals."""
    model.add(weighted_sum(units, [1] * len(units)) == of_job)


def side_by_side(model: CpModel, there: Sequence[tuple[int, IntVar, bool | None]]) -> None:
    """Of nodes, ascending, those that are used follow one another, none left out; hints say which are, or None."""
    begins = []
    before: tuple[int, IntVar | int, bool | None] = (-2, 0, False)
    for node, used, hint in there:
        follows = before[0] == node - 1
        begin = model.new_bool_var("")
        model.add(begin >= used - (before[1] if follows else 0))
        if hint is not None:
            model.add_hint(begin, hint and not (follows and before[2]))
        begins.append(begin)
        before = node, used, hint
    model.add_at_most_one(begins)


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
