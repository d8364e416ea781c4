"""The thesis's model on days whose best plan can be argued, and its delay search."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from kit.effort import examples
from kit.plan_problems import legal, plan_problems, same

from dardis.model.job import NO_TIME
from dardis.model.placements import Placements, offsets_of
from dardis.model.platform import NodeGroup, NodePower, Platform
from dardis.power.conditions import Conditions, Tariff
from dardis.power.cooling import PueTable
from offline.planner.budget import SearchBudget, Watch
from offline.planner.cp import model
from offline.planner.day_problem import DayProblem, Plan, PlanJobs, RunningJobs, StoppedBy
from offline.planner.money import account_of, rank_of
from offline.planner.searches import multi_search
from scripts.lab.thesis_6.searches import delay_search
from scripts.lab.thesis_6.solver_searches import default_search, relaxation_search, segments_of

HOUR = 60
"""Hours of a minute, so that the solver proves at once what it finds."""
SHARE = HOUR / 3600


def day(prices, jobs, *, nodes=1, cores=2, horizon=None, temps=None) -> DayProblem:
    """Hours of given prices; jobs are (earliest, duration, units, cores a unit). Cooling is a fifth of IT."""
    hours = len(prices)
    earliest, duration, units, request = (np.array(column, dtype=np.int64) for column in zip(*jobs, strict=True))
    count = len(jobs)
    nothing, none = np.zeros(0, dtype=np.int64), np.zeros(0)
    table = PueTable(np.array([0.0, 40.0]), np.array([20_000.0]), np.full((2, 1), 1.2))
    return DayProblem(
        Platform("tiny", (NodeGroup("n", nodes, {"cores": cores}, NodePower(0.0, 500.0)),)),
        Conditions(HOUR * np.arange(hours + 1), np.array(temps or [20.0] * hours), np.array(prices), np.zeros(hours)),
        table, Tariff(),
        PlanJobs(np.arange(count), earliest, earliest, np.full(count, NO_TIME), duration, units, request[:, None],
                 np.ones(count, dtype=np.int64), np.full(count, 500.0), np.full(count, 1.0)),
        RunningJobs(*[nothing] * 4, np.zeros((0, 1), dtype=np.int64), none, none, Placements.none(0)),
        horizon or HOUR * hours,
    )  # fmt: skip


def test_jobs_run_when_power_is_cheap():
    # Two cores, three jobs of an hour and a core each: two of them fit the cheap hour, the third the next cheapest.
    problem = day([0.4, 0.1, 0.3], [(0, HOUR, 1, 1)] * 3, horizon=2 * HOUR)
    found = default_search(problem, Watch(), deterministic_s=1.0)
    assert sorted(found.start.tolist()) == [HOUR, HOUR, 2 * HOUR]
    assert found.stopped_by is StoppedBy.OPTIMAL
    # Three core-hours at 1, less 0.5 kWh a core and a fifth of that for cooling, at 0.1, 0.1 and 0.3.
    assert found.profit == pytest.approx(SHARE * (3 - 0.5 * 1.2 * (0.1 + 0.1 + 0.3)))
    assert found.units.sum(axis=1).tolist() == [1, 1, 1]


def test_units_are_placed_on_nodes_not_in_sums():
    # Two nodes of two cores, a job of one core on each and a job of two cores on one node: in sums they fit together.
    problem = day([0.4, 0.1, 0.3], [(0, HOUR, 2, 1), (0, HOUR, 1, 2)], nodes=2, horizon=2 * HOUR)
    found = default_search(problem, Watch(), deterministic_s=1.0)
    # All four cores may be busy in the cheap hour if both units of the first job share a node.
    assert found.start.tolist() == [HOUR, HOUR]
    first, second = found.units.tolist()
    assert (sorted(first), second) == ([0, 2], [int(units == 0) for units in first])


def plan(problem: DayProblem, start, nodes) -> Plan:
    """Each job's units on the given nodes, one on each."""
    flat = np.array([node for of in nodes for node in of])
    placed = Placements(offsets_of([len(of) for of in nodes]), flat, np.ones(len(flat), dtype=np.int64))
    begun = np.array(start)
    return Plan(begun, placed, account_of(problem, begun).profit, "")


@pytest.mark.parametrize("most_units", [0, 2_000], ids=["in sums", "on nodes"])
def test_relaxation_keeps_the_nodes_of_large_jobs(most_units, monkeypatch):
    # Both jobs have a unit on node 0 of one core, so they never run together: one has the cheap hour, one the next.
    monkeypatch.setattr(model, "MOST_UNIT_INTERVALS", most_units)
    problem = day([0.4, 0.1, 0.3], [(0, HOUR, 2, 1)] * 2, nodes=3, cores=1, horizon=2 * HOUR)
    before = plan(problem, [0, HOUR], [[0, 1], [0, 2]])
    found = relaxation_search(problem, before, Watch(), deterministic_s=1.0)
    assert sorted(found.start.tolist()) == [HOUR, 2 * HOUR]
    assert found.profit > before.profit
    assert found.units is None or found.units.tolist() == [[1, 1, 0], [1, 0, 1]]


def test_equal_hours_are_one_segment():
    problem = day([0.1] * 5 + [0.2], [(0, HOUR, 1, 1)], temps=[10, 12, 15, 16, 20, 20])
    segments = segments_of(problem)
    # 10, 12 and 15 lie within 5 degrees; so do 16 and 20; then the price is another.
    assert (segments.edges // HOUR).tolist() == [0, 3, 5, 6]
    assert segments.temp_c.tolist() == pytest.approx([37 / 3, 18, 20])


@given(plan_problems())
@examples(0.4)
def test_delay_search_is_no_worse_than_multi_search_and_the_same_twice(problem):
    multi, _ = multi_search(problem, Watch())
    delayed = delay_search(problem, SearchBudget(5), Watch())
    assert legal(problem, delayed)
    assert rank_of(problem, multi.start)[0] <= rank_of(problem, delayed.start)[0]
    assert (delayed.stopped_by, delayed.profit) == (StoppedBy.DONE, account_of(problem, delayed.start).profit)
    assert same(delayed, delay_search(problem, SearchBudget(5), Watch()))
