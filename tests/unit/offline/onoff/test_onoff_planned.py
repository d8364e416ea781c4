from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.node_schedules import DEFAULTS, machine, random_jobs, schedule_of

from dardis.model.downtime import Downtime
from dardis.model.errors import InputError
from dardis.model.job import FOREVER
from dardis.model.profile import StepFunction
from dardis.model.series import Series
from offline.onoff.counts import Limits
from offline.onoff.planned import NodeSwitch, Reserve, plan_switching, refuse_many_switches, switch_table
from offline.onoff.spans import busy_spans_of

DAY = 86_400
FLAT = Series(np.array([0, DAY]), np.array([0.13 / 3.6e6]))


def spares(number: int, share: float = 0.0) -> Reserve:
    return Reserve(StepFunction.from_steps(number, []), share)


def down_at(downtime: Downtime, moment: int) -> int:
    return int(((downtime.down <= moment) & (moment < downtime.up)).sum())


@given(
    st.integers(0, 100_000),
    st.integers(0, 3),
    st.sampled_from([0.0, 0.5, 0.7, 1.0]),
    st.sampled_from([0, 2000]),
    st.sampled_from([1.0, 60.0]),
    st.sampled_from([1, 150]),
)
def test_a_plan_keeps_every_promise(
    seed: int, kept: int, share: float, stay_s: int, per_min: float, grain_s: int
) -> None:
    """Of jobs anywhere, and of such that begin and end with the steps of the plan or halfway through them."""
    count = 6
    platform = machine(count, DEFAULTS)
    rows = [
        (start // grain_s * grain_s, finish // grain_s * grain_s, nodes)
        for start, finish, nodes in random_jobs(np.random.default_rng(seed), 30, count, DAY)
    ]
    jobs = schedule_of([row for row in rows if row[0] < row[1]])
    busy = busy_spans_of(jobs)
    limits = Limits(min_on_s=stay_s, min_off_s=stay_s, off_per_min=per_min, on_per_min=per_min, most_switches=99)
    found = plan_switching(busy, platform, {0: spares(kept, share)}, FLAT, limits)

    for node, down, up in zip(found.node, found.down, found.up, strict=True):
        mine = busy.node == node
        assert not (mine & (busy.start < up) & (busy.end > down)).any(), "down while a job needs it"
        assert up - down >= max(337, stay_s)
        assert down >= 0
    same = found.node[1:] == found.node[:-1]
    assert (found.down[1:][same] - found.up[:-1][same] >= stay_s).all()

    for moment in np.unique(np.concatenate([found.down, busy.start, busy.end])).tolist():
        if 0 <= moment < DAY:
            running = int(((busy.start <= moment) & (moment < busy.end)).sum())
            need = running + max(kept, int(np.ceil(share * (count - running) - 1e-9)))
            assert count - down_at(found, moment) >= min(need, count)

    for times in (found.down, found.up[found.up < FOREVER] - 240):
        assert max(np.bincount(times // 60), default=0) <= per_min


@given(st.integers(0, 100_000), st.integers(0, 3), st.sets(st.integers(0, 5)), st.sampled_from([1, 150]))
def test_who_is_off_at_the_beginning_stays_so_or_is_booted(seed: int, kept: int, off: set[int], grain_s: int) -> None:
    count, soonest = 6, {node: 240 + 10 * (node % 3) for node in off}
    rows = [
        (start // grain_s * grain_s, finish // grain_s * grain_s, nodes)
        for start, finish, nodes in random_jobs(np.random.default_rng(seed), 30, count, DAY)
    ]
    rows = [row for row in rows if row[0] < row[1] and all(row[0] >= soonest.get(node, 0) for node in row[2])]
    busy = busy_spans_of(schedule_of(rows))
    platform = machine(count, DEFAULTS)
    found = plan_switching(busy, platform, {0: spares(kept)}, FLAT, Limits(most_switches=99), soonest)
    first = {node: up for node, down, up in found.rows if down == 0 and node in off}
    assert set(first) == off
    assert all(up >= soonest[node] for node, up in first.items())
    for node, down, up in found.rows:
        assert not ((busy.node == node) & (busy.start < up) & (busy.end > down)).any(), "down while a job needs it"
        assert up - down >= 337 or (down == 0 and node in off)
    for moment in np.unique(np.concatenate([found.down, busy.start, busy.end, [260]])).tolist():
        if max(soonest.values(), default=0) <= moment < DAY:
            running = int(((busy.start <= moment) & (moment < busy.end)).sum())
            assert count - down_at(found, moment) >= min(running + kept, count)


def test_as_many_stay_off_as_are_not_needed() -> None:
    """Of four nodes that are off one is needed as a spare, and another while that one has a job: nobody else boots."""
    busy = busy_spans_of(schedule_of([(DAY // 2, DAY // 2 + 7200, (3,))]))
    found = plan_switching(busy, machine(4, DEFAULTS), {0: spares(1)}, FLAT, Limits(), dict.fromkeys(range(4), 240))
    assert [row for row in found.rows if row[1] == 0 and row[2] < 300] == [(3, 0, 240)]
    assert sorted(up for _, down, up in found.rows if down == 0) == [240, DAY // 2, FOREVER, FOREVER]


def test_a_node_is_up_when_its_reservation_begins_and_boots_one_boot_time_before() -> None:
    platform = machine(3, DEFAULTS)
    busy = busy_spans_of(schedule_of([(10_000, 11_000, (0,)), (10_000, 50_000, (1,))]))
    found = plan_switching(busy, platform, {0: spares(0)}, FLAT, Limits())
    assert switch_table(found, platform) == [
        NodeSwitch(0, 0, "off"), NodeSwitch(0, 1, "off"), NodeSwitch(0, 2, "off"),
        NodeSwitch(9_760, 0, "on"), NodeSwitch(9_760, 1, "on"),
        NodeSwitch(11_000, 0, "off"), NodeSwitch(50_000, 1, "off"),
    ]  # fmt: skip


def test_a_node_does_not_stay_down_up_to_its_reservation_where_another_job_takes_the_spare() -> None:
    """Node 1 is taken from the step at 9900 on, so that node 0 is the spare, 250 s before its own job begins."""
    busy = busy_spans_of(schedule_of([(9900, 20_000, (1,)), (10_150, 20_000, (0,))]))
    found = plan_switching(busy, machine(2, DEFAULTS), {0: spares(1)}, FLAT, Limits())
    assert [(down, up) for node, down, up in zip(found.node, found.down, found.up, strict=True) if down == 0] == [
        (0, 9900)
    ]


def test_groups_that_are_always_on_or_have_no_reserve_stay_on() -> None:
    busy = busy_spans_of(schedule_of([]))
    assert len(plan_switching(busy, machine(3, DEFAULTS, always_on=True), {0: spares(0)}, FLAT, Limits()).node) == 0
    assert len(plan_switching(busy, machine(3, DEFAULTS), {}, FLAT, Limits()).node) == 0


def test_where_power_is_paid_for_nodes_stay_on() -> None:
    prices = Series(np.array([0, DAY // 2, DAY]), np.array([0.1, -0.1]) / 3.6e6)
    found = plan_switching(busy_spans_of(schedule_of([])), machine(2, DEFAULTS), {0: spares(0)}, prices, Limits())
    assert found.down.tolist() == [0, 0]
    assert (found.up - DAY // 2).tolist() == [300, 300]  # boots, too, are for nothing then


def test_too_many_switches_are_refused_with_the_node_and_the_time() -> None:
    platform = machine(1, DEFAULTS)
    downtime = Downtime(np.zeros(3, dtype=np.int64), np.array([0, 20_000, 86_000]), np.array([10_000, 30_000, FOREVER]))
    refuse_many_switches(downtime, platform, 5)
    with pytest.raises(InputError, match="n0 would be switched more than 4 times in the day from 0 s on"):
        refuse_many_switches(downtime, platform, 4)
    busy = busy_spans_of(schedule_of([(start, start + 1000, (0,)) for start in range(5000, 80_000, 10_000)]))
    with pytest.raises(InputError, match="more than 2 times"):
        plan_switching(busy, platform, {0: spares(0)}, FLAT, Limits(most_switches=2))
