"""How δ and the part of the queue that is looked at go by the last cycle (thesis 4.4), and how searches keep to it."""

from __future__ import annotations

import pytest

from dardis.dispatch.cp.eurora_scheduler import Pacing, SearchPace, search
from dardis.solver.cpsat import new_model
from dardis.solver.result import SolverStatus

PACING = Pacing(k1=2.0, k2=3.0, m=3)


@pytest.mark.parametrize(
    ("pace", "first_s", "expected"),
    [
        (SearchPace(2.0), 0.5, SearchPace(2.5)),  # the time to the first solution + K₁
        (SearchPace(100.0, 3), 0.0, SearchPace(2.0)),  # after a success all of the queue is looked at
        (SearchPace(2.0), 299.0, SearchPace(300.0)),
        (SearchPace(2.0), None, SearchPace(18.0, 1)),  # what the third run had
        (SearchPace(2.0, 1), None, SearchPace(18.0, 2)),
        (SearchPace(200.0, 1), None, SearchPace(300.0, 2)),
    ],
)
def test_next_cycle_depends_on_the_last_one(pace, first_s, expected):
    assert PACING.after(pace, first_s) == expected


def test_time_limit_grows_after_failed_searches_up_to_300_s():
    assert PACING.limits(PACING.begin()) == [2, 6, 18]
    assert PACING.limits(SearchPace(50.0)) == [50, 150, 300]
    assert Pacing(m=1).limits(SearchPace(7.0)) == [7]


def hard_model(jobs=40):
    """Jobs of different lengths on three machines, the least sum of weighted starts: nothing is proven soon."""
    model = new_model()
    starts, intervals = [], []
    for job in range(jobs):
        start = model.new_int_var(0, 10_000, "")
        starts.append(start * (1 + job * 7 % 11))
        intervals.append(model.new_fixed_size_interval_var(start, 10 + job * 37 % 50, ""))
    model.add_cumulative(intervals, [1 + job % 2 for job in range(jobs)], 3)
    model.minimize(sum(starts))
    return model


def test_search_stops_at_its_limit_and_reports_the_first_solution_time():
    searched = search(hard_model(), Pacing(k1=0.5), SearchPace(0.5), seed=1)
    assert searched.answer.result.status is SolverStatus.FEASIBLE
    assert searched.first_s is not None
    assert 0 <= searched.first_s <= searched.spent_s <= 0.6
    again = search(hard_model(), Pacing(k1=0.5), SearchPace(0.5), seed=1)
    assert (again.answer.result.objective, again.first_s) == (searched.answer.result.objective, searched.first_s)


def test_the_first_solution_is_taken_where_delta_is_above_60_s():
    searched = search(hard_model(), Pacing(), SearchPace(61.0), seed=1)
    better = search(hard_model(), Pacing(), SearchPace(1.0), seed=1)
    assert searched.spent_s < 0.01
    assert searched.answer.result.objective > better.answer.result.objective


def test_search_over_10_s_continues_from_its_solution_and_stops_without_gain():
    searched = search(hard_model(5), Pacing(), SearchPace(20.0), seed=1)
    assert searched.answer.result.proven
    assert searched.first_s is not None


def test_failed_search_is_repeated_m_times():
    searched = search(hard_model(300), Pacing(m=3, k2=2.0), SearchPace(1e-9), seed=1)
    assert not searched.answer.result.found
    assert searched.first_s is None
