"""The model in which units are intervals on nodes (T equations 3.4 to 3.8; 002, section 2.2), built and read.

The papers give each job i and node n as many optional intervals as units of i fit on n at once, p(i, n), and have
exactly as many of them there as i has units. So it is here, but for four things that leave the optimum as it is and
make it easier to find and to prove (beside sums over nodes, which PCP'19 has too):

- The intervals of a job share its start, one variable, so that nothing need say that they begin together.
- Where p(i, n) is above 1, one number of units stands for as many intervals that nobody could tell apart.
- Nodes of a group on which the same is taken at all times are interchangeable. So they are used in turn: the first k
  jobs, those of fewest units first, use no more of them than they have units, and the model has no others for them.
- Of equal jobs, who is sooner due starts first, where that is never worse.

A job of several parts has such intervals for each of them, all with its one start (T equation 4.7); of several requests
it is run as one, and has no units on any node as the others.
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
from dardis.dispatch.cp.first_answer import Machine, Plan, least_of_groups
from dardis.dispatch.cp.variables import Runs
from dardis.model.step_function import sum_of_columns
from dardis.solver.cpsat import new_model

if TYPE_CHECKING:
    from dardis.dispatch.cp.decision_problem import Problem, Running, Waiting
    from dardis.dispatch.cp.objectives import Objective, Posted
    from dardis.dispatch.cp.variables import Open, Place
    from dardis.model.arrays import Ints
    from dardis.model.job import Part
    from dardis.solver.cpsat import Answer as Solved
    from dardis.solver.cpsat import CpModel, IntVar

Spans = list[tuple[int, int, int]]
"""Start, end and amount of what is taken, in s from now."""


@dataclass(frozen=True, slots=True)
class Row:
    """A part of one of the requests of a job: most jobs have one request, of one part."""

    job: int
    request: int
    part: int
    asks: Part
    duration: int
    contiguous: bool


@dataclass(frozen=True)
class Task:
    """What of a problem a model is to decide."""

    problem: Problem
    places: tuple[int, ...]
    """The jobs of the model, by their places in the problem's `waiting`, the one first that has the highest priority.
    """
    running: tuple[Running, ...]
    """As the model sees them."""
    latest: int
    """The last start, in s from now."""
    lean: bool = True
    """Whether constraints that can't be broken are left out."""

    @cached_property
    def jobs(self) -> tuple[Waiting, ...]:
        """The jobs of the model."""
        return tuple(self.problem.waiting[place] for place in self.places)

    def machine(self) -> Machine:
        """The nodes beside what runs, laid out anew."""
        return Machine(self.problem, self.jobs, self.running)

    @cached_property
    def durations(self) -> Ints:
        """Of the jobs of the model."""
        return np.array([waiting.duration for waiting in self.jobs], dtype=np.int64)

    @cached_property
    def free(self) -> list[tuple[Ints, Ints]]:
        """What each node has free beside what runs, and since when, as `Machine.free` has it."""
        return self.machine().free()

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """What the jobs may be run as, job by job."""
        return tuple(
            Row(job, place, at, part, request.walltime, request.contiguous)
            for job, waiting in enumerate(self.jobs)
            for place, request in waiting.requests
            for at, part in enumerate(request.parts)
        )

    @cached_property
    def fits(self) -> list[list[int]]:
        """How many units of each row a node of each group holds when empty, lists (rows, groups)."""
        return [units_by_group(self.problem, row.asks) for row in self.rows]

    def possible(self) -> list[bool]:
        """Whether the empty machine has room for all units of each part of one of a job's requests."""
        counts = [group.count for group in self.problem.platform.groups]
        short = {
            (row.job, row.request)
            for row, of in zip(self.rows, self.fits, strict=True)
            if sum(count * most for count, most in zip(counts, of, strict=True)) < row.asks.units
        }
        held = {row.job for row in self.rows if (row.job, row.request) not in short}
        return [job in held for job in range(len(self.jobs))]

    def sizes(self) -> list[int]:
        """On how many nodes each job might have units, counted for each of its rows."""
        counts = np.array([group.count for group in self.problem.platform.groups])
        found = [0] * len(self.jobs)
        for row, of in zip(self.rows, self.fits, strict=True):
            found[row.job] += int(counts[np.array(of) > 0].sum())
        return found

    def shares(self, most: int) -> list[Share] | None:
        """Where rows may have units, by sort of nodes and row; None: that is more than `most` nodes of rows."""
        by_units = sorted(range(len(self.rows)), key=lambda row: self.rows[row].asks.units)
        tell_apart = any(row.contiguous for row in self.rows)
        found, size = [], 0
        for alike in alike_nodes(self.problem, self.free, self.end, tell_apart=tell_apart):
            used = 0
            for row in by_units:
                units = self.fits[row][alike.group]
                if units:
                    used = min(len(alike.nodes), used + self.rows[row].asks.units)
                    found.append(Share(row, alike, used, units))
                    size += used
                    if size > most:
                        return None
        return found

    def hours(self, first: Ints) -> Open:
        """When queues let jobs start between their `first` starts and the last one."""
        now, found = self.problem.now, []
        for waiting, soonest in zip(self.jobs, first.tolist(), strict=True):
            starts = self.problem.starts_of(waiting.job)
            spans = starts.open_spans(now + soonest, now + self.latest + 1) if starts.edges else None
            found.append(None if spans is None else [(a - now, b - now) for a, b in spans])
        return found

    @property
    def end(self) -> int:
        """When all have ended, in s from now."""
        return self.latest + int(self.durations.max(initial=0))

    def groups_of(self, job: int) -> int:
        """The node groups that hold units of a job, of any of its parts, as bits."""
        if not self.jobs[job].job.requests:
            return self.problem.groups_of(self.jobs[job].job)
        parts = [part for _, request in self.jobs[job].requests for part in request.parts]
        return reduce(or_, map(self.problem.groups_of, parts))

    def free_of(self, groups: int) -> tuple[Ints, Ints]:
        """What the nodes of some groups have free together: times, and from each on an amount of each kind."""
        nodes = np.flatnonzero(self.problem.platform.sets.nodes(groups))
        return sum_of_columns([self.free[node] for node in nodes])

    def least(self, objective: Objective, first: Ints) -> float:
        """What no answer undercuts in which no job starts before its `first`."""
        groups = [self.groups_of(job) for job in range(len(self.jobs))]
        return least_of_groups(objective.least, self.jobs, groups, first, self.free_of)

    @property
    def variables(self) -> int:
        """Decision variables as the papers count them: |Q| + Σ p(i, n)."""
        counts = [group.count for group in self.problem.platform.groups]
        units = sum(count * most for fits in self.fits for count, most in zip(counts, fits, strict=True))
        return len(self.jobs) + units


def units_by_group(problem: Problem, part: Part) -> list[int]:
    """How many units of a part a node of each group holds when empty (T equation 3.6); 0 where the group has none."""
    first, found = 0, []
    for group in problem.platform.groups:
        found.append(problem.units_on(part, first) if group.count else 0)
        first += group.count
    return found


@dataclass(frozen=True)
class Alike:
    """Nodes, ascending, of one group and with the same taken at all times; of each kind, what there is and taken."""

    nodes: list[int]
    group: int
    capacity: list[int]
    taken: list[Spans]


@dataclass(frozen=True, slots=True)
class Share:
    """Up to `most` units of a row on each of the first `used` of some nodes."""

    row: int
    alike: Alike
    used: int
    most: int


def alike_nodes(
    problem: Problem, free: list[tuple[Ints, Ints]], end: int, *, tell_apart: bool = False
) -> list[Alike]:  # fmt: skip
    """The nodes by what there is of them until `end`; `tell_apart`: each for itself, as where neighbours matter."""
    found: dict[tuple[int, bytes, bytes, int], Alike] = {}
    group_of, capacity = problem.platform.group_of_node.tolist(), problem.platform.capacity
    for node, (time, value) in enumerate(free):
        key = (group_of[node], time.tobytes(), value.tobytes(), node if tell_apart else 0)
        if key not in found:
            found[key] = Alike([], group_of[node], capacity[node].tolist(), _spans(time, capacity[node] - value, end))
        found[key].nodes.append(node)
    return list(found.values())


def _spans(time: Ints, amounts: Ints, end: int) -> list[Spans]:
    """Of each kind, when how much is taken before `end`."""
    begin = time.tolist()
    return [
        [(a, b, amount) for a, b, amount in zip(begin, [*begin[1:], end], of_kind, strict=True) if amount > 0 and a < b]
        for of_kind in amounts.T.tolist()
    ]


@dataclass(frozen=True)
class Built:
    """A model, and what of it is to be read."""

    model: CpModel
    rows: Sequence[Row]
    start: Sequence[IntVar]
    """Of each job."""
    places: list[Place]
    """By row."""
    posted: Posted

    def read(self, solved: Solved) -> Plan:
        """The starts and nodes that were found."""
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
        # The places are those of the jobs by priority.
        return Plan(starts, held, tuple(np.argsort(starts, kind="stable").tolist()))


Limits = Sequence[tuple["Objective", float]]
"""Objectives, and what they are to be at most."""


def build(
    task: Task, shares: list[Share], objective: Objective, limits: Limits, first: Ints, hint: Plan | None
) -> Built:
    """The model of a task; no job starts before its `first`, and `hint` is a whole answer."""
    model = new_model()
    at = None if hint is None else hint.starts
    runs = variables.runs(model, task.durations, first, task.latest, at, task.hours(first))
    present = _present(model, task, hint)
    of_rows = _of_rows(model, task, runs, present)
    places = _allocation(model, task, shares, of_rows, present, hint)
    for groups in sorted({task.problem.groups_of(row.asks) for row in task.rows}):
        _pool_holds(model, task, groups, of_rows)
    posted = objective.post(model, runs.start, task.latest, at)
    for other, most in limits:
        bounded = other.post(model, runs.start, task.latest, at)
        # What the hint makes of it is allowed, and is not to be lost in rounding.
        model.add(bounded.expression <= max(int(most * bounded.scale), bounded.at_hint or 0))
    if not limits:
        for kin in _kin(task, objective):
            constraints.one_after_the_other(model, [runs.start[job] for job in kin])
    model.minimize(posted.expression)
    return Built(model, task.rows, runs.start, places, posted)


def _present(model: CpModel, task: Task, hint: Plan | None) -> dict[tuple[int, int], IntVar]:
    """Of jobs of several requests: whether each is run as which."""
    found: dict[tuple[int, int], IntVar] = {}
    for job, waiting in enumerate(task.jobs):
        requests = [place for place, _ in waiting.requests]
        if len(requests) > 1:
            taken = None if hint is None else requests.index(hint.where[job][0])
            literals = variables.one_of(model, len(requests), taken)
            found |= {(job, place): literal for place, literal in zip(requests, literals, strict=True)}
    return found


def _of_rows(model: CpModel, task: Task, runs: Runs, present: dict[tuple[int, int], IntVar]) -> Runs:
    """The runs of the rows, each with the start of its job."""
    start, duration, interval = [], [], []
    for row in task.rows:
        start.append(runs.start[row.job])
        duration.append(row.duration)
        if (row.job, row.request) in present:
            there = present[row.job, row.request]
            interval.append(model.new_optional_fixed_size_interval_var(start[-1], row.duration, there, ""))
        else:
            interval.append(runs.interval[row.job])
    return Runs(start, duration, interval)


def _allocation(
    model: CpModel,
    task: Task,
    shares: list[Share],
    runs: Runs,
    present: dict[tuple[int, int], IntVar],
    hint: Plan | None,
) -> list[Place]:
    """All units of each row that is run are on nodes, and no node has more of a kind than there is."""
    hinted = None if hint is None else _renamed(task, shares, hint)
    of_row: list[list[Place]] = [[] for _ in task.rows]
    on_node: dict[int, list[Place]] = defaultdict(list)
    alike_of: dict[int, Alike] = {}
    places: list[Place] = []
    for share in shares:
        for node in share.alike.nodes[: share.used]:
            units = None if hinted is None else hinted.get((share.row, node), 0)
            place = variables.place(model, runs, share.row, node, share.most, units)
            of_row[share.row].append(place)
            on_node[node].append(place)
            alike_of[node] = share.alike
            places.append(place)
    for found, row in zip(of_row, task.rows, strict=True):
        there = present.get((row.job, row.request))
        units_of = row.asks.units if there is None else row.asks.units * there
        constraints.alternative(model, [place.units for place in found], units_of)
        if row.asks.nodes or row.contiguous:
            _on_nodes_as_asked(model, row, sorted(found, key=lambda place: place.node), there, hinted)
    for node, of_node in on_node.items():
        _node_holds(model, task, alike_of[node], of_node)
    return places


def _on_nodes_as_asked(
    model: CpModel, row: Row, found: list[Place], present: IntVar | None, hinted: dict[tuple[int, int], int] | None
) -> None:
    """The units of a row are on so many nodes, and side by side, if it asks for that."""
    hints = [None if hinted is None else hinted.get((place.run, place.node), 0) for place in found]
    used = [variables.presence(model, place, hint) for place, hint in zip(found, hints, strict=True)]
    if row.asks.nodes:
        nodes = row.asks.nodes if present is None else row.asks.nodes * present
        constraints.alternative(model, used, nodes)
    if row.contiguous:
        there = [None if hint is None else hint > 0 for hint in hints]
        constraints.side_by_side(model, list(zip([place.node for place in found], used, there, strict=True)))


def _node_holds(model: CpModel, task: Task, alike: Alike, there: list[Place]) -> None:
    """Of no kind is there ever more on a node than it has."""
    for kind, (capacity, taken) in enumerate(zip(alike.capacity, alike.taken, strict=True)):
        asks = [(place, task.rows[place.run].asks.request[kind]) for place in there]
        if task.lean:
            asks = [(place, amount) for place, amount in asks if amount]
            most = sum(place.most * amount for place, amount in asks) + max((amount for *_, amount in taken), default=0)
            if most <= capacity:
                continue
        demands = [place.takes(amount) for place, amount in asks]
        constraints.cumulative(model, [place.interval for place, _ in asks], demands, taken, capacity)


def _pool_holds(model: CpModel, task: Task, groups: int, runs: Runs) -> None:
    """Of no kind is there ever more on the nodes of some groups than they have in all.

    PCP'19 has it (003, section 2.2); it follows from what single nodes hold, and lets bounds be seen sooner.
    """
    nodes = np.flatnonzero(task.problem.platform.sets.nodes(groups))
    times, free = task.free_of(groups)
    inside = [row for row, one in enumerate(task.rows) if task.problem.groups_of(one.asks) & ~groups == 0]
    capacity = task.problem.platform.capacity[nodes].sum(axis=0)
    for kind, taken in enumerate(_spans(times, capacity - free, task.end)):
        asks = {row: task.rows[row].asks.units * task.rows[row].asks.request[kind] for row in inside}
        asks = {row: amount for row, amount in asks.items() if amount}
        if sum(asks.values()) > int(free[:, kind].min()):
            intervals = [runs.interval[row] for row in asks]
            constraints.cumulative(model, intervals, list(asks.values()), taken, int(capacity[kind]))


def _renamed(task: Task, shares: list[Share], plan: Plan) -> dict[tuple[int, int], int]:
    """Units of a plan by row and node, with interchangeable nodes renamed so that they are used in turn."""
    units: dict[tuple[int, int], int] = {}
    names: dict[int, int] = {}
    named: dict[int, int] = defaultdict(int)
    """Nodes of each sort that have a name."""
    for share in shares:
        sort = share.alike.nodes[0]
        row = task.rows[share.row]
        taken, parts = plan.where[row.job]
        if row.request != taken:
            continue
        nodes, there = parts[row.part]
        held = dict(zip(nodes.tolist(), there.tolist(), strict=True))
        for node in share.alike.nodes:
            if node in held:
                if node not in names:
                    names[node] = share.alike.nodes[named[sort]]
                    named[sort] += 1
                units[share.row, names[node]] = held[node]
    return units


def _kin(task: Task, objective: Objective) -> list[list[int]]:
    """Jobs that differ in nothing but in when they are due, the one first that is due first."""
    alike: dict[object, list[tuple[int, int]]] = defaultdict(list)
    for place, waiting in enumerate(task.jobs):
        kin = objective.kin(place)
        if kin is not None:
            job = waiting.job
            needs = job.request, job.units, job.groups, job.requests, waiting.duration, task.problem.starts_of(job)
            alike[*needs, kin[0]].append((kin[1], place))
    return [[place for _, place in sorted(some)] for some in alike.values() if len(some) > 1]
