"""Which host holds which of some nodes."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dardis.model.platform import NodeGroup, Platform
from dardis.task_manager.layout import layout_of


@given(st.lists(st.integers(1, 5), min_size=1, max_size=6), st.data())
def test_shares_are_the_nodes_by_host(sizes, data):
    bounds = (0, *np.cumsum(sizes).tolist())
    layout = layout_of(Platform("p", (NodeGroup("n", bounds[-1], {"cores": 1}),)), bounds, None)
    nodes = np.array(sorted(data.draw(st.sets(st.integers(0, bounds[-1] - 1)))), dtype=np.int64)
    shares = {host: nodes[share].tolist() for host, share in layout.shares(nodes)}
    expected: dict[int, list[int]] = {}
    for node, host in zip(nodes.tolist(), layout.host_of(nodes).tolist(), strict=True):
        expected.setdefault(host, []).append(node)
    assert shares == expected
    assert list(shares) == list(expected)
