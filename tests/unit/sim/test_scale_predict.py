"""Predictions from rows whose costs are known, against the model that they are put into."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dardis.model.loggp import JobCost, LogGP, flat_round_ns, tree_round_ns
from dardis.sim.scale import Row
from dardis.sim.scale_predict import RANKS, STRONG, WEAK, predictions

NETWORK = LogGP(8, 1500.0, 400.0, 300.0, 600.0, 0.5)
COST = JobCost(50.0, 2000.0, 200.0, 0.0, host_ns=7000.0)
FIXED, EACH = 90.0, 48.0
"""Bytes of a flat answer, and of a node in it."""


def measured(nodes: int, ranks: int, arity: int | str = "flat") -> Row:
    """A row whose CPU time and bytes follow COST, FIXED and EACH."""
    per_rank = nodes / ranks
    answer = FIXED + EACH * per_rank if arity == "flat" else FIXED
    node_ns = COST.node_ns + COST.host_ns / per_rank
    return Row(
        nodes, ranks, ranks, 1, 1, arity, "all", 86_400, 4, "d", 1, 9, 9, 9, None, 60.0, 450.0, 1.0, 1, 1, 0.1, 0.1,
        9.0, 0.5, 0.1, 0.1, 0.1, node_ns, COST.message_ns, COST.ask_bytes, answer, None, "",
    )  # fmt: skip


ROWS = [
    measured(nodes, ranks, arity) for arity in ("flat", 8) for nodes, ranks in ((4000, 4), (20_000, 4), (20_000, 8))
]


def test_a_line_through_the_experiments_gives_back_what_they_were_made_of():
    for one in predictions(ROWS, [replace(NETWORK, ranks=2, latency_ns=9.0), NETWORK]):
        nodes = 20_000 if one.scaling == STRONG else 5000 * one.ranks
        assert (one.nodes, one.measured_nodes, one.measured_ranks, one.network_ranks) == (nodes, 20_000, 8, 8)
        if one.arity == "flat":
            cost = replace(COST, answer_bytes=FIXED + EACH * nodes / one.ranks)
            expected = flat_round_ns(NETWORK, cost, one.ranks, nodes)
        else:
            expected = tree_round_ns(NETWORK, replace(COST, answer_bytes=FIXED), one.ranks, 8, nodes)
        assert one.predicted_s_per_job == pytest.approx(expected / 1e9)


def test_every_rank_has_a_node():
    found = predictions(ROWS, [NETWORK])
    assert {one.ranks for one in found if one.scaling == STRONG} == {ranks for ranks in RANKS if ranks <= 20_000}
    assert {one.ranks for one in found if one.scaling == WEAK} == set(RANKS)


def test_experiments_of_one_size_are_taken_as_proportional():
    (one,) = [one for one in predictions([ROWS[0]], [NETWORK]) if (one.scaling, one.ranks) == (STRONG, 2)]
    cost = JobCost(50 + 7000 / 1000, 2000.0, 200.0, 2 * (FIXED + 1000 * EACH))
    assert one.predicted_s_per_job == pytest.approx(flat_round_ns(NETWORK, cost, 2, 4000) / 1e9)


@given(st.lists(st.floats(1.0, 1e6), min_size=3, max_size=3))
def test_whatever_was_measured_nothing_is_predicted_to_cost_less_than_nothing(figures):
    rows = [replace(row, node_ns=figure) for row, figure in zip(ROWS[:3], figures, strict=True)]
    assert all(one.predicted_s_per_job > 0 for one in predictions(rows, [NETWORK]))


def test_nothing_is_predicted_from_nothing():
    assert predictions(ROWS, []) == []
    assert predictions([replace(row, sample=4) for row in ROWS], [NETWORK]) == []
    assert predictions([replace(row, node_ns=None) for row in ROWS], [NETWORK]) == []
