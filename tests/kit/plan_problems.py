"""Days to plan: random ones of a few jobs for the dense oracle, and made-up days of thousands for benchmarks."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
from hypothesis import strategies as st
from kit.machine import platforms, requests

from dardis.metrics.audit import audit
from dardis.model.arrays import Floats, Ints
from dardis.model.capacity import could_hold
from dardis.model.job import NO_TIME, Job
from dardis.model.placements import Placements
from dardis.model.platform import NodeGroup, NodePower, Platform
from dardis.power.conditions import HOUR_S, Conditions, Tariff
from dardis.power.cooling import AirPlant, Cooling, HybridPlant
from offline.planner.day_planner import schedule_of
from offline.planner.day_problem import DayProblem, Plan, PlanJobs, RunningJobs

DAY_S = 86_400
DAY_START = 30
"""When a random problem's day begins: its running jobs have begun before."""
POWER = NodePower(100.0, 6.33, 10.0, 240, 125.0, 30, 100.0)
"""A common node: idle, a busy core, off, boot, shut-down."""


def integers(values: object) -> Ints:
    return np.array(values, dtype=np.int64)


@st.composite
def conditions(draw) -> Conditions:
    """A day of 60 to 240 s in one to eight segments, prices of either sign."""
    cuts = draw(st.sets(st.integers(1, 59), max_size=7))
    length = draw(st.sampled_from((1, 2, 4)))
    edges = DAY_START + length * integers([0, *sorted(cuts), 60])
    many = len(edges) - 1
    temps = draw(st.lists(st.floats(-10, 40), min_size=many, max_size=many))
    prices = draw(st.lists(st.floats(-0.2, 0.6), min_size=many, max_size=many))
    return Conditions(edges, np.array(temps), np.array(prices), np.full(many, 400.0))


@st.composite
def plan_problems(draw, *, most: int = 10, maintenance: bool = True) -> DayProblem:
    """A small machine, up to `most` fitting jobs of up to 60 s (some run already), any weather and prices."""
    platform = draw(platforms(until=200))
    if not maintenance:
        platform = Platform("random", platform.groups)
    day = draw(conditions())
    running = draw(running_jobs(platform, day.start))
    rows = []
    for number in range(100, 100 + draw(st.integers(1, most))):
        submit = draw(st.integers(0, day.end - 20))
        earliest = submit + draw(st.sampled_from((0, 0, 7, 40)))
        latest = earliest + draw(st.integers(0, 200)) if draw(st.integers(0, 4)) == 0 else NO_TIME
        request, groups = draw(requests(platform)), draw(st.integers(1, platform.all_groups))
        job = Job(number, submit, earliest, None, 1, 1, request, groups)
        holds = could_hold(job, platform.sets, distinct=False)
        if holds == 0:
            continue
        watts, income = draw(st.sampled_from((0.0, 5.5, 11.0))), draw(st.sampled_from((0.005, 0.013, 0.1)))
        duration, units = draw(st.integers(1, 60)), draw(st.integers(1, min(6, holds)))
        rows.append((submit, number, earliest, latest, duration, units, request, groups, watts, income))
    rows.sort(key=lambda row: row[:2])
    submit, number, earliest, latest, duration, units, request, groups, watts, income = (
        zip(*rows, strict=True) if (rows) else ((),) * 10
    )
    jobs = PlanJobs(
        integers(number), integers(submit), integers(earliest), integers(latest), integers(duration), integers(units),
        integers(request).reshape(len(rows), len(platform.kinds)), integers(groups), np.array(watts, dtype=float),
        np.array(income, dtype=float),
    )  # fmt: skip
    plant = draw(st.sampled_from((AirPlant(), HybridPlant())))
    return DayProblem(platform, day, plant, Tariff(), jobs, running, day.end + 200)


@st.composite
def running_jobs(draw, platform: Platform, begin: int) -> RunningJobs:
    """Up to three jobs of one unit that fit together on nodes without maintenance."""
    closed = {node for window in platform.maintenance for node in window.nodes}
    open_nodes = [node for node in range(platform.node_count) if node not in closed]
    free = platform.capacity.copy()
    rows = []
    for number in range(1, 1 + draw(st.integers(0, 3 if open_nodes else 0))):
        node = draw(st.sampled_from(open_nodes))
        request = integers([draw(st.integers(0, int(most))) for most in free[node]])
        if request.sum() == 0:
            continue
        free[node] -= request
        rows.append((number, begin - draw(st.integers(1, begin)), begin + draw(st.integers(1, 80)), node, request))
    many = len(rows)
    start = integers([row[1] for row in rows])
    return RunningJobs(
        integers([row[0] for row in rows]), start.copy(), start, integers([row[2] for row in rows]),
        integers([row[4] for row in rows]).reshape(many, len(platform.kinds)), np.full(many, 9.0), np.full(many, 0.013),
        Placements(np.arange(many + 1), integers([row[3] for row in rows]), np.ones(many, dtype=np.int64)),
    )  # fmt: skip


def legal(problem: DayProblem, plan: Plan) -> bool:
    """Whether every job of a plan, and of those that run already, is where and when it may be."""
    jobs, group = problem.jobs, problem.platform.group_of_node
    job = plan.placed.job_of
    able = (jobs.groups[job] >> group[plan.placed.nodes]) & 1 == 1
    soon = plan.start >= np.maximum(jobs.earliest, problem.conditions.start)
    numbers = [*jobs.number.tolist(), *problem.running.number.tolist()]
    return able.all() and soon.all() and audit(schedule_of(problem, plan), problem.platform, expected=numbers) == []


def day_problem(
    jobs: int, nodes: int, load: float, seed: int, *, cores: int = 32, prices: str = "flat",
    cooling: Cooling | None = None,
) -> DayProblem:  # fmt: skip
    """A made-up day on `nodes` equal nodes: most jobs are short and small, a few hold most of the work.

    `load` is the work submitted in the day over what the machine could do in it; as many core-seconds run already when
    it begins as that load would leave. `prices` are "flat" (0.13 EUR/kWh) or "tou" (0.06 to 0.30, two peaks).
    """
    rng = np.random.default_rng(seed)
    platform = Platform("made-up", (NodeGroup("n", nodes, {"cores": cores}, POWER),))
    begin = DAY_S
    width = np.minimum(2 ** rng.integers(0, 10, jobs), nodes * cores // 4 + 1)
    width = np.where(rng.random(jobs) < 0.2, np.maximum(1, width * 3 // 4), width)
    work = np.exp(rng.normal(4.5, 2.2, jobs))
    duration = np.clip(work, 1, DAY_S // 2)
    for _ in range(30):  # the longest are cut, so that the rest must grow a little
        duration = np.clip(duration * load * nodes * cores * DAY_S / (duration * width).sum(), 1, DAY_S // 2)
    units = -(-width // cores)
    request = -(-width // units)
    hour = np.array([3, 2, 2, 2, 2, 2, 3, 4, 6, 8, 9, 9, 8, 9, 9, 9, 8, 7, 5, 4, 4, 3, 3, 3], dtype=float)
    submit = np.sort(begin + rng.choice(24, jobs, p=hour / hour.sum()) * HOUR_S + rng.integers(0, HOUR_S, jobs))
    return DayProblem(
        platform,
        _weather(begin, prices),
        AirPlant() if cooling is None else cooling,
        Tariff(),
        PlanJobs(
            np.arange(1, jobs + 1), submit, submit.copy(), np.full(jobs, NO_TIME), np.ceil(duration).astype(np.int64),
            units, request[:, None].copy(), np.ones(jobs, dtype=np.int64), np.round(rng.uniform(5.0, 8.0, jobs), 2),
            np.full(jobs, platform.income_per_core_h),
        ),
        _busy_nodes(begin, nodes, cores, min(load, 0.95), rng),
        begin + 2 * DAY_S,
    )  # fmt: skip


def _weather(begin: int, prices: str) -> Conditions:
    """Hours of a day whose afternoon is warmest."""
    hours = np.arange(24)
    temp: Floats = 24.5 - 6.5 * np.cos((hours - 3) / 12 * np.pi)
    price = np.full(24, 0.13)
    if prices == "tou":
        price = np.interp(hours, [0, 4, 8, 13, 19, 23], [0.10, 0.08, 0.24, 0.06, 0.30, 0.12])
    return Conditions(begin + HOUR_S * np.arange(25), temp, price, np.full(24, 400.0))


def _busy_nodes(begin: int, nodes: int, cores: int, share: float, rng: np.random.Generator) -> RunningJobs:
    """Jobs on whole nodes that end within eight hours, on a `share` of the nodes."""
    busy = np.arange(int(nodes * share))
    many = len(busy)
    return RunningJobs(
        np.arange(1, many + 1) + 10_000_000, np.full(many, begin - 7200), np.full(many, begin - 3600),
        begin + rng.integers(60, 8 * HOUR_S, many), np.full((many, 1), cores), np.full(many, 6.33),
        np.full(many, 0.013), Placements(np.arange(many + 1), busy, np.ones(many, dtype=np.int64)),
    )  # fmt: skip


def same(one: Plan, other: Plan) -> bool:
    """Whether two plans are alike in everything."""
    return all(
        np.array_equal(getattr(a, name), getattr(b, name))
        for a, b in ((one, other), (one.placed, other.placed))
        for name in {field.name for field in fields(a)} - {"placed"}
    )
