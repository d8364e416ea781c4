"""A row of profile.csv says one thing: nodes on, target, planned power and cap go together, limits included."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from kit.effort import examples
from kit.plan_problems import day_problem

from dardis.model.profile import StepFunction
from dardis.model.resources import CORES
from dardis.model.target import Switching
from dardis.power.nodes import full_watts
from dardis.power.tariff import PowerLimit, Tariff
from offline.day.by_hour import profile_rows
from offline.day.day import planned_downtime
from offline.planner.budget import Watch
from offline.planner.day_account import account_of
from offline.planner.limits import allowed_it_w, closed_to_limits, must_be_kept
from offline.planner.searches import multi_search
from offline.planner.use import cores_used

HOUR = 3600


def limited(data, problem):
    """The same day with up to two limits that whatever runs and idles leaves room for."""
    day, machine_kw = problem.conditions, full_watts(problem.platform) / 1000
    limits = []
    for _ in range(data.draw(st.integers(0, 2))):
        since = data.draw(st.integers(0, 20))
        until = data.draw(st.integers(since + 1, 24))
        most_kw = machine_kw * data.draw(st.floats(0.7, 1.6))
        limits.append(PowerLimit(day.start + since * HOUR, day.start + until * HOUR, most_kw))
    return replace(problem, tariff=Tariff(limits=tuple(limits)))


@examples(0.4)
@given(st.data(), st.integers(0, 40), st.sampled_from((0.1, 0.5, 0.9)), st.integers(3, 12))
def test_the_figures_of_a_row_go_together(data, seed, load, nodes):
    problem = limited(data, day_problem(25, nodes, load, seed, cores=8))
    platform, edges = problem.platform, problem.conditions.edges
    plan, _ = multi_search(closed_to_limits(problem), Watch())
    spares = StepFunction.from_steps(data.draw(st.integers(0, nodes)), [])
    down = planned_downtime(problem, plan, account_of(problem, plan.start), Switching({0: spares}))
    told = account_of(problem, plan.start, down)
    aims = StepFunction.from_steps(
        platform.cores,
        [(time, data.draw(st.integers(0, platform.cores))) for time in range(int(edges[0]), int(edges[-1]), 6 * HOUR)],
    )
    rows = profile_rows(problem, plan.start, down, told, aims)
    assert (rows.cores_target <= rows.nodes_on * 8 + 1e-9).all()
    assert (rows.cores_target <= aims.at(edges[:-1])).all()
    assert (rows.it_w <= rows.power_cap_w).all()
    assert (rows.power_cap_w <= np.maximum(full_watts(platform), rows.it_w) + 1e-6).all()
    used = cores_used(problem, plan.start)
    mean_used = [used.integral(a, b) / (b - a) for a, b in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)]
    assert (np.array(mean_used) <= rows.nodes_on * 8 + 1e-9).all()
    allowed = allowed_it_w(problem)
    if told.feasible:
        assert (rows.power_cap_w <= np.maximum(allowed, rows.it_w) + 1e-6).all()
        assert (rows.it_w <= allowed * (1 + 1e-9)).all()
    unlimited = np.isinf(allowed)
    most = np.minimum(aims.at(edges[:-1]), np.floor(rows.nodes_on * 8 + 1e-9))
    assert (rows.cores_target[unlimited] == most[unlimited]).all(), "nothing else lowers it"


@examples(0.4)
@given(st.data(), st.integers(0, 60), st.sampled_from((0.3, 0.6, 0.9)), st.integers(4, 12))
def test_full_nodes_beside_the_closed_ones_keep_every_limit(data, seed, load, nodes):
    problem = limited(data, day_problem(40, nodes, load, seed, cores=8))
    closed = closed_to_limits(problem)
    plan, _ = multi_search(closed, Watch())
    kind = problem.platform.kinds.index(CORES)
    for window in closed.platform.maintenance:
        assert (window.start, window.end) in must_be_kept(problem)
        assert problem.platform.capacity[list(window.nodes), kind].sum() > 0
    if not len(problem.running.number):
        idle_fits = account_of(replace(problem, jobs=_none(problem)), np.zeros(0, dtype=np.int64)).feasible
        assert account_of(problem, plan.start).feasible == idle_fits


def _none(problem):
    """No job at all."""
    jobs = problem.jobs
    return type(jobs)(*(getattr(jobs, name)[:0] for name in jobs.__dataclass_fields__))
