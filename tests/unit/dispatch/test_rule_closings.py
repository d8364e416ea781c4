"""Capacity that maintenance closes for own dispatchers, against a sum at every second."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from kit.effort import examples

from dardis.dispatch.rule import _Closings
from dardis.model.platform import Maintenance, NodeGroup, Platform

MACHINE = Platform("m", (NodeGroup("a", 2, {"cores": 8, "gpu": 2}), NodeGroup("b", 1, {"cores": 4})))
windows = st.builds(
    lambda nodes, start, length, less: Maintenance(tuple(sorted(nodes)), start, start + length, less),
    st.sets(st.integers(0, 2), min_size=1), st.integers(0, 20), st.integers(1, 15),
    st.none() | st.tuples(st.integers(0, 2), st.integers(0, 1)),
)  # fmt: skip


@given(st.lists(windows, max_size=6), st.integers(0, 20), st.integers(1, 20))
@examples(2)
def test_closings_are_the_largest_sum_of_any_second(some: list[Maintenance], start: int, length: int) -> None:
    machine = replace(MACHINE, maintenance=tuple(some))
    most = np.zeros_like(machine.capacity)
    for second in range(start, start + length):
        kept = np.zeros_like(most)
        for window in some:
            if window.start <= second < window.end:
                nodes = list(window.nodes)
                kept[nodes] += machine.capacity[nodes] if window.less is None else np.array(window.less)
        most = np.maximum(most, kept)
    assert (_Closings(machine, start).until(start + length) == most).all()
