"""Polish never makes a plan worse or overfull, gives the same answer twice, and finds what is plainly better."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from kit.plan_problems import day_problem

from offline.planner.budget import Effort, Watch
from offline.planner.cp.bound import bound
from offline.planner.cp.capacity import rows
from offline.planner.cp.polish import polish, value
from offline.planner.day_account import account_of
from offline.planner.problem import Problem, StoppedBy


def one_by_one(problem: Problem) -> np.ndarray:
    """Starts that keep all rows: each job as early as those before it allow, on a grid of a minute."""
    begin, step = problem.conditions.start, 60
    cells = np.arange(begin, problem.horizon + 86_400, step)
    found = rows(problem)
    free = [np.minimum(row.free.at(cells), row.free.at(cells + step - 1)) for row in found]
    start = np.zeros(len(problem.jobs.number), dtype=np.int64)
    for job, duration in enumerate(problem.jobs.duration.tolist()):
        first = -(-(int(problem.jobs.earliest[job]) - begin) // step)
        length = -(-duration // step)
        while not all((f[first : first + length] >= row.demand[job]).all() for row, f in zip(found, free, strict=True)):
            first += 1
        for row, f in zip(found, free, strict=True):
            f[first : first + length] -= row.demand[job]
        start[job] = cells[first]
    return start


def overfull(problem: Problem, start) -> bool:
    """Whether some row is broken at some start, where use can only have grown."""
    finish = start + problem.jobs.duration
    for row in rows(problem):
        times = np.unique(np.concatenate([start, row.free.times[1:]]))
        running = (start[None, :] <= times[:, None]) & (times[:, None] < finish[None, :])
        closed = row.free.at(times)
        if ((running @ row.demand > closed) & (running @ row.demand > 0)).any():
            return True
    return False


@pytest.mark.parametrize(("load", "prices"), [(0.6, "tou"), (0.9, "tou"), (0.9, "flat")])
def test_a_plan_gets_better_and_stays_legal(load, prices):
    problem = day_problem(120, 12, load, 5, prices=prices)
    before = one_by_one(problem)
    told = []
    watch = Watch(progress=lambda _doing, best, _bound: told.append(best))
    after = polish(problem, before, Effort(4), watch)
    assert not overfull(problem, before)
    assert not overfull(problem, after)
    assert (after >= problem.jobs.earliest).all()
    assert value(problem, before) <= value(problem, after) <= bound(problem, steps=0, deterministic_s=0.1)
    assert told == sorted(told)
    assert len(told) == 4
    assert told[-1] == value(problem, after)
    if prices == "tou":
        assert value(problem, after) > value(problem, before)


def test_the_same_polish_twice_is_the_same_and_another_seed_another():
    problem = day_problem(150, 12, 0.6, 6, prices="tou")
    before = one_by_one(problem)
    twice = [polish(problem, before, Effort(2, seed=3), Watch()) for _ in range(2)]
    assert twice[0].tolist() == twice[1].tolist()
    assert polish(problem, before, Effort(2, seed=4), Watch()).tolist() != twice[0].tolist()


def test_what_real_nodes_make_of_it_is_judged():
    # A judge that likes nothing better than the plan as it is has the last word.
    problem = day_problem(60, 6, 0.6, 7, prices="tou")
    before = one_by_one(problem)
    asked = []

    def judge(wished):
        asked.append(wished.copy())
        return before, account_of(problem, before).profit

    assert polish(problem, before, Effort(2), Watch(), judge).tolist() == before.tolist()
    assert len(asked) > 1


def test_it_stops_when_told():
    problem = day_problem(60, 6, 0.6, 7, prices="tou")
    before = one_by_one(problem)
    watch = Watch(stop=lambda: True)
    assert polish(problem, before, Effort(5), watch).tolist() == before.tolist()
    assert watch.stopped_by is StoppedBy.USER


def test_a_latest_start_is_kept_whatever_a_later_one_would_bring():
    problem = day_problem(120, 12, 0.6, 5, prices="tou")
    before = one_by_one(problem)
    problem = replace(problem, jobs=replace(problem.jobs, latest=before + 1200))
    after = polish(problem, before, Effort(4), Watch())
    assert (after != before).any()
    assert (after <= problem.jobs.latest).all()
