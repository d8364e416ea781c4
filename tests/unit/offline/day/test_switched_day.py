"""A past day under a rule: what the account makes of its times down is what the replay saved, to the joule."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.node_schedules import QUICK, machine, random_jobs, schedule_of

from dardis.model.downtime import Downtime
from dardis.model.profile import StepFunction
from dardis.model.target import Switching
from dardis.power.account import Work, account
from dardis.power.conditions import Conditions
from dardis.power.nodes import MachinePower
from dardis.power.tariff import Tariff
from offline.day.switched_day import switched_day
from offline.onoff.replay import PastDemand, demands_of

COUNT, START, END = 6, -3600, 7200


class NoCooling:
    """A plant that takes no power."""

    def watts(self, temp_c, it_w):
        return np.zeros(np.broadcast(temp_c, it_w).shape)


def energy_j(downtime):
    """What idle, off and switching nodes draw between START and END, without jobs."""
    edges = np.arange(START, END + 1, 3600)
    flat = np.ones(len(edges) - 1)
    none = np.zeros(0, dtype=np.int64)
    work = Work(none, none, none, np.zeros(0), np.zeros(0))
    power = MachinePower.of_platform(machine(COUNT))
    told = account(work, downtime, power, Conditions(edges, flat, flat, flat), NoCooling(), Tariff())
    return told.energy_kwh * 3.6e6


@given(st.integers(0, 100_000), st.integers(0, 4), st.none() | st.integers(0, 5), st.integers(5, 20))
def test_times_down_cost_what_the_replay_says(seed, spares, floor, idle_s):
    jobs = schedule_of(random_jobs(np.random.default_rng(seed), 25, COUNT, 120))
    demands = demands_of(jobs, machine(COUNT))
    floors = {} if floor is None else {0: StepFunction.from_steps(floor, [])}
    rule = Switching({0: StepFunction.from_steps(spares, [])}, floors, idle_s=idle_s)
    found = switched_day(demands, rule, machine(COUNT), START, END)
    past = PastDemand(demands[0], QUICK, idle_s, np.array([START, END]))
    replayed = past.replay(spares, floor or 0)
    saved = energy_j(Downtime.none()) - energy_j(found.downtime)
    lengths = found.downtime.up - QUICK.boot_s - found.downtime.down
    if (lengths < QUICK.shutdown_s).any():  # booted while it shuts down: the account has it in one go
        assert saved > replayed.saved_j.sum()
    else:
        assert saved == pytest.approx(replayed.saved_j.sum(), abs=1e-3)
    assert found.delay.tolist() == replayed.delay.tolist()
    moments = np.arange(START, END, 7)
    on = replayed.nodes_on.at(moments)
    busy = demands[0].busy.at(moments)
    assert (on >= np.minimum(np.maximum(busy + spares, floor or 0), COUNT)).all()
    assert (on <= COUNT).all()


def test_a_group_that_no_rule_names_stays_on():
    demands = demands_of(schedule_of([(0, 5, (0,))]), machine(COUNT))
    found = switched_day(demands, Switching(), machine(COUNT), START, END)
    assert len(found.downtime.node) == len(found.delay) == 0
