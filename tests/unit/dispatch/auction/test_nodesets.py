"""Nodesets, on the machine of the paper's figure 1."""

from __future__ import annotations

import numpy as np

from dardis.dispatch.auction.nodesets import Nodeset, nodesets, runs

FIGURE_1 = np.array([(4, 1), (8, 2), (2, 2), (4, 0), (0, 0), (4, 2), (1, 2), (2, 1), (2, 1), (2, 0), (0, 0), (4, 1)])
"""Cores and GPUs that are free on nodes 1 to 12."""


def test_the_eight_nodesets_of_figure_1():
    found = [(one.first + 1, one.last + 1, one.cores, *one.others) for one in nodesets(FIGURE_1, [(0,), (1,), (2,)])]
    assert found == [
        (1, 4, 18, 0), (6, 10, 11, 0), (12, 12, 4, 0),
        (1, 3, 14, 1), (6, 9, 9, 1), (12, 12, 4, 1),
        (2, 3, 10, 2), (6, 7, 5, 2),
    ]  # fmt: skip


def test_several_other_kinds_are_asked_for_together():
    free = np.array([(1, 1, 0), (1, 1, 5), (1, 0, 5)])
    assert nodesets(free, [(1, 5)]) == [Nodeset(1, 1, 1, (1, 5))]


def test_runs_begin_at_the_first_node_and_end_behind_the_last():
    assert runs(np.array([True, False, True, True])) == ([0, 2], [1, 4])
    assert runs(np.zeros(3, dtype=bool)) == ([], [])
    assert runs(np.ones(3, dtype=bool)) == ([0], [3])
