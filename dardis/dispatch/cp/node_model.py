"""The model with units as intervals on nodes (T equations 3.4 to 3.8; 002, section 2.2).

The papers give job i on node n optional intervals for p(i, n) units. Here, without loss:

- All intervals of a job share the start variable.
- If p(i, n) is above 1, a number of units replaces equal intervals.
- Equal nodes are used in turn: the first k jobs, fewest units first, use at most as many nodes as units.
- Equal jobs start in order of due times, if never worse.

Parts of a job share the start (T equation 4.7). A job runs as exactly one request.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import or_
from typing import TYPE_CHECKING

import numpy as np

from dardis.dispatch.cp import variables
from dardis.dispatch.cp import variables as constraints
from dardis.dispatch.cp.first_answer import NodePlan, ProblemMachine, least_of_groups
from dardis.dispatch.cp.variables import RunVariables
from dardis.model.step_function import sum_of_columns
from dardis.solver.cpsat import new_model

if TYPE_CHECKING:
    from dardis.dispatch.cp.decision_problem import DecisionProblem, RunningJobPart, WaitingJob
    from dardis.dispatch.cp.objectives import Objective, PostedObjective
    from dardis.dispatch.cp.variables import NodeUnits, OpenSpans
    from dardis.model.arrays import Ints
    from dardis.model.job import Part
    from dardis.solver.cpsat import CpModel, IntVar
    from dardis.solver.cpsat import CpSolution as Solved

ROUNDING = 1e-9
"""Relative error of sums of floats."""
Spans = list[tuple[int, int, int]]
"""Start, end and amount of use, in s from now."""


@dataclass(frozen=True, slots=True)
class PartRow:
    """Part of a job's request."""

    job: int
    request: int
    part: int
    demand: Part
    duration: int
    contiguous: bool


@dataclass(frozen=True)
class Subproblem:
    """Model's part of a problem."""

    problem: DecisionProblem
    places: tuple[int, ...]
    """Places in the problem's `waiting`, by priority."""
    running: tuple[RunningJobPart, ...]
    latest: int
    """Last start, in s from now."""
    lean: bool = True
    """Omit redundant constraints."""

    @cached_property
    def jobs(self) -> tuple[WaitingJob, ...]:
        """Model's jobs."""
        return tuple(self.problem.waiting[place] for place in self.places)

    def machine(self) -> ProblemMachine:
        """New machine with the running jobs."""
        return ProblemMachine(self.problem, self.jobs, self.running)

    @cached_property
    def durations(self) -> Ints:
        """Durations of the jobs."""
        return np.array([waiting.duration for waiting in self.jobs], dtype=np.int64)

    @cached_property
    def free(self) -> list[tuple[Ints, Ints]]:
        """Free capacity, as in `ProblemMachine.free`."""
        return self.machine().free()

    @cached_property
    def rows(self) -> tuple[PartRow, ...]:
        """Parts of all requests, by job."""
        return tuple(
            PartRow(job, place, at, part, request.walltime, request.contiguous)
            for job, waiting in enumerate(self.jobs)
            for place, request in waiting.requests
            for at, part in enumerate(request.parts)
        )

    @cached_property
    def fits(self) -> list[list[int]]:
        """Units on empty nodes, (rows, groups)."""
        return [units_by_group(self.problem, row.demand) for row in self.rows]

    def fits_empty_machine(self) -> list[bool]:
        """Whether the empty machine holds some request of each job."""
        counts = [group.count for group in self.problem.platform.groups]
        short = {
            (row.job, row.request)
            for row, of in zip(self.rows, self.fits, strict=True)
            if sum(count * most for count, most in zip(counts, of, strict=True)) < row.demand.units
        }
        held = {row.job for row in self.rows if (row.job, row.request) not in short}
        return [job in held for job in range(len(self.jobs))]

    def sizes(self) -> list[int]:
        """Number of candidate nodes, by job."""
        counts = np.array([group.count for group in self.problem.platform.groups])
        found = [0] * len(self.jobs)
        for row, of in zip(self.rows, self.fits, strict=True):
            found[row.job] += int(counts[np.array(of) > 0].sum())
        return found

    def node_candidates(self, most: int) -> list[NodeCandidates] | None:
        """Candidate nodes of rows; None: above `most` pairs."""
        by_units = sorted(range(len(self.rows)), key=lambda row: self.rows[row].demand.units)
        tell_apart = any(row.contiguous for row in self.rows)
        found, size = [], 0
        for alike in group_equal_nodes(self.problem, self.free, self.end, tell_apart=tell_apart):
            used = 0
            for row in by_units:
                units = self.fits[row][alike.group]
                if units:
                    used = min(len(alike.nodes), used + self.rows[row].demand.units)
                    found.append(NodeCandidates(row, alike, used, units))
                    size += used
                    if size > most:
                        return None
        return found

    def hours(self, first: Ints) -> OpenSpans:
        """Open spans from `first` to the last start, by job."""
        now, found = self.problem.now, []
        for waiting, soonest in zip(self.jobs, first.tolist(), strict=True):
            starts = self.problem.starts_of(waiting.job)
            spans = starts.open_spans(now + soonest, now + self.latest + 1) if starts.edges else None
            found.append(None if spans is None else [(a - now, b - now) for a, b in spans])
        return found

    @property
    def end(self) -> int:
        """Last end, in s from now."""
        return self.latest + int(self.durations.max(initial=0))

    def groups_of(self, job: int) -> int:
        """Candidate node groups of a job, as bits."""
        if not self.jobs[job].job.requests:
            return self.problem.groups_of(self.jobs[job].job)
        parts = [part for _, request in self.jobs[job].requests for part in request.parts]
        return reduce(or_, map(self.problem.groups_of, parts))

    def free_of(self, groups: int) -> tuple[Ints, Ints]:
        """Total free capacity of groups over time."""
        nodes = np.flatnonzero(self.problem.platform.sets.nodes(groups))
        return sum_of_columns([self.free[node] for node in nodes])

    def least(self, objective: Objective, first: Ints) -> float:
        """Lower bound of the objective for starts from `first` on."""
        groups = [self.groups_of(job) for job in range(len(self.jobs))]
        return least_of_groups(objective.least, self.jobs, groups, first, self.free_of)

    @property
    def variables(self) -> int:
        """Variables as in the papers: |Q| + Σ p(i, n)."""
        counts = [group.count for group in self.problem.platform.groups]
        units = sum(count * most for fits in self.fits for count, most in zip(counts, fits, strict=True))
        return len(self.jobs) + units


def units_by_group(problem: DecisionProblem, part: Part) -> list[int]:
    """Units on an empty node, by group (T equation 3.6)."""
    first, found = 0, []
    for group in problem.platform.groups:
        found.append(problem.units_on(part, first) if group.count else 0)
        first += group.count
    return found


@dataclass(frozen=True)
class EqualNodes:
    """Equal nodes, with capacity and use by kind."""

    nodes: list[int]
    group: int
    capacity: list[int]
    taken: list[Spans]


@dataclass(frozen=True, slots=True)
class NodeCandidates:
    """Up to `most` units of a row on each of the first `used` nodes."""

    row: int
    equal_nodes: EqualNodes
    used: int
    most: int


def group_equal_nodes(
    problem: DecisionProblem, free: list[tuple[Ints, Ints]], end: int, *, tell_apart: bool = False
) -> list[EqualNodes]:  # fmt: skip
    """Group nodes by equal capacity until `end`; `tell_apart` separates all."""
    found: dict[tuple[int, bytes, bytes, int], EqualNodes] = {}
    group_of, capacity = problem.platform.group_of_node.tolist(), problem.platform.capacity
    for node, (time, value) in enumerate(free):
        key = (group_of[node], time.tobytes(), value.tobytes(), node if tell_apart else 0)
        if key not in found:
            found[key] = EqualNodes(
                [], group_of[node], capacity[node].tolist(), _spans(time, capacity[node] - value, end)
            )
        found[key].nodes.append(node)
    return list(found.values())


def _spans(time: Ints, amounts: Ints, end: int) -> list[Spans]:
    begin = time.tolist()
    return [
        [(a, b, amount) for a, b, amount in zip(begin, [*begin[1:], end], of_kind, strict=True) if amount > 0 and a < b]
        for of_kind in amounts.T.tolist()
    ]


@dataclass(frozen=True)
class BuiltModel:
    """Model to solve."""

    model: CpModel
    rows: Sequence[PartRow]
    start: Sequence[IntVar]
    places: list[NodeUnits]
    posted: PostedObjective

    def read(self, solved: Solved) -> NodePlan:
        """Solver's starts and placements."""
        starts = solved.values(self.start)
        found = solved.values(place.units for place in self.places).tolist()
        on: list[dict[int, int]] = [{} for _ in self.rows]
        for place, units in zip(self.places, found, strict=True):
            if units:
                on[place.run][place.node] = units
        where: list[dict[int, list[tuple[Ints, Ints]]]] = [{} for _ in self.start]
        for row, nodes in zip(self.rows, on, strict=True):
            if nodes:
                there, units = np.array(sorted(nodes.items()), dtype=np.int64).reshape(-1, 2).T
                where[row.job].setdefault(row.request, []).append((there, units))
        held = [(taken, tuple(parts)) for of in where for taken, parts in of.items()]
        # Equal starts keep the order of priority.
        return NodePlan(starts, held, tuple(np.argsort(starts, kind="stable").tolist()))


Limits = Sequence[tuple["Objective", float]]


def build(
    task: Subproblem,
    shares: list[NodeCandidates],
    objective: Objective,
    limits: Limits,
    first: Ints,
    hint: NodePlan | None,
) -> BuiltModel:
    """Build a model; `first`: earliest starts, `hint`: complete answer."""
    model = new_model()
    at = None if hint is None else hint.starts
    runs = variables.add_runs(model, task.durations, first, task.latest, at, task.hours(first))
    present = request_literals(model, task, hint)
    of_rows = row_runs(model, task, runs, present)
    places = _allocation(model, task, shares, of_rows, present, hint)
    for groups in sorted({task.problem.groups_of(row.demand) for row in task.rows}):
        limit_pool(model, task, groups, of_rows)
    posted = post_objective(model, task, objective, limits, runs, at)
    return BuiltModel(model, task.rows, runs.start, places, posted)


def post_objective(
    model: CpModel, task: Subproblem, objective: Objective, limits: Limits, runs: RunVariables, hint: Ints | None
) -> PostedObjective:
    """Minimise the objective; `limits` bound others."""
    posted = objective.post(model, runs.start, task.latest, hint)
    for other, most in limits:
        bounded = other.post(model, runs.start, task.latest, hint)
        # Admit the values of the hint and of the answer that gave the bound despite rounding.
        model.add(bounded.expression <= max(int(most * bounded.scale * (1 + ROUNDING)), bounded.at_hint or 0))
    if not limits:
        for kin in _interchangeable_jobs(task, objective):
            constraints.order_starts(model, [runs.start[job] for job in kin])
    model.minimize(posted.expression)
    return posted


def request_literals(model: CpModel, task: Subproblem, hint: NodePlan | None) -> dict[tuple[int, int], IntVar]:
    """Choice of jobs with several requests, by job and request."""
    found: dict[tuple[int, int], IntVar] = {}
    for job, waiting in enumerate(task.jobs):
        requests = [place for place, _ in waiting.requests]
        if len(requests) > 1:
            taken = None if hint is None else requests.index(hint.where[job][0])
            literals = variables.choose_one(model, len(requests), taken)
            found |= {(job, place): literal for place, literal in zip(requests, literals, strict=True)}
    return found


def row_runs(
    model: CpModel, task: Subproblem, runs: RunVariables, present: dict[tuple[int, int], IntVar]
) -> RunVariables:
    """Runs of the parts of requests."""
    start, duration, interval = [], [], []
    for row in task.rows:
        start.append(runs.start[row.job])
        duration.append(row.duration)
        if (row.job, row.request) in present:
            there = present[row.job, row.request]
            interval.append(model.new_optional_fixed_size_interval_var(start[-1], row.duration, there, ""))
        else:
            interval.append(runs.interval[row.job])
    return RunVariables(start, duration, interval)


def _allocation(
    model: CpModel,
    task: Subproblem,
    shares: list[NodeCandidates],
    runs: RunVariables,
    present: dict[tuple[int, int], IntVar],
    hint: NodePlan | None,
) -> list[NodeUnits]:
    hinted = None if hint is None else _hinted_units(task, shares, hint)
    of_row: list[list[NodeUnits]] = [[] for _ in task.rows]
    on_node: dict[int, list[NodeUnits]] = defaultdict(list)
    alike_of: dict[int, EqualNodes] = {}
    places: list[NodeUnits] = []
    for share in shares:
        for node in share.equal_nodes.nodes[: share.used]:
            units = None if hinted is None else hinted.get((share.row, node), 0)
            place = variables.add_node_units(model, runs, share.row, node, share.most, units)
            of_row[share.row].append(place)
            on_node[node].append(place)
            alike_of[node] = share.equal_nodes
            places.append(place)
    for found, row in zip(of_row, task.rows, strict=True):
        there = present.get((row.job, row.request))
        units_of = row.demand.units if there is None else row.demand.units * there
        constraints.alternative(model, [place.units for place in found], units_of)
        if row.demand.nodes or row.contiguous:
            _constrain_nodes(model, row, sorted(found, key=lambda place: place.node), there, hinted)
    for node, of_node in on_node.items():
        _limit_node(model, task, alike_of[node], of_node)
    return places


def _constrain_nodes(
    model: CpModel,
    row: PartRow,
    found: list[NodeUnits],
    present: IntVar | None,
    hinted: dict[tuple[int, int], int] | None,
) -> None:
    hints = [None if hinted is None else hinted.get((place.run, place.node), 0) for place in found]
    used = [variables.presence(model, place, hint) for place, hint in zip(found, hints, strict=True)]
    if row.demand.nodes:
        nodes = row.demand.nodes if present is None else row.demand.nodes * present
        constraints.alternative(model, used, nodes)
    if row.contiguous:
        there = [None if hint is None else hint > 0 for hint in hints]
        constraints.require_adjacent(model, list(zip([place.node for place in found], used, there, strict=True)))


def _limit_node(model: CpModel, task: Subproblem, alike: EqualNodes, there: list[NodeUnits]) -> None:
    for kind, (capacity, taken) in enumerate(zip(alike.capacity, alike.taken, strict=True)):
        asks = [(place, task.rows[place.run].demand.request[kind]) for place in there]
        if task.lean:
            asks = [(place, amount) for place, amount in asks if amount]
            most = sum(place.most * amount for place, amount in asks) + max((amount for *_, amount in taken), default=0)
            if most <= capacity:
                continue
        demands = [place.use_of(amount) for place, amount in asks]
        constraints.cumulative(model, [place.interval for place, _ in asks], demands, taken, capacity)


def limit_pool(model: CpModel, task: Subproblem, groups: int, runs: RunVariables) -> None:
    """Limit total use of groups, to tighten bounds (003, section 2.2)."""
    nodes = np.flatnonzero(task.problem.platform.sets.nodes(groups))
    times, free = task.free_of(groups)
    inside = [row for row, one in enumerate(task.rows) if task.problem.groups_of(one.demand) & ~groups == 0]
    capacity = task.problem.platform.capacity[nodes].sum(axis=0)
    for kind, taken in enumerate(_spans(times, capacity - free, task.end)):
        asks = {row: task.rows[row].demand.units * task.rows[row].demand.request[kind] for row in inside}
        asks = {row: amount for row, amount in asks.items() if amount}
        if sum(asks.values()) > int(free[:, kind].min()):
            intervals = [runs.interval[row] for row in asks]
            constraints.cumulative(model, intervals, list(asks.values()), taken, int(capacity[kind]))


def _hinted_units(task: Subproblem, shares: list[NodeCandidates], plan: NodePlan) -> dict[tuple[int, int], int]:
    """Units by row and node, with equal nodes renamed."""
    units: dict[tuple[int, int], int] = {}
    names: dict[int, int] = {}
    named: dict[int, int] = defaultdict(int)
    for share in shares:
        sort = share.equal_nodes.nodes[0]
        row = task.rows[share.row]
        taken, parts = plan.where[row.job]
        if row.request != taken:
            continue
        nodes, there = parts[row.part]
        held = dict(zip(nodes.tolist(), there.tolist(), strict=True))
        for node in share.equal_nodes.nodes:
            if node in held:
                if node not in names:
                    names[node] = share.equal_nodes.nodes[named[sort]]
                    named[sort] += 1
                units[share.row, names[node]] = held[node]
    return units


def _interchangeable_jobs(task: Subproblem, objective: Objective) -> list[list[int]]:
    alike: dict[object, list[tuple[int, int]]] = defaultdict(list)
    for place, waiting in enumerate(task.jobs):
        kin = objective.symmetry_key(place)
        if kin is not None:
            job = waiting.job
            needs = job.request, job.units, job.groups, job.requests, waiting.duration, task.problem.starts_of(job)
            alike[*needs, kin[0]].append((kin[1], place))
    return [[place for _, place in sorted(some)] for some in alike.values() if len(some) > 1]
