"""How often each start is drawn, over many keys; and how many starts come of a quota."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.effort import examples
from kit.offer_requests import ask_for, nothing_held

from dardis.model.job import Job
from dardis.model.offer_rows import EXPONENTIAL, FIRST, UNIFORM
from dardis.model.platform import NodeGroup, Platform
from dardis.model.step_function import StepFunction
from dardis.model.target import DesiredProfile
from dardis.node_manager.pool_state import PoolState
from dardis.task_manager.rounds import quota_of
from dardis.task_manager.search_windows import SearchRules, first_window

MACHINE = Platform("m", (NodeGroup("n", 1, {"cores": 4}),))


def offered(state: PoolState, **ask) -> list[int]:
    rows, _ = state.offers(ask_for(**ask), nothing_held(), 1, 0)
    return [instant for _, low, high, *_ in rows.tolist() for instant in range(low, high)]


@pytest.mark.parametrize("grain", [1, 5])
@pytest.mark.parametrize("kind", [UNIFORM, EXPONENTIAL])
def test_starts_are_drawn_by_index(kind, grain):
    window = 20 * grain
    steps = [(window // 4 * quarter, binding) for quarter, binding in enumerate((4, 2, 1, 3))]
    state = PoolState(MACHINE, 0, 1, DesiredProfile(MACHINE, {0: StepFunction.from_steps(4, steps)}))
    drawn = [
        offered(state, job=job, last=window - 1, quota=1, generator=kind, grain=grain, desired_binds=True)
        for job in range(8000)
    ]
    counts = np.bincount(np.array(drawn).ravel(), minlength=20)
    weights = np.repeat([4.0, 2.0, 1.0, 3.0], 5)
    if kind == EXPONENTIAL:
        weights *= np.exp(-np.arange(20) / 20)
    means = 8000 * weights / weights.sum()
    assert ((counts - means) ** 2 / means).sum() < 51  # chi-square, 19 degrees of freedom: one in 10,000


def test_infeasible_draw_advances_to_the_next_start():
    state = PoolState(MACHINE, 0, 1, DesiredProfile(MACHINE, {0: StepFunction.from_steps(4, [(10, 1), (20, 4)])}))
    draws = [
        offered(state, job=job, last=29, quota=1, request=(2,), generator=UNIFORM, desired_binds=True)
        for job in range(4000)
    ]
    counts = np.bincount(np.array(draws).ravel(), minlength=30)
    assert (counts[10:20] == 0).all()
    mean = 4000 / (10 * 2 + 10 / 2 + 10 * 2)
    assert abs(counts[20] - mean * (5 + 2)) < 5 * np.sqrt(mean * 7)
    assert abs(counts[21] - mean * 2) < 5 * np.sqrt(mean * 2)


@given(
    st.integers(1, 12), st.integers(0, 40), st.sampled_from((1, 3)), st.sampled_from((FIRST, UNIFORM, EXPONENTIAL)),
    st.integers(0, 500), st.integers(0, 30), st.integers(0, 30),
)  # fmt: skip
@examples(1)
def test_a_quota_gives_that_many_different_feasible_starts_on_the_grid(quota, window, grain, kind, job, busy, length):
    state = PoolState(MACHINE, 0, 1, None)
    if length:
        state.reserve(np.array([0]), np.array([4]), np.array([1]), busy, busy + length, 0)
    feasible = [i for i in range(window // grain + 1) if not busy - 3 < i * grain < busy + length or not length]
    asked = {"job": job, "last": window, "walltime": 3, "generator": kind, "grain": grain}
    assert offered(state, **asked) == feasible
    starts = offered(state, quota=quota, **asked)
    assert len(starts) == min(quota, len(feasible))
    assert starts == sorted({*starts})
    assert {*starts} <= {*feasible}
    assert starts == offered(state, quota=quota, **asked)


def test_draws_are_independent_of_the_host_layout():
    two = Platform("m", (NodeGroup("n", 2, {"cores": 4}),))
    whole, second = PoolState(two, 0, 2, None), PoolState(two, 1, 2, None)
    ask = {"last": 10**6, "quota": 3, "generator": UNIFORM}

    def rows(state, **more):
        return state.offers(ask_for(**ask, **more), nothing_held(), 1, 0)[0].tolist()

    both = rows(whole)
    mine = [row for row in both if row[0] == 1]
    assert rows(second) == mine
    assert [row[1:] for row in both if row[0] == 0] != [row[1:] for row in mine]
    assert rows(second, job=2) != mine
    assert rows(second, attempt=2) != mine


@given(st.integers(1, 9), st.integers(1, 9), st.integers(0, 60), st.sampled_from((1, 7)), st.integers(1, 1000))
@examples(2)
def test_nodes_that_all_have_their_quota_agree_on_a_start(nodes, units, window, grain, job):
    if units > nodes:
        return
    machine = Platform("m", (NodeGroup("n", nodes, {"cores": 1}),))
    rules = SearchRules(drawn=True, desired_binds=False, soft=False)
    search = first_window(Job(job, 0, 0, window, 1, units, (1,), 1), 0, rules, 0)
    quota = quota_of(search, units, nodes, grain)
    state = PoolState(machine, 0, nodes, None)
    ask = ask_for(job=job, first=search.first, last=search.last, quota=quota, generator=UNIFORM, grain=grain)
    rows, _ = state.offers(ask, nothing_held(), 1, 0)
    offers = [instant for _, low, high, *_ in rows.tolist() for instant in range(low, high)]
    assert len(offers) == nodes * (window // grain + 1 if quota < 0 else quota)
    assert np.bincount(offers).max() >= units
