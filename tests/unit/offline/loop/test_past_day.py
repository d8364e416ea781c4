"""Past days played again: what ran goes on where it was, what waited may start, and rules bind."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from kit.actual import actual
from kit.effort import examples

from dardis.metrics.audit import audit
from dardis.model.platform import NodeGroup, NodePower, Platform
from dardis.model.profile import StepFunction
from dardis.model.target import Switching
from offline.loop.past_day import PlayedDay, arrivals_of, play_day
from offline.site.calendar import DAY_S
from offline.site.history import Past, replayed

POWER = NodePower(idle_w=100.0, off_w=10.0, boot_s=300, shutdown_s=60)
PLATFORM = Platform("six", (NodeGroup("n", 4, {"cores": 2}, POWER), NodeGroup("m", 2, {"cores": 4}, POWER)))
HOUR = 3_600


@st.composite
def pasts(draw) -> Past:
    """Two and a half days of jobs that take up to twelve hours, some of them of the second group alone."""
    rows = draw(
        st.lists(
            st.tuples(st.integers(0, 60 * HOUR), st.integers(60, 12 * HOUR), st.integers(0, 4 * HOUR),
                      st.integers(1, 6), st.integers(1, 3)),
            min_size=1, max_size=30,
        )
    )  # fmt: skip
    jobs = [
        actual(
            number,
            submit,
            submit,
            None,
            runtime + more,
            min(units, 6 if groups == 3 else 4),
            (2,),
            groups,
            runtime=runtime,
        )
        for number, (submit, runtime, more, units, groups) in enumerate(sorted(rows), 1)
    ]
    return Past(replayed(jobs, PLATFORM), jobs, "")


def legal(day: PlayedDay, *, switched: bool = False) -> None:
    schedule = day.schedule
    numbers = [job.number for job in day.left.jobs]
    downtime = day.downtime if switched else None
    assert audit(schedule, day.machine, expected=numbers, downtime=downtime) == []
    assert schedule.ran.all()


def running(known: dict[int, tuple[int, int]], now: int) -> set[int]:
    return {number for number, (begun, ended) in known.items() if begun < now < ended}


def moments(past: Past) -> dict[int, tuple[int, int]]:
    schedule = past.schedule
    times = zip(schedule.number.tolist(), schedule.start.tolist(), schedule.finish.tolist(), strict=True)
    return {number: (start, finish) for number, start, finish in times}


@given(pasts())
@examples(2)
def test_days_in_turn_go_on_from_each_other(past):
    """Who runs at a midnight ends when he would have; everybody else who has come starts after it, and legally."""
    before, start = past, int(past.schedule.submit.min())
    for _ in range(3):
        start += DAY_S
        day = play_day(before, arrivals_of(past, start), PLATFORM, start)
        legal(day)
        told, known = moments(day.left), moments(before)
        arrived = {job.number for job in arrivals_of(past, start)}
        assert {n: told[n][1] for n in running(known, start)} == {n: known[n][1] for n in running(known, start)}
        waiting = {number for number, (begun, _) in known.items() if begun >= start}
        assert arrived <= set(told) <= arrived | waiting | running(known, start)
        assert set(np.flatnonzero(day.of_day).tolist()) == {
            place for place, job in enumerate(day.left.jobs) if job.number in arrived
        }
        assert (day.schedule.start >= start).all()
        before = day.left


@given(pasts(), st.integers(0, 6))
@examples(2)
def test_switched_days_are_legal_and_nobody_waits_longer_than_a_node_takes(past, spares):
    start = int(past.schedule.submit.min()) + DAY_S
    rule = Switching(spares={0: StepFunction.from_steps(4, [(start, min(spares, 4))]),
                             1: StepFunction.from_steps(2, [(start, min(spares, 2))])}, idle_s=600)  # fmt: skip
    day = play_day(past, arrivals_of(past, start), PLATFORM, start, switching=rule)
    legal(day, switched=True)
    assert (day.downtime.down >= start).all()
    assert (day.boot_delay <= POWER.boot_s + POWER.shutdown_s).all()
    if spares >= 4:
        assert not day.boot_delay.any()
        assert not len(day.downtime.node)


@given(
    pasts(),
    st.lists(
        st.tuples(st.integers(0, 20 * HOUR), st.integers(60, 10 * HOUR), st.integers(0, 5)),
        max_size=5,
        unique_by=lambda row: row[2],
    ),
)
@examples(2)
def test_closed_nodes_hold_nobody_but_who_ran_at_midnight(past, windows):
    start = int(past.schedule.submit.min()) + DAY_S
    closed = [(start + begin, min(start + begin + length, start + DAY_S), node) for begin, length, node in windows]
    day = play_day(past, arrivals_of(past, start), PLATFORM, start, closed=closed)
    legal(day)
    schedule = day.schedule
    ran = running(moments(past), start)
    for begin, end, node in closed:
        for place, number in enumerate(schedule.number.tolist()):
            if node in schedule.placed.of(place)[0].tolist() and number not in ran:
                assert schedule.finish[place] <= begin or schedule.start[place] >= end
    for node, down, up in day.downtime.rows:
        assert up - down >= POWER.boot_s + POWER.shutdown_s
        assert any(begin <= down < up == end for begin, end, other in closed if other == node)


def test_nobody_starts_on_a_closed_node_beside_who_runs_there_yet():
    """Half of a node has a job since before midnight, as long as it is to be down, or half of that time."""
    for length in (600, 1_200):
        jobs = [
            actual(1, 0, 0, None, DAY_S + 600, 1, (2,), 2, runtime=DAY_S + 600),
            actual(2, 0, 0, None, 2 * DAY_S, 1, (4,), 2, runtime=2 * DAY_S),
            actual(3, DAY_S, DAY_S, None, 60, 1, (2,), 2, runtime=60),
        ]
        past = Past(replayed(jobs, PLATFORM), jobs, "")
        (node,) = past.schedule.placed.of(0)[0].tolist()
        day = play_day(past, arrivals_of(past, DAY_S), PLATFORM, DAY_S, closed=[(DAY_S, DAY_S + length, node)])
        legal(day)
        assert moments(day.left)[1] == (DAY_S, DAY_S + 600)
        assert moments(day.left)[3][0] == DAY_S + length


@st.composite
def shared_pasts(draw) -> Past:
    """Jobs that share nodes over midnight, with walltimes far above their runtimes."""
    rows = draw(
        st.lists(
            st.tuples(st.integers(0, 40 * HOUR), st.integers(60, 30 * HOUR), st.sampled_from([0, HOUR, 90 * HOUR]),
                      st.integers(1, 3), st.sampled_from([1, 2])),
            min_size=2, max_size=20,
        )
    )  # fmt: skip
    jobs = [
        actual(number, submit, submit, None, runtime + more, units, (cores,), 3, runtime=runtime)
        for number, (submit, runtime, more, units, cores) in enumerate(sorted(rows), 1)
    ]
    return Past(replayed(jobs, PLATFORM), jobs, "")


@st.composite
def windows_in_turn(draw) -> list[tuple[int, int, int]]:
    """Up to three windows on each node, in s from midnight, none of which meets another."""
    edges = st.lists(st.integers(0, 24 * 60), min_size=0, max_size=3, unique=True).map(sorted)
    closed = []
    for node in range(PLATFORM.node_count):
        begins = draw(edges)
        for begin, following in zip(begins, [*begins[1:], 24 * 60], strict=False):
            length = draw(st.integers(0, following - begin))
            closed += [(60 * begin, 60 * (begin + length), node)] if length else []
    return closed


@given(shared_pasts(), windows_in_turn())
@examples(10)
def test_jobs_that_share_closed_nodes_over_midnight_run_to_their_ends(past, windows):
    start = int(past.schedule.submit.min()) + DAY_S
    day = play_day(
        past, arrivals_of(past, start), PLATFORM, start, closed=[(start + a, start + b, n) for a, b, n in windows]
    )
    legal(day)
    before, after = moments(past), moments(day.left)
    for number in running(before, start):
        assert after[number] == (start, before[number][1])


def test_a_walltime_that_reaches_a_window_is_no_hindrance():
    """Two jobs share a node over midnight: one runs through the window, the other ends before it."""
    jobs = [
        actual(1, 0, 0, None, 2 * DAY_S, 1, (1,), 2, runtime=2 * DAY_S),
        actual(2, 0, 0, None, 2 * DAY_S, 1, (1,), 2, runtime=DAY_S + 60),
    ]
    past = Past(replayed(jobs, PLATFORM), jobs, "")
    nodes = {past.schedule.placed.of(place)[0].tolist()[0] for place in range(2)}
    assert len(nodes) == 1
    day = play_day(past, [], PLATFORM, DAY_S, closed=[(DAY_S + HOUR, DAY_S + 2 * HOUR, nodes.pop())])
    legal(day)
    assert moments(day.left) == {1: (DAY_S, 2 * DAY_S), 2: (DAY_S, DAY_S + 60)}


def test_who_waits_at_midnight_starts_when_the_machine_lets_him():
    """A wide job that waited for a day: the recorded start is not repeated, EASY starts it at once."""
    jobs = [
        actual(1, 0, 0, None, 3 * DAY_S, 6, (2,), 3, runtime=600),
        actual(2, 10, 10, None, HOUR, 4, (2,), 3, runtime=HOUR),
    ]
    schedule = replayed(jobs, PLATFORM)
    late = replace(
        schedule, start=schedule.start + np.array([0, 2 * DAY_S]), finish=schedule.finish + np.array([0, 2 * DAY_S])
    )
    day = play_day(Past(late, jobs, ""), [], PLATFORM, DAY_S)
    assert day.schedule.number.tolist() == [2]
    assert day.schedule.start.tolist() == [DAY_S]
    assert not day.of_day.any()
