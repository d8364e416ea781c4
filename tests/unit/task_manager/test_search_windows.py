"""The windows in which a job asks for a start, and the nodes of each host that it may have."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dardis.model.job import NO_TIME, Job
from dardis.model.platform import NodeGroup, Platform
from dardis.task_manager.layout import layout_of
from dardis.task_manager.rounds import quota_of
from dardis.task_manager.search_windows import Search, SearchRules, first_window, next_window


def job_with(latest: int | None, *, earliest: int = 0, walltime: int = 60) -> Job:
    return Job(1, 0, earliest, latest, walltime, 1, (1,), 1)


def all_windows(
    job: Job, rules: SearchRules, *, now: int = 0, horizon: int = 0, last_end: int = NO_TIME
) -> list[Search]:
    """Every window that is asked for when none brings a start."""
    found = []
    search: Search | None = first_window(job, now, rules, horizon)
    while search is not None:
        found.append(search)
        search = next_window(search, job, rules, horizon, last_end)
    return found


@st.composite
def searches(draw):
    """A job, the rules, and all its windows."""
    earliest = draw(st.integers(0, 10**5))
    latest = draw(st.none() | st.integers(0, 10**5).map(lambda window: earliest + window))
    job = job_with(latest, earliest=earliest, walltime=draw(st.integers(1, 10**5)))
    rules = SearchRules(*(draw(st.booleans()) for _ in range(3)), further_windows=draw(st.integers(0, 6) | st.just(20)))
    now, horizon = draw(st.integers(0, 10**5)), draw(st.integers(0, 10**6))
    last_end = draw(st.integers(0, 10**6).map(lambda end: min(end, horizon)) | st.just(NO_TIME))
    return job, rules, horizon, all_windows(job, rules, now=now, horizon=horizon, last_end=last_end), now, last_end


@given(searches())
def test_the_windows_of_an_attempt_leave_no_gap_and_do_not_overlap(case):
    job, rules, horizon, windows, _, _ = case
    for (_, _), group in groupby(windows, key=lambda search: (search.attempt, search.desired_binds)):
        mine = [search for search in group if not search.quota]
        assert mine[0].first == mine[0].earliest
        assert all(search.first <= search.last for search in mine)
        assert all(after.first == before.last + 1 for before, after in pairwise(mine))
        if mine[0].latest is None:
            assert mine[-1].last >= horizon
        else:
            assert mine[-1].last == mine[0].latest
        lengths = [search.last - search.first + 1 for search in mine]
        assert all(after == 2 * before for before, after in pairwise(lengths[:-1]))
        if len(lengths) > 1:
            assert lengths[-1] <= 2 * lengths[-2]
            assert lengths[0] == max(job.walltime, 3600)
        if rules.drawn:
            assert len(mine) == 1


@given(searches())
def test_a_quota_is_followed_by_all_runs_of_the_same_window(case):
    _, rules, _, windows, _, _ = case
    assert any(search.quota for search in windows) == rules.drawn
    for before, after in pairwise(windows):
        if before.quota:
            assert (after.first, after.last, after.quota) == (before.first, before.last, False)


@given(searches())
def test_soft_profile_is_dropped_before_the_window_moves(case):
    job, rules, _, windows, _, _ = case
    order = [key for key, _ in groupby((search.attempt, search.desired_binds) for search in windows)]
    ways = [rules.desired_binds] + [False] * (rules.desired_binds and rules.soft)
    attempts = 1 if job.latest is None else rules.further_windows + 2
    assert order == [(attempt, way) for attempt in range(attempts) for way in ways]


@given(searches())
def test_shifted_windows_begin_at_the_latest_start_and_double(case):
    job, rules, horizon, windows, now, last_end = case
    if job.latest is None:
        return
    spans = [key for key, _ in groupby((search.earliest, search.latest) for search in windows)]
    first = max(job.earliest, now)
    assert spans[0] == (first, max(job.latest, first))
    for (earliest, latest), after in pairwise(spans[: rules.further_windows + 1]):
        assert after == (latest, latest + 2 * max(latest - earliest, 1))
    earliest, latest = windows[-1].earliest, windows[-1].latest
    assert earliest == max(last_end, spans[rules.further_windows][0])
    length = max(spans[rules.further_windows][1] - spans[rules.further_windows][0], rules.grain - 1)
    assert latest == length + (max(earliest, horizon) if rules.desired_binds and not rules.soft else earliest)


def test_windows_double_until_nothing_changes_any_more():
    windows = all_windows(job_with(None), SearchRules(False, False, False), horizon=20000)
    assert [(search.first, search.last) for search in windows] == [(0, 3599), (3600, 10799), (10800, 20000)]


@pytest.mark.parametrize(
    ("units", "window", "nodes", "grain", "quota"),
    [
        (1, 86400, 300, 1, 1),
        (256, 86400, 300, 60, 255 * 1440 // 300 + 1),
        (3, 9, 2, 1, -1),  # 10 of 9 instants
        (3, 10, 2, 5, -1),
        (10**15, 86400, 300, 60, -1),
        (2, 61, 4, 60, 1 * 2 // 4 + 1),  # 61 s hold two instants of the grid: 0 and 60
    ],
)
def test_quotas(units, window, nodes, grain, quota):
    """Thesis 5.3.2: floor((units - 1) * window / nodes) + 1, with the window counted in instants of the grid.

    When that is all that there are, nodes need not draw: they offer runs, and need no room for each instant.
    """
    search = Search(0, 0, window - 1, 0, window - 1, desired_binds=False, quota=True)
    assert quota_of(search, units, nodes, grain) == quota


def test_window_after_the_last_reservation_follows_later_reservations():
    job, rules = job_with(5), SearchRules(drawn=False, desired_binds=False, soft=False)
    search = replace(first_window(job, 0, rules, 0), attempt=4, earliest=100, latest=105, first=100, last=105)
    assert next_window(search, job, rules, 0, 100) is None
    later = next_window(search, job, rules, 0, 130)
    assert later is not None
    assert (later.first, later.last, later.attempt) == (130, 135, 5)


@given(st.lists(st.integers(1, 5), min_size=1, max_size=6), st.data())
def test_shares_are_the_nodes_by_host(sizes, data):
    bounds = (0, *np.cumsum(sizes).tolist())
    layout = layout_of(Platform("p", (NodeGroup("n", bounds[-1], {"cores": 1}),)), bounds, None)
    nodes = np.array(sorted(data.draw(st.sets(st.integers(0, bounds[-1] - 1)))), dtype=np.int64)
    shares = {host: nodes[share].tolist() for host, share in layout.nodes_by_host(nodes)}
    expected: dict[int, list[int]] = {}
    for node, host in zip(nodes.tolist(), layout.host_of(nodes).tolist(), strict=True):
        expected.setdefault(host, []).append(node)
    assert shares == expected
    assert list(shares) == list(expected)
