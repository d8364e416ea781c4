from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.node_schedules import DEFAULTS, QUICK, machine, random_jobs, schedule_of

from dardis.model.downtime import Downtime
from dardis.model.job import FOREVER
from dardis.model.platform import NodePower
from dardis.power.account import account, work_of
from dardis.power.conditions import Conditions
from dardis.power.nodes import MachinePower
from dardis.power.tariff import Tariff
from offline.onoff.clairvoyant import clairvoyant
from offline.onoff.spans import busy_spans_of, idle_gaps

TAURUS = NodePower(
    idle_w=95, core_w=1, off_w=9.75, boot_s=152, boot_w=18966 / 152, shutdown_s=6, shutdown_w=616 / 6
)  # its measured joules, in whole seconds


class Proportional:
    """A plant that draws 0.3 W for every watt."""

    def watts(self, temp_c, it_w):
        return 0.3 * np.asarray(it_w) + 0 * np.asarray(temp_c)


def profit(jobs, platform, downtime, end: int) -> float:
    edges = np.array([0, end // 2, end])
    conditions = Conditions(edges, np.full(2, 20.0), np.full(2, 0.13), np.zeros(2))
    power = MachinePower.of_platform(platform)
    return account(work_of(jobs, platform), downtime, power, conditions, Proportional(), Tariff()).profit


@given(st.integers(0, 100_000), st.integers(20, 130), st.sampled_from([130, 700]))
def test_no_other_switching_of_a_schedule_has_more_profit(seed: int, end: int, boot_w: int) -> None:
    """Jobs may begin after the end, so that a node that is down then is booted at no cost."""
    rng = np.random.default_rng(seed)
    platform = machine(3, replace(QUICK, boot_w=boot_w))
    jobs = schedule_of(random_jobs(rng, 8, 3, 100))
    bound = profit(jobs, platform, clairvoyant(jobs, platform, 0, end), end)
    gaps = idle_gaps(busy_spans_of(jobs), 3, 0, end)
    for _ in range(10):
        rows = []
        for node, first, last in zip(gaps.node.tolist(), gaps.start.tolist(), gaps.end.tolist(), strict=True):
            down = int(rng.integers(first, min(last, end)))
            latest = min(last, end + 20)
            up = last if rng.random() < 0.5 else int(rng.integers(down, latest + 1))
            if up - down >= QUICK.boot_s + QUICK.shutdown_s and rng.random() < 0.8:
                rows.append((node, down, up))
        other = Downtime(*np.array(sorted(rows), dtype=np.int64).reshape(-1, 3).T)
        assert profit(jobs, platform, other, end) <= bound + 1e-12


@pytest.mark.parametrize(("power", "break_even"), [(TAURUS, 212), (DEFAULTS, 337)])
def test_a_gap_is_used_from_the_break_even_time_on(power: NodePower, break_even: int) -> None:
    platform = machine(1, power)
    assert np.ceil(MachinePower.of_platform(platform).break_even_s[0]) == break_even
    for gap in (break_even - 1, break_even):
        jobs = schedule_of([(0, 10, (0,)), (10 + gap, 3000, (0,))])
        assert len(clairvoyant(jobs, platform, 0, 3000).node) == (gap >= break_even)


def test_the_boot_ends_when_the_next_job_starts_and_the_last_gap_has_none() -> None:
    jobs = schedule_of([(1000, 1100, (0,)), (3000, 3100, (0,))])
    found = clairvoyant(jobs, machine(2, DEFAULTS), 0, 5000)
    assert list(zip(found.node.tolist(), found.down.tolist(), found.up.tolist(), strict=True)) == [
        (0, 0, 1000), (0, 1100, 3000), (0, 3100, FOREVER), (1, 0, FOREVER),
    ]  # fmt: skip


def test_nodes_that_are_always_on_or_idle_for_nothing_stay_on() -> None:
    jobs = schedule_of([(1000, 1100, (0,))])
    assert len(clairvoyant(jobs, machine(2, DEFAULTS, always_on=True), 0, 5000).node) == 0
    assert len(clairvoyant(jobs, machine(2, NodePower()), 0, 5000).node) == 0
