"""The variables and constraints of the models, one function each. Times in s from now."""

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
class Runs:
    """The jobs of a model: when they start, how long they run, and their intervals (τ of the papers)."""

    start: list[IntVar]
    duration: list[int]
    interval: list[IntervalVar]


Open = Sequence[Sequence[tuple[int, int]] | None]
"""For each job the spans `[a, b)` in which its queue lets it start, of which there must be some; None: always."""


def runs(
    model: CpModel, durations: Ints, first: Ints, latest: int, hint: Ints | None, hours: Open | None = None
) -> Runs:
    """An interval a job that starts from `first[i]` on, not after `latest`, and within its hours (T section 4.3.1)."""
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
    return Runs(start, lengths, interval)


def one_of(model: CpModel, count: int, hint: int | None) -> list[IntVar]:
    """Whether a job is run as each of its requests: one of them is; `hint` says which."""
    literals = [model.new_bool_var("") for _ in range(count)]
    model.add_exactly_one(literals)
    for place, literal in enumerate(literals if hint is not None else ()):
        model.add_hint(literal, place == hint)
    return literals


@dataclass(frozen=True, slots=True)
class Place:
    """How many units of a run are on a node, and an interval that counts so many times there (υ of the papers)."""

    run: int
    node: int
    units: IntVar
    most: int
    interval: IntervalVar

    def takes(self, amount: int) -> LinearExpr | int:
        """What the interval takes of the node if a unit needs `amount`."""
        return amount if self.most == 1 else self.units * amount


def presence(model: CpModel, there: Place, hint: int | None) -> IntVar:
    """Whether any unit is there; `hint` says how many are."""
    if there.most == 1:
        return there.units
    literal = model.new_bool_var("")
    model.add(there.units >= literal)
    model.add(there.units <= there.most * literal)
    if hint is not None:
        model.add_hint(literal, hint > 0)
    return literal


def place(model: CpModel, of: Runs, run: int, node: int, most: int, hint: int | None) -> Place:
    """Up to `most` units of a run on a node.

    One unit is an optional interval, of the job's start. Several are no more of them but one number of units: 40 jobs
    on 64 nodes have 1,200 variables then, not 4,400, and 1,000 conflicts take 0.6 to 1.1 s, not 1.7 to 5.7.
    """
    if most == 1:
        units = model.new_bool_var("")
        interval = model.new_optional_fixed_size_interval_var(of.start[run], of.duration[run], units, "")
    else:
        units, interval = model.new_int_var(0, most, ""), of.interval[run]
    if hint is not None:
        model.add_hint(units, hint)
    return Place(run, node, units, most, interval)


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
