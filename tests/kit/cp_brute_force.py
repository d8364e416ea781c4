"""Decisions of a few jobs on a few nodes, by trying everything: slow, and short enough to be believed.

For objectives that no later start makes better, the best answers are among those in which jobs, in some order and each
with its nodes, start as early as they can beside those before them: take a best answer, and let its jobs by start.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import permutations, product

import numpy as np
from hypothesis import strategies as st

from dardis.dispatch.cp.decision_problem import BlockedCapacity, Decision, DecisionProblem, RunningJobPart, WaitingJob
from dardis.dispatch.job_shapes import ShapeChecker
from dardis.model.job import Job, Part, Request
from dardis.model.platform import NodeGroup, Platform
from dardis.model.queues import Queue

Where = tuple[tuple[int, int], ...]
"""Nodes, ascending, and units."""
Cost = Callable[[WaitingJob, int, int], float]
"""What a job costs that starts at a time; the last argument is now."""


def empty_floor(problem: DecisionProblem, seconds: int) -> np.ndarray:
    """What is free, shape (nodes, kinds, seconds from now), with what runs and is blocked; never less than 0."""
    now = problem.now
    free = np.repeat(problem.platform.capacity[:, :, None], seconds, axis=2)
    for job in problem.running:
        for node, units in zip(job.nodes.tolist(), job.units.tolist(), strict=True):
            free[node, :, : max(0, job.end - now)] -= (units * np.array(job.job.request))[:, None]
    for block in problem.blocked:
        first, last = max(0, block.start - now), max(0, block.end - now)
        free[block.node, :, first:last] -= np.array(block.amounts)[:, None]
    return np.maximum(free, 0)


def seconds_of(problem: DecisionProblem) -> int:
    return problem.horizon - problem.now + max((waiting.duration for waiting in problem.waiting), default=0) + 1


def put(free: np.ndarray, job: Job | Part, where: Where, start: int, duration: int, sign: int = -1) -> None:
    for node, units in where:
        free[node, :, start : start + duration] += (sign * units * np.array(job.request))[:, None]


def fits(free: np.ndarray, job: Job | Part, where: Where, start: int, duration: int) -> bool:
    return all(
        (free[node, :, start : start + duration] >= (units * np.array(job.request))[:, None]).all()
        for node, units in where
    )


def allotments(problem: DecisionProblem, job: Job | Part) -> Iterator[Where]:
    """Every way to spread a job's units over nodes that may hold them."""
    nodes = range(problem.platform.node_count)
    ranges = []
    for node in nodes:
        allowed = job.groups >> int(problem.platform.group_of_node[node]) & 1
        ranges.append(range((1 if problem.distinct else job.units) + 1) if allowed else range(1))
    for units in product(*ranges):
        if sum(units) == job.units:
            where = tuple((node, count) for node, count in zip(nodes, units, strict=True) if count)
            if all(
                count * need <= have
                for node, count in where
                for need, have in zip(job.request, problem.platform.capacity[node].tolist(), strict=True)
            ):
                yield where


Way = tuple[int, tuple[tuple[Job | Part, Where], ...]]
"""For how long, and where each part of a job is, or all of it."""


def placements_of(problem: DecisionProblem, waiting: WaitingJob) -> Iterator[Way]:
    """Every way to run a job: as each of its requests, with its parts wherever each may be."""
    for _, request in waiting.requests:
        places = [
            [where for where in allotments(problem, part) if is_as_asked(part, where, contiguous=request.contiguous)]
            for part in request.parts
        ]
        for chosen in product(*places):
            way: Way = (1, tuple(zip(request.parts, chosen, strict=True)))
            if fits_so(problem.platform.capacity[:, :, None].copy(), way, 0):
                yield request.walltime, way[1]


def is_as_asked(part: Part, where: Where, *, contiguous: bool) -> bool:
    """Whether a part is on as many nodes as it asks for, and side by side if it does."""
    nodes = [node for node, _ in where]
    return part.nodes in (0, len(nodes)) and (not contiguous or nodes == [*range(nodes[0], nodes[0] + len(nodes))])


def put_so(free: np.ndarray, way: Way, start: int, sign: int = -1) -> None:
    duration, parts = way
    for part, where in parts:
        put(free, part, where, start, duration, sign)


def fits_so(free: np.ndarray, way: Way, start: int) -> bool:
    put_so(free, way, start)
    holds = bool((free[:, :, start : start + way[0]] >= 0).all())
    put_so(free, way, start, sign=1)
    return holds


def is_open(problem: DecisionProblem, job: Job, start: int) -> bool:
    """Whether the job's queue lets it start then, s from now: by its stopped spans, second by second."""
    queue = problem.platform.queue_of.get(job.queue) if problem.keeps_hours else None
    return queue is None or not any(a <= problem.now + start < b for a, b in queue.stopped)


def fits_somewhere(problem: DecisionProblem, free: np.ndarray, waiting: WaitingJob, start: int) -> bool:
    """Whether a job could start then, s from now, on any nodes."""
    return is_open(problem, waiting.job, start) and any(
        fits(free, waiting.job, where, start, waiting.duration) for where in allotments(problem, waiting.job)
    )


def see_that_starts_fit(problem: DecisionProblem, answer: Decision) -> None:
    free = empty_floor(problem, seconds_of(problem))
    assert answer.where is not None
    assert sorted(answer.where) == sorted(job for job, start in answer.starts.items() if start == problem.now)
    for job, (taken, parts) in answer.where.items():
        request = dict(problem.waiting[job].requests)[taken]
        for part, (nodes, units) in zip(request.parts, parts, strict=True):
            where = tuple(zip(nodes.tolist(), units.tolist(), strict=True))
            assert sum(units.tolist()) == part.units
            assert is_as_asked(part, where, contiguous=request.contiguous)
            put(free, part, where, 0, request.walltime)
    assert (free >= 0).all()


@dataclass
class Search:
    """The least cost of all jobs together; `total` joins what two sets of jobs cost."""

    problem: DecisionProblem
    cost: Cost
    total: Callable[[float, float], float]
    best: float = float("inf")

    def run(self, already: float = 0.0) -> float:
        free = empty_floor(self.problem, seconds_of(self.problem))
        ways = [list(placements_of(self.problem, waiting)) for waiting in self.problem.waiting]
        for order in permutations(range(len(self.problem.waiting))):
            self._go_on(free, order, ways, already)
        return self.best

    def _go_on(self, free: np.ndarray, order: tuple[int, ...], ways: list[list[Way]], cost: float) -> None:
        now = self.problem.now
        least = cost
        for place in order:
            least = self.total(least, self.cost(self.problem.waiting[place], now, now))
        if least >= self.best:
            return
        if not order:
            self.best = cost
            return
        waiting = self.problem.waiting[order[0]]
        for way in ways[order[0]]:
            seconds = (s for s in range(free.shape[2]) if is_open(self.problem, waiting.job, s))
            start = next((s for s in seconds if fits_so(free, way, s)), None)
            if start is None:  # some of it is blocked for ever
                continue
            put_so(free, way, start)
            self._go_on(free, order[1:], ways, self.total(cost, self.cost(waiting, now + start, now)))
            put_so(free, way, start, sign=1)


def plus(a: float, b: float) -> float:
    return a + b


def expected_wait(job: Job) -> int:
    assert job.latest is not None
    return max(1, job.latest - job.earliest)


def end_cost(waiting: WaitingJob, start: int, now: int) -> float:
    return float(start + waiting.duration - now)


def tardiness_cost(waiting: WaitingJob, start: int, now: int) -> float:
    ewt = expected_wait(waiting.job)
    return max(0.0, (start - waiting.job.submit - ewt) / ewt)


def late_cost(waiting: WaitingJob, start: int, now: int) -> float:
    return float(start - waiting.job.submit > expected_wait(waiting.job))


def slowdown_cost(waiting: WaitingJob, start: int, now: int) -> float:
    return (start - waiting.job.submit + waiting.duration) / waiting.duration


def least_makespan(problem: DecisionProblem) -> float:
    busy = max((job.end - problem.now for job in problem.running), default=0)
    return Search(problem, end_cost, max).run(float(busy))


def least(problem: DecisionProblem, cost: Cost) -> float:
    return Search(problem, cost, plus).run()


def queue_cost(platform: Platform) -> Cost:
    """What objective 4.2 of the thesis makes of a start."""
    return lambda waiting, start, _: (
        (start - waiting.job.submit) / (platform.queue_of[waiting.job.queue].expected_wait_s or 1)
    )


@st.composite
def with_queues(draw, drawn: DecisionProblem) -> DecisionProblem:
    """The problem, with jobs of queues that are stopped at times."""
    queues = []
    for name in ("a", "b"):
        spans = []
        for _ in range(draw(st.integers(0, 2))):
            start = drawn.now + draw(st.integers(-3, 9))
            spans.append((start, start + draw(st.integers(1, 5))))
        queues.append(Queue(name, expected_wait_s=draw(st.integers(1, 7)), stopped=tuple(spans)))
    waiting = tuple(
        replace(one, job=replace(one.job, queue=draw(st.sampled_from(["a", "b"])))) for one in drawn.waiting
    )
    platform = replace(drawn.platform, queues=tuple(queues))
    return replace(drawn, platform=platform, waiting=waiting, keeps_hours=True)


@st.composite
def with_shapes(draw, drawn: DecisionProblem) -> DecisionProblem:
    """The problem, with most jobs of parts, on exactly so many nodes, side by side, or with alternatives."""
    shapes, waiting = ShapeChecker(drawn.platform, distinct=drawn.distinct), []
    kinds = len(drawn.platform.kinds)

    def part(groups: int) -> Part:
        units = draw(st.integers(1, 3))
        request = (draw(st.integers(1, 2)), *(draw(st.integers(0, 1)) for _ in range(kinds - 1)))
        return Part(units, request, groups, draw(st.sampled_from((0, 0, 1, units))))

    for one in drawn.waiting:
        requests = tuple(
            Request(
                tuple(part(one.job.groups) for _ in range(draw(st.sampled_from((1, 1, 2))))),
                draw(st.integers(1, 6)),
                contiguous=draw(st.booleans()),
            )
            for _ in range(draw(st.sampled_from((0, 1, 1, 2))))
        )
        if not requests:
            waiting.append(one)
            continue
        first = requests[0]
        asked = {"units": first.units, "walltime": first.walltime, "request": first.parts[0].request}
        job = replace(one.job, requests=requests, **asked)
        if orders := shapes.feasible_orders(job):
            waiting.append(WaitingJob(job, max(requests[place].walltime for place in orders), orders))
    return replace(drawn, waiting=tuple(waiting))


@st.composite
def problems(draw, *, most_jobs: int = 4, most_nodes: int = 3) -> DecisionProblem:
    """Few jobs of a few seconds, on up to `most_nodes` nodes of one or two kinds, beside what runs and is blocked."""
    kinds = ("cores", "gpu")[: draw(st.integers(1, 2))]
    counts = draw(st.sampled_from([(n,) for n in range(1, most_nodes + 1)] + [(1, 1), (2, 1)]))
    groups = tuple(
        NodeGroup(
            name, count, {"cores": draw(st.integers(1, 4)), **({"gpu": draw(st.integers(0, 2))} if kinds[1:] else {})}
        )
        for name, count in zip("ab", counts, strict=False)
    )
    platform = Platform("small", groups)
    now = 50
    empty = DecisionProblem(platform, now, (), (), (), draw(st.booleans()))
    running = []
    free = platform.capacity.copy()
    for number in range(draw(st.integers(0, 2))):
        node = draw(st.integers(0, platform.node_count - 1))
        request = (1, *(0 for _ in kinds[1:]))
        if free[node, 0] >= 1:
            free[node, 0] -= 1
            end = now + draw(st.integers(1, 6))
            job = Job(100 + number, 0, 0, None, 99, 1, request, 3)
            running.append(RunningJobPart(job, end, end, np.array([node]), np.array([1])))
    waiting: list[WaitingJob] = []
    for number in range(draw(st.integers(0, most_jobs).map(lambda count: most_jobs - count))):
        request = (draw(st.integers(1, 3)), *(draw(st.integers(0, 1)) for _ in kinds[1:]))
        if draw(st.integers(0, 9)) == 0 and max(request[1:], default=0):
            request = (0, *request[1:])
        submit = draw(st.integers(30, now))
        latest = submit + draw(st.integers(0, 30))
        duration = draw(st.integers(1, 6))
        groups_of = draw(st.integers(1, (1 << len(groups)) - 1))
        job = Job(number, submit, submit, latest, duration, draw(st.integers(1, 3)), request, groups_of)
        if not any(True for _ in allotments(empty, job)):
            job = replace(job, units=1, request=(1, *(0 for _ in kinds[1:])))
        waiting.append(WaitingJob(job, duration))
    blocked = []
    for _ in range(draw(st.integers(0, 2))):
        start = now + draw(st.integers(-2, 8))
        node = draw(st.integers(0, platform.node_count - 1))
        amounts = tuple(draw(st.integers(0, have)) for have in platform.capacity[node].tolist())
        blocked.append(BlockedCapacity(node, start, start + draw(st.integers(1, 6)), amounts))
    return replace(empty, running=tuple(running), waiting=tuple(waiting), blocked=tuple(blocked))
