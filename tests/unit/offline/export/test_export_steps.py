"""Which nodes are down when: against plain oracles."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from kit.plan_folder import PLATFORM, actions, onoff

from offline.export.steps import absences, first_on, steps


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
