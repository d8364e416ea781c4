"""The model in which units are intervals on nodes (T equations 3.4 to 3.8; 002, section 2.2), built and read.

The papers give each job i and node n as many optional intervals as units of i fit on n at once, p(i, n), and have
exactly as many of them there as i has units. So it is here, but for four things that leave the optimum as it is and
make it easier to find and to prove (beside sums over nodes, which PCP'19 has too):

- The intervals of a job share its start, one variable, so that nothing need say that they begin together.
- Where p(i, n) is above 1, one number of units stands for as many intervals that nobody could tell apart.
- Nodes of a group on which the same is taken at all times are interchangeable. So they are used in turn: the first k
  jobs, those of fewest units first, use no more of them than they have units, and the model has no others for them.
- Of equal jobs, who is sooner due starts first, where that is never worse.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from dardis.dispatch.cp import constraints, variables
from dardis.dispatch.cp.bound import least_of_groups
from dardis.dispatch.cp.first import Machine, Plan
from dardis.model.profile import sum_of_columns
from dardis.solver.cpsat import new_model

if TYPE_CHECKING:
    from dardis.dispatch.cp.objectives import Objective, Posted
    from dardis.dispatch.cp.problem import Problem, Running, Waiting
    from dardis.dispatch.cp.variables import Open, Place, Runs
    from dardis.model.arrays import Ints
    from dardis.model.job import Job
    from dardis.solver.cpsat import Answer as Solved
    from dardis.solver.cpsat import CpModel, IntVar

Spans = list[tuple[int, int, int]]
"""Start, end and amount of what is taken, in s from now."""


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
    def fits(self) -> list[list[int]]:
        """How many units of each job a node of each group holds when empty, lists (jobs, groups)."""
        return [units_by_group(self.problem, waiting.job) for waiting in self.jobs]

    def shares(self, most: int) -> list[Share] | None:
        """Where jobs may have units, by sort of nodes and job; None: that is more than `most` nodes of jobs."""
        by_units = sorted(range(len(self.jobs)), key=lambda place: self.jobs[place].job.units)
        found, size = [], 0
        for alike in alike_nodes(self.problem, self.free, self.end):
            used = 0
            for job in by_units:
                units = self.fits[job][alike.group]
                if units:
                    used = min(len(alike.nodes), used + self.jobs[job].job.units)
                    found.append(Share(job, alike, used, units))
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
        """The node groups that hold units of a job, as bits."""
        return self.problem.groups_of(self.jobs[job].job)

    def free_of(self, groups: int) -> tuple[Ints, Ints]:
        """What the nodes of some groups have free together: times, and from each on an amount of each kind."""
        nodes = np.flatnonzero((groups >> self.problem.platform.group_of_node) & 1)
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


def units_by_group(problem: Problem, job: Job) -> list[int]:
    """How many units of a job a node of each group holds when empty (T equation 3.6); 0 where the group has none."""
    first, found = 0, []
    for group in problem.platform.groups:
        found.append(problem.units_on(job, first) if group.count else 0)
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
    """Up to `most` units of a job on each of the first `used` of some nodes."""

    job: int
    alike: Alike
    used: int
    most: int


def alike_nodes(problem: Problem, free: list[tuple[Ints, Ints]], end: int) -> list[Alike]:
    """The nodes by what there is of them until `end`."""
    found: dict[tuple[int, bytes, bytes], Alike] = {}
    group_of, capacity = problem.platform.group_of_node.tolist(), problem.platform.capacity
    for node, (time, value) in enumerate(free):
        key = (group_of[node], time.tobytes(), value.tobytes())
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
    runs: Runs
    places: list[Place]
    posted: Posted

    def read(self, solved: Solved) -> Plan:
        """The starts and nodes that were found."""
        starts = solved.values(self.runs.start)
        found = solved.values(place.units for place in self.places).tolist()
        on: list[dict[int, int]] = [{} for _ in self.runs.start]
        for place, units in zip(self.places, found, strict=True):
            if units:
                on[place.job][place.node] = units
        where = [np.array(sorted(nodes.items()), dtype=np.int64).reshape(-1, 2).T for nodes in on]
        # The places are those of the jobs by priority.
        return Plan(
            starts, [(nodes, units) for nodes, units in where], tuple(np.argsort(starts, kind="stable").tolist())
        )


Limits = Sequence[tuple["Objective", float]]
"""Objectives, and what they are to be at most."""


def build(
    task: Task, shares: list[Share], objective: Objective, limits: Limits, first: Ints, hint: Plan | None
) -> Built:
    """The model of a task; no job starts before its `first`, and `hint` is a whole answer."""
    model = new_model()
    at = None if hint is None else hint.starts
    runs = variables.runs(model, task.durations, first, task.latest, at, task.hours(first))
    places = _allocation(model, task, shares, runs, hint)
    for groups in sorted({task.groups_of(job) for job in range(len(task.jobs))}):
        _pool_holds(model, task, groups, runs)
    posted = objective.post(model, runs.start, task.latest, at)
    for other, most in limits:
        bounded = other.post(model, runs.start, task.latest, at)
        # What the hint makes of it is allowed, and is not to be lost in rounding.
        model.add(bounded.expression <= max(int(most * bounded.scale), bounded.at_hint or 0))
    if not limits:
        for kin in _kin(task, objective):
            constraints.one_after_the_other(model, [runs.start[job] for job in kin])
    model.minimize(posted.expression)
    return Built(model, runs, places, posted)


def _allocation(model: CpModel, task: Task, shares: list[Share], runs: Runs, hint: Plan | None) -> list[Place]:
    """All units of each job are on nodes, and no node has more of a kind than there is."""
    hinted = None if hint is None else _renamed(shares, hint)
    of_job: list[list[IntVar]] = [[] for _ in task.jobs]
    on_node: dict[int, list[Place]] = defaultdict(list)
    alike_of: dict[int, Alike] = {}
    places: list[Place] = []
    for share in shares:
        for node in share.alike.nodes[: share.used]:
            units = None if hinted is None else hinted.get((share.job, node), 0)
            place = variables.place(model, runs, share.job, node, share.most, units)
            of_job[share.job].append(place.units)
            on_node[node].append(place)
            alike_of[node] = share.alike
            places.append(place)
    for found, waiting in zip(of_job, task.jobs, strict=True):
        constraints.alternative(model, found, waiting.job.units)
    for node, there in on_node.items():
        _node_holds(model, task, alike_of[node], there)
    return places


def _node_holds(model: CpModel, task: Task, alike: Alike, there: list[Place]) -> None:
    """Of no kind is there ever more on a node than it has."""
    for kind, (capacity, taken) in enumerate(zip(alike.capacity, alike.taken, strict=True)):
        asks = [(place, task.jobs[place.job].job.request[kind]) for place in there]
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
    nodes = np.flatnonzero((groups >> task.problem.platform.group_of_node) & 1)
    times, free = task.free_of(groups)
    inside = [job for job in range(len(task.jobs)) if task.groups_of(job) & ~groups == 0]
    capacity = task.problem.platform.capacity[nodes].sum(axis=0)
    for kind, taken in enumerate(_spans(times, capacity - free, task.end)):
        asks = {job: task.jobs[job].job.units * task.jobs[job].job.request[kind] for job in inside}
        asks = {job: amount for job, amount in asks.items() if amount}
        if sum(asks.values()) > int(free[:, kind].min()):
            intervals = [runs.interval[job] for job in asks]
            constraints.cumulative(model, intervals, list(asks.values()), taken, int(capacity[kind]))


def _renamed(shares: list[Share], plan: Plan) -> dict[tuple[int, int], int]:
    """Units of a plan by job and node, with interchangeable nodes renamed so that they are used in turn."""
    units: dict[tuple[int, int], int] = {}
    names: dict[int, int] = {}
    named: dict[int, int] = defaultdict(int)
    """Nodes of each sort that have a name."""
    for share in shares:
        sort = share.alike.nodes[0]
        held = dict(zip(plan.where[share.job][0].tolist(), plan.where[share.job][1].tolist(), strict=True))
        for node in share.alike.nodes:
            if node in held:
                if node not in names:
                    names[node] = share.alike.nodes[named[sort]]
                    named[sort] += 1
                units[share.job, names[node]] = held[node]
    return units


def _kin(task: Task, objective: Objective) -> list[list[int]]:
    """Jobs that differ in nothing but in when they are due, the one first that is due first."""
    alike: dict[object, list[tuple[int, int]]] = defaultdict(list)
    for place, waiting in enumerate(task.jobs):
        kin = objective.kin(place)
        if kin is not None:
            job = waiting.job
            needs = job.request, job.units, job.groups, waiting.duration, task.problem.starts_of(job)
            alike[*needs, kin[0]].append((kin[1], place))
    return [[place for _, place in sorted(some)] for some in alike.values() if len(some) > 1]
