"""Host lists, and which nodes are down when: against plain oracles."""

from __future__ import annotations

import re

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from kit.plan_folder import PLATFORM, actions, onoff

from offline.export.hostlist import hostlist
from offline.export.steps import absences, first_on, steps


def expanded(text):
    """What a host list means."""
    names = []
    for prefix, ranges, alone in re.findall(r"([^,\[\]]*)\[([^\]]*)\]|([^,\[\]]+)", text):
        if alone:
            names.append(alone)
        for part in filter(None, ranges.split(",")):
            low, _, high = part.partition("-")
            names += [f"{prefix}{n:0{len(low)}}" for n in range(int(low), int(high or low) + 1)]
    return names


NAMES = st.from_regex(r"(n|x-|r1c)?[0-9]{1,3}|login|a0b", fullmatch=True)


@given(st.lists(NAMES, max_size=30))
def test_host_lists_mean_every_name_once(names):
    assert sorted(expanded(hostlist(names))) == sorted(set(names))


def test_host_lists_look_as_slurm_writes_them():
    assert hostlist(["n7", "n0", "n2", "n1", "n3"]) == "n[0-3,7]"
    assert hostlist(["n008", "n009", "n010"]) == "n[008-010]"
    assert hostlist(["n9", "n10"]) == "n[9-10]"
    assert hostlist(["n1", "login"]) == "n1,login"
    assert hostlist([]) == ""


@given(actions(), st.integers(0, 80))
def test_absences_are_when_a_node_holds_nothing(found, boot_s):
    table, start, end = onoff(found), 0, 1_000
    down = np.zeros((PLATFORM.node_count, end), dtype=bool)
    for node in range(5):
        own = [(time, on) for time, n, on in found if n == node]
        off_since = -(10**6) if own and own[0][1] else None
        for time, on in own:
            if not on:
                off_since = time
            else:
                down[node, max(off_since, start) : max(min(time + boot_s, end), 0)] = True
                off_since = None
        if off_since is not None:
            down[node, max(off_since, start) :] = True
    told = np.zeros_like(down)
    for since, back, node in absences(table, np.full(PLATFORM.node_count, boot_s), start, end):
        assert start <= since < back <= end
        told[node, since:back] = True
    np.testing.assert_array_equal(told, down)


@given(actions())
def test_steps_replayed_from_the_first_state_are_the_actions(found):
    table = onoff(found)
    on = first_on(table, 5)
    told = []
    for step in steps(table):
        assert all(on[node] for node in step.off)
        assert not any(on[node] for node in step.on)
        on[step.off], on[step.on] = False, True
        told += [(step.time, node, False) for node in step.off] + [(step.time, node, True) for node in step.on]
    assert sorted(told) == sorted(found)
