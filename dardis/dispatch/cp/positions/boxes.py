"""PCP'20's model (003, section 3): disjoint boxes over time and positions.

Times are s from now; positions as in `lines`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from dardis.dispatch.cp.decision_problem import DecisionProblem
from dardis.dispatch.cp.positions.lines import Box, Lines, PositionedJob, Row
from dardis.dispatch.cp.variables import add_runs, cumulative, order_starts
from dardis.model.arrays import Ints
from dardis.model.job import Job
from dardis.solver.cpsat import CpSolution, domain, new_model

if TYPE_CHECKING:
    from dardis.solver.cpsat import CpModel, IntervalVar, IntVar


@dataclass(frozen=True)
class Units:
    """Position variables of a job's units."""

    rows: list[Row]
    nodes: list[IntVar]
    """Empty for units of a single position."""
    in_row: list[list[IntVar]] = field(default_factory=list)
    """Literals by unit; empty for a single row."""
    first: dict[int, list[IntVar]] = field(default_factory=dict)
    """First positions by kind (y of 003)."""
    covered: dict[int, list[IntervalVar]] = field(default_factory=dict)
    """From y to y + request − 1 (003 ends a position later)."""


class Boxes:
    """Model without objective."""

    def __init__(self, problem: DecisionProblem, lines: Lines, hints: Sequence[PositionedJob]) -> None:
        self.model: CpModel = new_model()
        self._lines = lines
        self._distinct = problem.distinct
        self._waiting = problem.waiting
        self._horizon = problem.horizon - problem.now
        durations = np.array([waiting.duration for waiting in self._waiting], dtype=np.int64)
        starts = np.array([hint.start for hint in hints], dtype=np.int64) if hints else None
        self.runs = add_runs(self.model, durations, np.zeros_like(durations), self._horizon, starts)
        self._units = [self._units_of(waiting.job) for waiting in self._waiting]
        for units, hint in zip(self._units, hints, strict=False):
            self._hint(units, hint)
        for waiting, units in zip(self._waiting, self._units, strict=True):
            self._same_node(waiting.job, units)
            self._units_in_order(waiting.job, units)
        self._jobs_in_order()
        for kind in lines.kinds:
            taken = lines.boxes(kind)
            self._no_overlap(kind, taken)
            self._cumulative_over_time(kind, taken)
            self._cumulative_over_positions(kind, taken)

    def read(self, answer: CpSolution) -> list[PositionedJob]:
        """Solution for each job."""
        found = []
        for start, waiting, units in zip(self.runs.start, self._waiting, self._units, strict=True):
            nodes: Ints = np.zeros(waiting.job.units, dtype=np.int64)
            offsets = np.full((waiting.job.units, len(waiting.job.request)), -1, dtype=np.int64)
            for kind, first in units.first.items():
                nodes, offsets[:, kind] = self._lines.place(kind, answer.values(first))
            found.append(PositionedJob(int(answer.values([start])[0]), nodes, offsets))
        return found

    def _units_of(self, job: Job) -> Units:
        new = self.model.new_int_var_from_domain
        request, rows = self._lines.request(job), self._lines.rows(job)
        kinds = np.flatnonzero(request).tolist()
        # Any position is within some node.
        free = len(kinds) == 1 and request[kinds[0]] == 1 and not self._distinct
        able = domain(rows)
        units = Units(rows, [] if free else [new(able, "") for _ in range(job.units)])
        if len(rows) > 1:
            units.in_row.extend([self.model.new_bool_var("") for _ in rows] for _ in units.nodes)
        for kind in kinds:
            maps = [self._lines.map(kind, row) for row in rows]
            where = domain(
                (capacity * low + shift, capacity * (high + 1) + shift - int(request[kind]))
                for (low, high), (capacity, shift) in zip(rows, maps, strict=True)
            )
            units.first[kind] = [new(where, "") for _ in range(job.units)]
            units.covered[kind] = [
                self.model.new_fixed_size_interval_var(first, int(request[kind]), "") for first in units.first[kind]
            ]
        return units

    def _hint(self, units: Units, hint: PositionedJob) -> None:
        for node, value in zip(units.nodes, hint.nodes.tolist(), strict=False):
            self.model.add_hint(node, value)
        for literals, value in zip(units.in_row, hint.nodes.tolist(), strict=False):
            for literal, (low, high) in zip(literals, units.rows, strict=True):
                self.model.add_hint(literal, low <= value <= high)
        for kind, firsts in units.first.items():
            values = self._lines.position(kind, hint.nodes, hint.offsets[:, kind])
            for first, value in zip(firsts, values.tolist(), strict=True):
                self.model.add_hint(first, value)

    def _same_node(self, job: Job, units: Units) -> None:
        """Keep a unit within its node (003 uses `element`)."""
        request = self._lines.request(job)
        for literals in units.in_row:
            self.model.add_exactly_one(literals)
        for place, row in enumerate(units.rows):
            for kind, firsts in units.first.items():
                capacity, shift = self._lines.map(kind, row)
                high = shift + capacity - int(request[kind])
                for unit, (node, first) in enumerate(zip(units.nodes, firsts, strict=False)):
                    within = self.model.add_linear_constraint(first - capacity * node, shift, high)
                    if units.in_row:
                        within.only_enforce_if(units.in_row[unit][place])
            for node, literals in zip(units.nodes, units.in_row, strict=False):
                self.model.add_linear_constraint(node, *row).only_enforce_if(literals[place])

    def _units_in_order(self, job: Job, units: Units) -> None:
        """Order a job's units by position in each kind (003), without loss."""
        request = self._lines.request(job)
        for kind, firsts in units.first.items():
            for before, after in pairwise(firsts):
                self.model.add(before + int(request[kind]) <= after)
        if self._distinct:
            for before, after in pairwise(units.nodes):
                self.model.add(before + 1 <= after)

    def _jobs_in_order(self) -> None:
        """Start equal jobs by priority."""
        alike = defaultdict(list)
        for start, waiting in zip(self.runs.start, self._waiting, strict=True):
            job = waiting.job
            alike[job.request, job.units, job.groups, waiting.duration].append(start)
        for starts in alike.values():
            order_starts(self.model, starts)

    def _no_overlap(self, kind: int, taken: Sequence[Box]) -> None:
        new = self.model.new_fixed_size_interval_var
        spans = [new(start, end - start, "") for _, _, start, end in taken]
        covered = [new(low, high - low, "") for low, high, _, _ in taken]
        for span, units in zip(self.runs.interval, self._units, strict=True):
            boxes = units.covered.get(kind, [])
            covered += boxes
            spans += [span] * len(boxes)
        self.model.add_no_overlap_2d(spans, covered)

    def _cumulative_over_time(self, kind: int, taken: Sequence[Box]) -> None:
        """Limit use over time (003's first, implied by `diffn`)."""
        in_use: dict[tuple[int, int], int] = defaultdict(int)
        for low, high, start, end in taken:
            in_use[start, end] += high - low
        sums = [(start, end, amount) for (start, end), amount in in_use.items()]
        demands = [waiting.job.units * int(self._lines.request(waiting.job)[kind]) for waiting in self._waiting]
        cumulative(self.model, self.runs.interval, demands, sums, int(self._lines.total[kind]))

    def _cumulative_over_positions(self, kind: int, taken: Sequence[Box]) -> None:
        """Limit use of positions (003's second, with durations for the printed starts).

        Never binds.
        """
        covered: list[IntervalVar] = []
        demands: list[int] = []
        for duration, units in zip(self.runs.duration, self._units, strict=True):
            boxes = units.covered.get(kind, [])
            covered += boxes
            demands += [duration] * len(boxes)
        fixed = [(low, high, end - start) for low, high, start, end in taken]
        cumulative(self.model, covered, demands, fixed, self._horizon)
