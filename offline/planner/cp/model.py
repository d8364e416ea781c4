"""Thesis's model of a day (eq. 6.2 to 6.4): jobs as intervals, capacities, profit with looked-up cooling.

Up to `MOST_UNIT_INTERVALS`, units have optional intervals on nodes as in the thesis. Beyond, capacity is summed over
nodes (`capacity_model`), without packing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from dardis.model.arrays import Floats, Ints
from dardis.model.job import NO_TIME
from dardis.model.node_sets import units_in
from dardis.power.cooling import PueTable
from dardis.solver.cpsat import new_model, weighted_sum
from offline.planner.cp.capacity_model import CapacityRow, OccupiedSpans, able_groups, rows
from offline.planner.day_problem import DayProblem, Plan
from offline.planner.money import account_of_running, added_w, cores_of, most_added_w, price_per_j

if TYPE_CHECKING:
    from dardis.solver.cpsat import CpModel, IntervalVar, IntVar, LinearExpr

MOST_UNIT_INTERVALS = 2_000
MONEY = 10**10
"""Units in a currency unit."""
POWER = 10
"""Units in a W."""
COLUMN_W = 500
"""Width of a cooling column, as in the thesis."""


@dataclass(frozen=True)
class Segments:
    """Segments `[edges[i], edges[i+1])`; arrays (segments,). `base_w`: idle nodes and running jobs."""

    edges: Ints
    temp_c: Floats
    price_per_j: Floats
    base_w: Floats


def unmerged_segments(problem: DayProblem) -> Segments:
    """Segments of the conditions.

    Merged ones give no bound, where cooling gets cheaper with load.
    """
    conditions = problem.conditions
    return Segments(conditions.edges, conditions.temp_c, price_per_j(problem), account_of_running(problem).it_w)


@dataclass(frozen=True)
class Lookup:
    """Segment's cooling: column and cost variables, cost table, power without jobs."""

    index: IntVar
    cost: IntVar
    money: list[int]
    worth: Ints
    """Of a second of each job, (jobs,)."""
    watts: Ints
    """Added by each job, (jobs,)."""
    fixed: int
    column: int


@dataclass
class DayModel:
    """Model and its variables."""

    problem: DayProblem
    segments: Segments
    optimistic: bool = False
    """Round so that no plan exceeds the maximum, and jobs may wait."""
    column_w: int = COLUMN_W
    model: CpModel = field(default_factory=new_model)
    start: list[IntVar] = field(default_factory=list)
    runs: list[IntervalVar] = field(default_factory=list)
    units: dict[tuple[int, int], list[IntVar]] = field(default_factory=dict)
    """By job and node: whether a first, second, … unit is there."""
    clipped: list[tuple[IntVar, int, int, int]] = field(default_factory=list)
    """Variables min(start + seconds, edge): variable, job, seconds, edge."""
    lookups: list[Lookup] = field(default_factory=list)
    terms: list[tuple[LinearExpr | int, int]] = field(default_factory=list)
    """Expressions with weights."""

    def maximize_profit(self) -> None:
        """Set the objective."""
        self.model.maximize(self.profit())

    def profit(self) -> LinearExpr:
        """Objective."""
        return weighted_sum((what for what, _ in self.terms), (worth for _, worth in self.terms))

    @property
    def latest_end(self) -> int:
        """Latest end of any job."""
        return int((self.latest + self.problem.jobs.duration).max(initial=0))

    @property
    def soonest(self) -> Ints:
        """First starts, (jobs,)."""
        earliest = self.problem.jobs.earliest
        return earliest if self.optimistic else np.maximum(earliest, self.problem.conditions.start)

    @property
    def latest(self) -> Ints:
        """Last starts, (jobs,)."""
        jobs, end = self.problem.jobs, self.problem.conditions.end
        last = np.where(jobs.latest == NO_TIME, self.problem.horizon, np.minimum(jobs.latest, self.problem.horizon))
        return np.maximum(self.soonest, end if self.optimistic else last)


def add_starts(day: DayModel, begun: Ints | None = None) -> None:
    """Add starts from `earliest` to the horizon, or to `begun` if later."""
    jobs, end = day.problem.jobs, day.problem.conditions.end
    latest = day.latest if begun is None else np.maximum(day.latest, begun)
    for place, (low, high) in enumerate(zip(day.soonest.tolist(), latest.tolist(), strict=True)):
        start = day.model.new_int_var(low, high, f"start{place}")
        length = int(jobs.duration[place])
        day.start.append(start)
        if not day.optimistic:
            day.runs.append(day.model.new_fixed_size_interval_var(start, length, f"run{place}"))
            continue
        today = day.model.new_bool_var(f"today{place}")
        day.model.add(start >= end).only_enforce_if(~today)
        day.runs.append(day.model.new_optional_fixed_size_interval_var(start, length, today, f"run{place}"))


def unit_intervals(problem: DayProblem) -> int:
    """Number of unit intervals in the thesis's model."""
    return int(_most_units(problem).sum())


def _most_units(problem: DayProblem) -> Ints:
    jobs, platform = problem.jobs, problem.platform
    in_group = np.zeros((len(jobs.number), len(platform.groups)), dtype=np.int64)
    for job, (bits, request) in enumerate(zip(able_groups(problem), jobs.request.tolist(), strict=True)):
        groups = platform.sets.groups(bits)
        in_group[job, groups] = units_in(platform.group_capacity[groups], request)
    return np.minimum(in_group, jobs.units[:, None])[:, platform.group_of_node]


def add_node_capacity(day: DayModel) -> None:
    """Assign every unit to a node (alternative), within capacity (cumulative)."""
    most = _most_units(day.problem)
    on_node: list[list[tuple[int, IntervalVar]]] = [[] for _ in range(day.problem.platform.node_count)]
    for job, start in enumerate(day.start):
        placed: list[IntVar] = []
        for node in np.flatnonzero(most[job]).tolist():
            there = [day.model.new_bool_var(f"unit{job},{node},{unit}") for unit in range(int(most[job, node]))]
            for unit, literal in enumerate(there):
                length = int(day.problem.jobs.duration[job])
                interval = day.model.new_optional_fixed_size_interval_var(start, length, literal, "")
                on_node[node].append((job, interval))
                if unit:
                    day.model.add_implication(literal, there[unit - 1])
            day.units[job, node] = there
            placed += there
        if not day.optimistic:
            day.model.add(sum(placed) == int(day.problem.jobs.units[job]))
            continue
        wanted = int(day.problem.jobs.units[job]) * day.runs[job].presence_literals()[0]
        day.model.add(sum(placed) == wanted)
    _limit_node_use(day, on_node)


def _limit_node_use(day: DayModel, on_node: list[list[tuple[int, IntervalVar]]]) -> None:
    platform, request = day.problem.platform, day.problem.jobs.request
    taken = OccupiedSpans.of_problem(day.problem)
    for kind in range(len(platform.kinds)):
        node, start, end, amount = taken.amounts(kind)
        for place, there in enumerate(on_node):
            of_kind = [(interval, int(request[job, kind])) for job, interval in there if request[job, kind]]
            here = (node == place) & (amount > 0)
            fixed = _fixed(day, start[here], end[here], amount[here])
            _cumulative(day, of_kind + fixed, int(platform.capacity[place, kind]))


def add_capacity_rows(day: DayModel) -> None:
    """Limit capacity by rows: necessary, not always sufficient."""
    for row in rows(day.problem):
        _add_capacity_row(day, row)


def _add_capacity_row(day: DayModel, row: CapacityRow) -> None:
    most, start, end, missing = row.fixed()
    some = np.flatnonzero(row.demand)
    _cumulative(day, [(day.runs[job], int(row.demand[job])) for job in some] + _fixed(day, start, end, missing), most)


def keep_nodes(day: DayModel, plan: Plan) -> None:
    """Keep jobs with several units on their nodes (thesis eq. 6.5)."""
    several = np.flatnonzero(day.problem.jobs.units > 1).tolist()
    on_node: list[list[tuple[int, IntervalVar, int]]] = [[] for _ in range(day.problem.platform.node_count)]
    for job in several:
        units = dict(plan.placed.pairs(job))
        for node, count in units.items():
            on_node[node].append((job, day.runs[job], count))
        for (owner, node), literals in day.units.items():
            if owner == job:
                for unit, literal in enumerate(literals):
                    day.model.add(literal == int(unit < units.get(node, 0)))
    if not day.units:
        request = day.problem.jobs.request
        for kind, capacity in enumerate(day.problem.platform.capacity.T):
            for node, there in enumerate(on_node):
                held = [(run, count * int(request[job, kind])) for job, run, count in there if request[job, kind]]
                _cumulative(day, held, int(capacity[node]))


def _fixed(day: DayModel, start: Ints, end: Ints, amount: Ints) -> list[tuple[IntervalVar, int]]:
    low = np.maximum(start, int(day.soonest.min(initial=0)))
    high = np.minimum(end, day.latest_end)
    return [
        (day.model.new_fixed_size_interval_var(a, b - a, ""), much)
        for a, b, much in zip(low.tolist(), high.tolist(), amount.tolist(), strict=True)
        if b > a
    ]


def _cumulative(day: DayModel, there: list[tuple[IntervalVar, int]], capacity: int) -> None:
    if sum(amount for _, amount in there) > capacity:
        day.model.add_cumulative([interval for interval, _ in there], [amount for _, amount in there], capacity)


def _add_overlaps(day: DayModel) -> list[list[tuple[int, LinearExpr | int]]]:
    """Jobs and their seconds by segment (thesis: overlapLength)."""
    edges = day.segments.edges.tolist()
    found: list[list[tuple[int, LinearExpr | int]]] = [[] for _ in edges[1:]]
    soonest, latest, duration = day.soonest, day.latest, day.problem.jobs.duration
    for job in range(len(day.start)):
        low, high, length = int(soonest[job]), int(latest[job]), int(duration[job])
        until = [_before(day, job, 0, low, high, edge) for edge in edges]
        done = [_before(day, job, length, low + length, high + length, edge) for edge in edges]
        for place, (begin, end) in enumerate(pairwise(edges)):
            if low < end and high + length > begin:
                found[place].append((job, (done[place + 1] - done[place]) - (until[place + 1] - until[place])))
    return found


def _before(day: DayModel, job: int, seconds: int, low: int, high: int, edge: int) -> LinearExpr | int:
    time = day.start[job] + seconds
    if edge <= low or edge >= high:
        return edge if edge <= low else time
    earlier = day.model.new_int_var(low, edge, "")
    day.model.add_min_equality(earlier, [time, edge])
    day.clipped.append((earlier, job, seconds, edge))
    return earlier


def add_profit(day: DayModel) -> None:
    """Add income minus energy and cooling costs."""
    watts, income = added_w(day.problem), cores_of(day.problem) * day.problem.jobs.income / 3600
    rounded = np.ceil if day.optimistic else np.round
    power = np.round(POWER * watts).astype(np.int64)
    for place, there in enumerate(_add_overlaps(day)):
        worth = rounded(MONEY * (income - watts * day.segments.price_per_j[place])).astype(np.int64)
        day.terms += [(seconds, int(worth[job])) for job, seconds in there]
        _add_cooling(day, place, there, worth, power)


def fixed_money(problem: DayProblem) -> float:
    """Constant profit outside the objective, without cooling."""
    running = account_of_running(problem)
    return running.income_eur - float((price_per_j(problem) * running.it_w * np.diff(running.edges)).sum())


def _add_cooling(
    day: DayModel, place: int, there: list[tuple[int, LinearExpr | int]], worth: Ints, power: Ints
) -> None:
    """Add a segment's cooling cost, looked up by mean power (thesis eq. 6.4: element)."""
    segment = day.segments
    seconds = int(segment.edges[place + 1] - segment.edges[place])
    column = day.column_w * POWER * seconds
    fixed = round(POWER * segment.base_w[place] * seconds) + (0 if day.optimistic else column // 2)
    drawing = [(job, run) for job, run in there if power[job]]
    drawn_most = min(sum(int(power[job]) for job, _ in drawing), POWER * most_added_w(day.problem) + len(drawing))
    most = int(fixed + drawn_most * seconds) // column + 1
    rounded = np.floor if day.optimistic else np.round
    table = _cooling_table(day, place, most + 1, len(drawing)) * seconds
    money = rounded(MONEY * table).astype(np.int64).tolist()
    index = day.model.new_int_var(0, most, f"column{place}")
    drawn = weighted_sum((run for _, run in drawing), (int(power[job]) for job, _ in drawing))
    day.model.add_division_equality(index, drawn + fixed, column)
    cost = day.model.new_int_var(min(money), max(money), f"cooling{place}")
    day.model.add_element(index, money, cost)
    day.terms.append((cost, -1))
    day.lookups.append(Lookup(index, cost, money, worth, power, fixed, column))


def _cooling_table(day: DayModel, place: int, columns: int, parts: int) -> Floats:
    segment, known = day.segments, getattr(day.problem.cooling, "most_it_w", np.inf)

    def cost(it_w: Floats | float) -> Floats:
        inside = np.clip(it_w, 0.0, known)
        return np.asarray(segment.price_per_j[place] * day.problem.cooling.watts(segment.temp_c[place], inside))

    at = day.column_w * np.arange(columns, dtype=np.float64)
    if not day.optimistic:
        return cost(at)
    slack = 0.5 * (parts + 1) / POWER + 1e-6
    least = np.minimum(cost(at - slack), cost(at + day.column_w + slack))
    if isinstance(day.problem.cooling, PueTable):  # cooling may be least at the table's own columns
        for knot in day.problem.cooling.it_w:
            near = (at - slack <= knot) & (knot <= at + day.column_w + slack)
            least[near] = np.minimum(least[near], cost(knot))
    return least


def add_hints(day: DayModel, plan: Plan) -> int:
    """Hint all variables (CP-SAT ignores partial hints). Return the objective."""
    for start, run, begun in zip(day.start, day.runs, plan.start.tolist(), strict=True):
        day.model.add_hint(start, begun)
        for today in run.presence_literals() if day.optimistic else ():
            day.model.add_hint(today, begun < day.problem.conditions.end)
    for variable, job, seconds, edge in day.clipped:
        day.model.add_hint(variable, min(int(plan.start[job]) + seconds, edge))
    objective = 0
    finish = plan.start + day.problem.jobs.duration
    for lookup, (low, high) in zip(day.lookups, pairwise(day.segments.edges.tolist()), strict=True):
        ran = np.clip(np.minimum(finish, high) - np.maximum(plan.start, low), 0, None)
        index = (lookup.fixed + int(lookup.watts @ ran)) // lookup.column
        day.model.add_hint(lookup.index, index)
        day.model.add_hint(lookup.cost, lookup.money[index])
        objective += int(lookup.worth @ ran) - lookup.money[index]
    of, nodes, units = (column.tolist() for column in (plan.placed.job_of, plan.placed.nodes, plan.placed.units))
    there = dict(zip(zip(of, nodes, strict=True), units, strict=True))
    for place, literals in day.units.items():
        for unit, literal in enumerate(literals):
            day.model.add_hint(literal, unit < there.get(place, 0))
    return objective
