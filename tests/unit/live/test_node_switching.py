"""Switching of nodes: for jobs, reserves and plans; programs that work, fail, hang and lie."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from dardis.live import node_switching as switcher
from dardis.live.gateway_orders import SwitchNodes
from dardis.live.machine import machine_of_platform
from dardis.model.errors import InputError
from dardis.model.platform import NodeGroup, NodePower, Platform

POWER = NodePower(idle_w=100, core_w=10, boot_s=60)
PLATFORM = Platform("m", (NodeGroup("n", 4, {"cores": 4}, POWER),))
NAMES = [f"n{node}" for node in range(4)]
LOCAL = machine_of_platform(PLATFORM)
HOSTS = machine_of_platform(PLATFORM, ["h0", "h1", "h2", "h3"])
"""Each host is a node."""
NOW, IDLE_S, LIMIT_S = 1_000, 30, 60
KINDS = len(LOCAL.platform.kinds)


def switching(machine=LOCAL, *, spares=0, states=None, rule=None, has_programs=True):
    return switcher.NodeSwitching(machine, switcher.SwitchSettings(has_programs, spares, IDLE_S, LIMIT_S), rule, states)


def seen(*busy, unreachable=(), drained=()):
    capacity = LOCAL.platform.capacity
    free = np.array([capacity[node] * (node not in busy) for node in range(4)])
    there = [node not in unreachable for node in range(4)]
    idle = [node not in busy and there[node] for node in range(4)]
    return switcher.SeenNodes(free, idle, there, [node in drained for node in range(4)])


def need(nodes=1, cores=4, mw=40_000, walltime=100):
    request = [0] * KINDS
    request[LOCAL.platform.kinds.index("cores")] = cores
    return switcher.WaitingNeed(nodes, tuple(request), walltime, mw)


def states(of):
    return [of.state(name) for name in NAMES]


def off_for_good(of, names=NAMES, now=NOW):
    """Switch nodes off, idle for long, with a program that works."""
    of.decide(seen(), (), [], now - IDLE_S)
    orders = of.decide(seen(), (), [], now)
    assert orders == [SwitchNodes(tuple(names), on=False)]
    of.on_program_end(names, on=False, error="", now=now)
    of.update([True] * 4, now)
    assert [of.state(name) for name in names] == [switcher.NodeState.OFF] * len(names)
    return of


def test_idle_nodes_beyond_the_spares_go_off_and_the_lowest_stay():
    of = off_for_good(switching(spares=1), NAMES[1:])
    assert of.closed == set(NAMES[1:])
    assert of.saved_mw() == 300_000
    assert of.decide(seen(0), (), [], NOW) == [SwitchNodes(("n1",), on=True)], "another one replaces the spare"


def test_busy_nodes_and_nodes_that_jobs_wait_for_stay_on():
    of = switching()
    for now in (NOW, NOW + 10 * IDLE_S):
        assert of.decide(seen(1), [need(nodes=3)], [], now) == []
    assert of.decide(seen(1), (), [], NOW + 20 * IDLE_S) == [], "idle only since no job waits"
    assert of.wake(NOW + 20 * IDLE_S) == NOW + 21 * IDLE_S
    assert of.decide(seen(1), (), [], NOW + 21 * IDLE_S) == [SwitchNodes(("n0", "n2", "n3"), on=False)]


def test_nodes_boot_for_jobs_that_find_no_room_and_not_beyond_the_cap():
    of = off_for_good(switching())
    assert of.decide(seen(), [need(nodes=5)], [], NOW) == [], "no machine has room"
    assert of.decide(seen(), [need()], [(NOW, 139_999)], NOW) == [], "100 W idle and 40 W of the job"
    falls = [(NOW, 300_000), (NOW + 50, 0)]
    assert of.decide(seen(), [need()], falls, NOW) == [], "the cap falls while the job would run"
    assert of.decide(seen(), [need(walltime=50), need(nodes=2)], falls, NOW) == [SwitchNodes(("n0",), on=True)]
    assert of.decide(seen(), [need()], falls, NOW) == [], "it comes already"
    of.on_program_end(["n0"], on=True, error="", now=NOW)
    assert of.update([True] * 4, NOW)
    assert states(of) == [switcher.NodeState.ON] + 3 * [switcher.NodeState.OFF]


def test_node_of_its_own_host_is_off_and_on_as_its_host_is():
    of = switching(HOSTS)
    assert of.switchable == NAMES[1:], "the service stays"
    of.decide(seen(), (), [], NOW - IDLE_S)
    of.decide(seen(), (), [], NOW)
    of.on_program_end(NAMES[1:], on=False, error="", now=NOW)
    assert not of.update([True] * 4, NOW)
    assert of.update([True, False, False, False], NOW)
    assert states(of) == [switcher.NodeState.ON] + 3 * [switcher.NodeState.OFF]
    of.decide(seen(0, unreachable=(1, 2, 3)), [need()], [], NOW)
    of.on_program_end(["n1"], on=True, error="", now=NOW)
    assert not of.update([True, False, False, False], NOW + LIMIT_S - 1)
    assert of.update([True, True, False, False], NOW + LIMIT_S - 1)
    assert of.state("n1") is switcher.NodeState.ON


def test_node_that_does_not_return_is_down_until_it_does():
    of = switching(HOSTS, states={"n1": "off"})
    of.decide(seen(0, 2, 3, unreachable=(1,)), [need()], [], NOW)
    of.on_program_end(["n1"], on=True, error="", now=NOW)  # it lies
    assert of.update([True, False, True, True], NOW + LIMIT_S)
    assert (of.state("n1"), of.why("n1")) == (switcher.NodeState.DOWN, "it did not return within 60 s")
    assert of.update([True] * 4, NOW + 2 * LIMIT_S)
    assert of.state("n1") is switcher.NodeState.ON


def test_node_whose_program_fails_is_down_until_it_is_resumed():
    of = switching(states={"n1": "off"})
    of.decide(seen(0, 2, 3), [need()], [], NOW)
    of.on_program_end(["n1"], on=True, error="ended with status 1", now=NOW)
    assert (of.state("n1"), of.why("n1")) == (switcher.NodeState.DOWN, "ended with status 1")
    assert [of.update([True] * 4, NOW + LIMIT_S) for _ in range(2)] == [True, False]
    assert of.decide(seen(0, 2, 3), [need()], [], NOW + switcher.PAUSE_S - 1) == []
    of.resume("n1")
    assert of.state("n1") is switcher.NodeState.OFF
    assert of.decide(seen(0, 2, 3), [need()], [], NOW + 1) == [SwitchNodes(("n1",), on=True)]


@pytest.mark.parametrize("fails", [True, False])
def test_node_that_does_not_go_off_is_on_and_is_left_alone_for_a_while(fails):
    of = switching(HOSTS, spares=3)
    of.decide(seen(), (), [], NOW - IDLE_S)
    assert of.decide(seen(), (), [], NOW) == [SwitchNodes(("n3",), on=False)]
    of.on_program_end(["n3"], on=False, error="it failed" if fails else "", now=NOW)
    of.update([True] * 4, NOW + LIMIT_S)
    assert of.state("n3") is switcher.NodeState.ON
    orders = [order for now in (NOW + LIMIT_S, NOW + 5 * LIMIT_S) for order in of.decide(seen(), (), [], now)]
    assert [order.names for order in orders] == [("n2",)]
    of.on_program_end(["n2"], on=False, error="", now=NOW + 6 * LIMIT_S)
    of.update([True, True, False, True], NOW + 6 * LIMIT_S)
    again = NOW + (0 if fails else LIMIT_S) + switcher.RETRY_S
    at = seen(0, unreachable=(2,))
    of.decide(at, (), [], again - IDLE_S)
    of.settings = replace(of.settings, spares=0)
    switched = [{*order.names} for now in (again - 1, again) for order in of.decide(at, (), [], now)]
    assert [("n3" in names) for names in switched] == [False, True]


def test_idle_nodes_go_off_for_jobs_that_the_cap_delays_and_reserves_do_not_count():
    of = switching(spares=4)
    left = [(NOW, 10_000)]
    assert of.decide(seen(), [need(nodes=1)], left, NOW) == []
    assert of.decide(seen(), [need(nodes=1)], left, NOW + IDLE_S) == [SwitchNodes(tuple(NAMES), on=False)]


def test_idle_nodes_go_off_at_once_above_the_cap():
    of = switching(spares=4)
    of.decide(seen(), (), [], NOW)
    assert of.decide(seen(0), (), [(NOW + 1, -1)], NOW + 1) == [SwitchNodes(("n1", "n2", "n3"), on=False)]


def test_drained_node_is_not_booted():
    of = switching(spares=1, states={"n0": "off", "n1": "off"})
    assert of.decide(seen(2, 3, drained=[0]), [need()], [], NOW) == [SwitchNodes(("n1",), on=True)]


def test_node_that_somebody_switched_on_is_on_and_so_is_one_with_jobs():
    of = switching(HOSTS, states={"n1": "off", "n2": "shutting down"})
    of.keep_on(["n2"])
    assert of.decide(seen(2), (), [], NOW) == []
    assert of.update([True] * 4, NOW)
    assert of.closed == set()


def test_states_survive_a_restart_and_interrupted_programs_run_again():
    of = off_for_good(switching())
    of.decide(seen(), [need()], [], NOW)
    told = json.loads(of.take_changed_states())
    assert told == {"n0": "booting", "n1": "off", "n2": "off", "n3": "off"}
    assert of.take_changed_states() is None
    again = switching(states=told)
    assert again.decide(seen(), (), [], NOW) == [SwitchNodes(("n0",), on=True)]
    without = switching(states=told, has_programs=False)
    assert (without.closed, without.take_changed_states()) == (set(), "{}")


def plan(**groups):
    return switcher.SwitchRule({"idle_s": 5, "most_cycles_per_day": 24.0, "groups": groups}, "target.json")


def test_plan_replaces_the_spares_and_boots_ahead_of_time():
    steps = [[NOW, 1], [NOW + 500, 3]]
    of = switching(spares=4, rule=plan(n={"spares": steps, "floors": [[NOW, 0]]}))
    of.decide(seen(), (), [], NOW)
    assert of.decide(seen(), (), [], NOW + 5) == [SwitchNodes(("n1", "n2", "n3"), on=False)]
    of.on_program_end(NAMES[1:], on=False, error="", now=NOW + 6)
    of.update([True] * 4, NOW + 6)
    assert of.wake(NOW + 6) == NOW + 440
    assert of.decide(seen(), (), [], NOW + 439) == []
    assert of.decide(seen(), (), [], NOW + 440) == [SwitchNodes(("n1", "n2"), on=True)]


def test_plan_of_the_next_day_follows_the_present_one():
    of = switching(rule=plan(n={"spares": [[NOW, 1], [NOW + 90, 2]]}))
    of.set_rule(plan(n={"spares": [[NOW + 50, 3]]}), NOW + 9)
    assert of.rule.table["groups"] == {"n": {"spares": [[NOW, 1], [NOW + 50, 3]]}}


def test_plan_of_another_machine_or_without_programs_is_rejected():
    with pytest.raises(InputError, match="unknown node group"):
        switching().set_rule(plan(other={"spares": [[0, 1]]}), NOW)
    with pytest.raises(InputError, match="no --off-program"):
        switching(has_programs=False).set_rule(plan(n={"spares": [[0, 1]]}), NOW)
