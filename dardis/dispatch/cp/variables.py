"""Variables and constraints of the models. Times are s from now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from dardis.model.arrays import Ints
from dardis.solver.cpsat import domain, weighted_sum

if TYPE_CHECKING:
    from dardis.solver.cpsat import CpModel, IntervalVar, IntVar, LinearExpr


@dataclass(frozen=True, slots=True)
class RunVariables:
    """Starts, durations and intervals (τ) of jobs."""

    start: list[IntVar]
    duration: list[int]
    interval: list[IntervalVar]


OpenSpans = Sequence[Sequence[tuple[int, int]] | None]
"""Open spans `[a, b)` of each job's queue, not empty; None: always open."""


def add_runs(
    model: CpModel, durations: Ints, first: Ints, latest: int, hint: Ints | None, hours: OpenSpans | None = None
) -> RunVariables:
    """Add an interval for each job, from `first` to `latest`, within open hours (T section 4.3.1)."""
    start = [
        model.new_int_var(low, latest, "")
        if spans is None
        else model.new_int_var_from_domain(domain([(a, b - 1) for a, b in spans]), "")
        for low, spans in zip(first.tolist(), hours or [None] * len(first), strict=True)
    ]
    lengths = durations.tolist()
    if hint is not None:
        for variable, value in zip(start, hint.tolist(), strict=True):
            model.add_hint(variable, value)
    interval = [model.new_fixed_size_interval_var(a, d, "") for a, d in zip(start, lengths, strict=True)]
    return RunVariables(start, lengths, interval)


def choose_one(model: CpModel, count: int, hint: int | None) -> list[IntVar]:
    """Choose exactly one request."""
    literals = [model.new_bool_var("") for _ in range(count)]
    model.add_exactly_one(literals)
    for place, literal in enumerate(literals if hint is not None else ()):
        model.add_hint(literal, place == hint)
    return literals


@dataclass(frozen=True, slots=True)
class NodeUnits:
    """Units of a run on a node, with an interval for each unit (υ of the papers)."""

    run: int
    node: int
    units: IntVar
    most: int
    interval: IntervalVar

    def use_of(self, amount: int) -> LinearExpr | int:
        """Use of the node if a unit needs `amount`."""
        return amount if self.most == 1 else self.units * amount


def presence(model: CpModel, there: NodeUnits, hint: int | None) -> IntVar:
    """Whether any unit is on the node."""
    if there.most == 1:
        return there.units
    literal = model.new_bool_var("")
    model.add(there.units >= literal)
    model.add(there.units <= there.most * literal)
    if hint is not None:
        model.add_hint(literal, hint > 0)
    return literal


def add_node_units(model: CpModel, of: RunVariables, run: int, node: int, most: int, hint: int | None) -> NodeUnits:
    """Add up to `most` units of a run on a node.

    Several units are an integer instead of optional intervals. This saves most variables.
    """
    if most == 1:
        units = model.new_bool_var("")
        interval = model.new_optional_fixed_size_interval_var(of.start[run], of.duration[run], units, "")
    else:
        units, interval = model.new_int_var(0, most, ""), of.interval[run]
    if hint is not None:
        model.add_hint(units, hint)
    return NodeUnits(run, node, units, most, interval)


FixedUses = Sequence[tuple[int, int, int]]


def alternative(model: CpModel, units: Sequence[IntVar], of_job: LinearExpr | int) -> None:
    """Place all units of a job (T equation 3.7)."""
    model.add(weighted_sum(units, [1] * len(units)) == of_job)


def require_adjacent(model: CpModel, there: Sequence[tuple[int, IntVar, bool | None]]) -> None:
    """Use only adjacent nodes."""
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
    model: CpModel,
    intervals: Sequence[IntervalVar],
    demands: Sequence[LinearExpr | int],
    taken: FixedUses,
    capacity: int,
) -> None:
    """Limit use to the capacity of a node or pool (T equation 3.8)."""
    fixed = [model.new_fixed_size_interval_var(start, end - start, "") for start, end, _ in taken]
    amounts = [amount for _, _, amount in taken]
    model.add_cumulative([*intervals, *fixed], [*demands, *amounts], capacity)


def order_starts(model: CpModel, starts: Sequence[IntVar]) -> None:
    """Start equal jobs in this order."""
    for before, after in pairwise(starts):
        model.add(before <= after)
