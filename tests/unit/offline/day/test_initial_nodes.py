"""How nodes stand when a day begins, and what a rule makes of a past day: the account has what the replay saved."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit import node_schedules
from kit.effort import examples
from kit.node_schedules import QUICK, machine, random_jobs
from kit.plan_folder import ACTIONS, OFFSET, PLATFORM, onoff, plan
from kit.plan_problems import day_problem, plan_problems

from dardis.config.node_states import NodeStates
from dardis.metrics.audit import audit
from dardis.model.errors import InputError
from dardis.model.job import FOREVER
from dardis.model.schedule import Downtime
from dardis.model.step_function import StepFunction
from dardis.model.target import Switching
from dardis.power.account import AccountedJobs, account
from dardis.power.conditions import Conditions, Tariff
from dardis.power.cooling import AirPlant
from dardis.power.node_power import MachinePower
from offline.day.day import planned_downtime
from offline.day.hindsight import switched_day
from offline.day.initial_nodes import InitialNodes, downtime_after_plan, initial_nodes_of
from offline.folder.plan_folder import write_plan
from offline.folder.tables import OnOffTable
from offline.onoff.reserve_replay import PastDemand, demands_of
from offline.planner.day_planner import schedule_of
from offline.planner.machine_use import node_spans
from offline.planner.money import account_of
from offline.planner.searches import heuristic


@st.composite
def standings(draw, nodes: int, start: int) -> InitialNodes:
    """Anything that may be said of so many nodes."""
    word = st.sampled_from(("on", "busy", "closed", "off", "off", "booting", "closed+off"))
    words, down = draw(st.lists(word, min_size=nodes, max_size=nodes)), []
    for node, word in enumerate(words):
        if "off" in word:
            down.append((node, start - draw(st.integers(1, 400)), FOREVER))
        elif word == "booting":
            up = start + draw(st.integers(1, 239))
            down.append((node, up - 270 - draw(st.integers(0, 400)), up))
    busy, closed = (np.array([sign in word for word in words], dtype=np.bool_) for sign in ("busy", "closed"))
    return InitialNodes(busy, closed, Downtime.of(down))


@given(plan_problems(maintenance=False), st.data())
def test_jobs_move_within_groups_and_together(problem, data):
    running, platform = problem.running, problem.platform
    standing = data.draw(standings(platform.node_count, problem.conditions.start))
    moved, left, found_on = standing.assign_jobs(running, platform)
    before, after = running.placed.nodes, moved.placed.nodes
    assert platform.group_of_node[before].tolist() == platform.group_of_node[after].tolist()
    moves = {*zip(before.tolist(), after.tolist(), strict=True)}
    assert len(moves) == len({*before.tolist()}) == len({*after.tolist()})
    assert not {*left.down.node.tolist()} & {*after.tolist()}
    if standing.down.node.size == standing.closed.sum() == standing.busy.sum() == 0:
        assert after.tolist() == before.tolist()
    assert found_on == int(standing.is_off[np.unique(after)].sum())
    for group in range(len(platform.groups)):  # a node that is off holds a job only where all that are on do
        mine = platform.group_of_node == group
        on = np.flatnonzero(mine & ~np.isin(np.arange(len(mine)), standing.down.node))
        if standing.is_off[np.unique(after[platform.group_of_node[after] == group])].any():
            assert {*on.tolist()} <= {*after.tolist()}


@examples(0.6)
@given(st.data(), st.integers(0, 40), st.sampled_from((0.1, 0.4, 0.8)), st.integers(3, 12), st.booleans())
def test_no_job_is_placed_on_down_or_closed_nodes(data, seed, load, nodes, switches):
    problem = day_problem(25, nodes, load, seed, cores=8)
    start = problem.conditions.start
    said = data.draw(standings(nodes, start))
    running, standing, _ = said.assign_jobs(problem.running, problem.platform)
    machine = standing.closed_until(problem.platform, start, problem.horizon)
    problem = replace(problem, platform=machine, running=running)
    plan_of = heuristic(problem)
    spares = data.draw(st.integers(0, nodes))
    wished = Switching({0: StepFunction.from_steps(spares, [])}) if switches else None
    down = planned_downtime(problem, plan_of, account_of(problem, plan_of.start), wished, standing)
    no_windows = replace(machine, maintenance=())
    wrong = audit(schedule_of(problem, plan_of), no_windows, downtime=down)
    assert [one for one in wrong if one.time is None or one.time < problem.horizon] == []  # what comes later only waits
    # Nodes that take no jobs have none of the planned ones in the day, and are as they were all day.
    in_day = plan_of.start[plan_of.placed.job_of] < problem.horizon
    assert not standing.closed[plan_of.placed.nodes[in_day]].any()
    spans = {node: (since, up) for node, since, up in standing.down.rows}
    for node in np.flatnonzero(standing.closed).tolist():
        assert [row[1:] for row in down.rows if row[0] == node] == ([spans[node]] if node in spans else [])
    for node, (since, up) in spans.items():
        first = next(row for row in down.rows if row[0] == node)
        assert first[1] == since
        assert first[2] >= min(up, start + 240)
    if wished is None:
        assert {row[0] for row in down.rows} == set(spans)
    else:
        in_use, moment = node_spans(problem, plan_of), start + 900  # whatever could be booted has been
        busy = np.unique(in_use.node[(in_use.start <= moment) & (in_use.end > moment)])
        down_now = [node for node, since, up in down.rows if since <= moment < up]
        up_now = ~np.isin(np.arange(nodes), down_now) & ~standing.closed
        wanted = np.count_nonzero(~standing.closed[busy]) + spares
        assert np.count_nonzero(up_now) >= min(wanted, np.count_nonzero(~standing.closed))
    OnOffTable.of(down, np.full(nodes, 240))  # a table that somebody can carry out


def test_earlier_node_states_hold_until_the_day_begins():
    nodes = PLATFORM.node_count
    off, booting, closed = (np.isin(np.arange(nodes), some) for some in ((0, 1), (2,), (9,)))
    states = NodeStates(np.zeros(nodes, dtype=bool), closed, off, np.zeros(nodes, dtype=bool), booting, 0)
    at_once = initial_nodes_of(states, PLATFORM, 5_000, 5_000)
    assert [*at_once.down.rows] == [(0, 4_970, FOREVER), (1, 4_970, FOREVER), (2, 4_970, 5_240)]
    assert at_once.bootable_nodes(PLATFORM, 5_000) == {0: 5_240, 1: 5_240}
    assert [*initial_nodes_of(states, PLATFORM, 4_000, 5_000).down.rows] == [(0, 3_970, FOREVER), (1, 3_970, FOREVER)]
    assert [*at_once.notes()] == [
        "of 10 nodes 2 are off and 1 booting when the day begins",
        "1 nodes take no jobs (drained, down, reserved), so the plan does not use them",
    ]

    standing = InitialNodes(np.isin(np.arange(nodes), range(6)), np.zeros(nodes, dtype=bool), Downtime.none())
    assert [len([*standing.notes(held=held)]) for held in (0, 2, 3, 6, 12, 13)] == [1, 1, 0, 0, 0, 1]
    assert [*standing.notes(held=0)] == [
        "6 nodes run jobs by --state, but 0 by the history: one of them may be old or incomplete"
    ]
    assert [*InitialNodes.all_on(nodes).notes(held=9)] == []


def test_initial_node_states_follow_the_actions_of_the_previous_plan(tmp_path: Path):
    made = plan()
    end = made.profile.end
    late = onoff((*ACTIONS[:-1], (end - 200, 0, False), (end - 100, 7, True), (end + 50, 1, False)))
    write_plan(tmp_path, replace(made, onoff=late))
    # Two days later on a clock of its own.
    start = 100
    found = downtime_after_plan(tmp_path, PLATFORM, start, OFFSET + end - start)
    assert [*found.rows] == [(0, start - 200, FOREVER), (7, 6_800 - end + start, start - 100 + 240)]


def test_a_plan_of_another_machine_or_day_is_refused(tmp_path: Path):
    made = plan()
    write_plan(tmp_path, made)
    other = replace(PLATFORM, groups=PLATFORM.groups[:1], name="other")
    with pytest.raises(InputError, match="has other nodes than platform other; expected a plan for this platform"):
        downtime_after_plan(tmp_path, other, made.profile.end, OFFSET)
    with pytest.raises(InputError, match="the plan ends at 2023-07-03T04:00:00Z; expected 2023-07-03T05:00:00Z"):
        downtime_after_plan(tmp_path, PLATFORM, made.profile.end + 3_600, OFFSET)
    warmer = replace(PLATFORM, groups=tuple(replace(group, power=None) for group in PLATFORM.groups))
    downtime_after_plan(tmp_path, warmer, made.profile.end, OFFSET)  # other figures of power: the same machine


COUNT, START, END = 6, -3600, 7200


def energy_j(downtime):
    """What idle, off and switching nodes draw between START and END, without jobs."""
    edges = np.arange(START, END + 1, 3600)
    flat = np.ones(len(edges) - 1)
    none = np.zeros(0, dtype=np.int64)
    work = AccountedJobs(none, none, none, np.zeros(0), np.zeros(0))
    power = MachinePower.of_platform(machine(COUNT))
    return account(work, downtime, power, Conditions(edges, flat, flat, flat), AirPlant(), Tariff()).energy_kwh * 3.6e6


@given(st.integers(0, 100_000), st.integers(0, 4), st.none() | st.integers(0, 5), st.integers(5, 20))
def test_downtime_costs_equal_those_of_the_replay(seed, spares, floor, idle_s):
    jobs = node_schedules.schedule_of(random_jobs(np.random.default_rng(seed), 25, COUNT, 120))
    demands = demands_of(jobs, machine(COUNT))
    floors = {} if floor is None else {0: StepFunction.from_steps(floor, [])}
    rule = Switching({0: StepFunction.from_steps(spares, [])}, floors, idle_s=idle_s)
    found = switched_day(demands, rule, machine(COUNT), START, END)
    assert not len(switched_day(demands, Switching(), machine(COUNT), START, END).downtime.node), "no rule for it"
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
