"""Predictions from rows whose costs are known, against the model that they are put into."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dardis.model.choices import Scaling
from dardis.model.loggp import JobCost, LogGP, flat_round_ns, tree_round_ns
from dardis.scale.experiment import Ground
from dardis.scale.prediction import RANKS, predictions
from dardis.scale.row import Row

NETWORK = LogGP(8, 1500.0, 400.0, 300.0, 600.0, 0.5)
GROUNDS = [Ground(None, replace(NETWORK, ranks=4, latency_ns=9.0), 8), Ground(None, NETWORK, 8, 2000.0)]
COST = JobCost(50.0, 2000.0, 200.0, 90.0, 3000.0, 7000.0)
EACH, A_BYTE, A_NODE = 48.0, 0.25, 2.5
"""Of a flat round: bytes of a node in an answer, CPU time of a byte of that, and of the task manager for a node."""
SIZES = ((4000, 4), (20_000, 4), (20_000, 8))


def cost_of(nodes: float, ranks: int, arity: int | str) -> JobCost:
    """What a round costs, exactly."""
    if arity != "flat":
        return COST
    answer = COST.answer_bytes + EACH * nodes / ranks
    message_ns, select_ns = COST.message_ns + A_BYTE * answer, COST.select_ns + A_NODE * nodes
    return replace(COST, answer_bytes=answer, message_ns=message_ns, select_ns=select_ns)


def measured(nodes: int, ranks: int, arity: int | str = "flat", reservations: int = 4) -> Row:
    """A row that says so."""
    cost = cost_of(nodes, ranks, arity)
    node_ns = cost.node_ns + cost.host_ns / (nodes / ranks)
    return Row(
        nodes, ranks, ranks, 1, 1, arity, "all", 86_400, reservations, "d", 1, 9, 1, 9, 9, None, 60.0, 450.0, 1.0, 1, 1,
        0.1, 0.1, 9.0, 0.5, 0.1, 0.1, 0.1, node_ns, cost.message_ns, cost.select_ns, cost.ask_bytes, cost.answer_bytes,
        None, "",
    )  # fmt: skip


ROWS = [measured(nodes, ranks, arity) for arity in ("flat", 8) for nodes, ranks in SIZES]


def test_lines_through_the_experiments_give_back_what_they_were_made_of():
    found = predictions(ROWS, GROUNDS)
    assert {one.arity for one in found} == {"flat", 8}
    assert {one.ranks for one in found if one.scaling is Scaling.STRONG} == {r for r in RANKS if r <= 20_000}
    assert {one.ranks for one in found if one.scaling is Scaling.WEAK} == set(RANKS)
    for one in found:
        nodes = 20_000 if one.scaling is Scaling.STRONG else 5000 * one.ranks
        assert (one.nodes, one.measured_nodes, one.measured_ranks, one.network_ranks) == (nodes, 20_000, 8, 8)
        cost = cost_of(nodes, one.ranks, one.arity)
        if one.arity == "flat":
            expected = flat_round_ns(NETWORK, cost, one.ranks, nodes)
        else:
            expected = tree_round_ns(NETWORK, cost, one.ranks, 8, nodes)
        assert one.predicted_s_per_job == pytest.approx(expected / 1e9)


def strong(rows, grounds, ranks):
    return [one for one in predictions(rows, grounds) if (one.scaling, one.ranks) == (Scaling.STRONG, ranks)]


def test_experiments_of_one_size_are_taken_as_proportional_but_for_messages():
    (one,) = strong([ROWS[0]], GROUNDS[1:], 2)
    seen = cost_of(4000, 4, "flat")
    answer = 2 * seen.answer_bytes
    message_ns = COST.message_ns + A_BYTE * answer
    assert one.message_ns == pytest.approx(message_ns)
    cost = JobCost(50 + 7000 / 1000, message_ns, 200.0, answer, seen.select_ns)
    assert one.predicted_s_per_job == pytest.approx(flat_round_ns(NETWORK, cost, 2, 4000) / 1e9)


def test_short_messages_of_a_flat_round_cost_what_they_were_measured_to_however_long_others_are():
    """Long ones that took a little less or more by chance do not promise short ones to be free."""
    for error in (0.8, 1.25):
        rows = [replace(row, message_ns=row.message_ns * error) if row.nodes > 4000 else row for row in ROWS[:3]]
        (many,) = strong(rows, GROUNDS, 20_000)
        assert many.message_ns == pytest.approx(COST.message_ns, rel=0.05)
        assert many.predicted_s_per_job > 2e-9 * 20_000 * COST.message_ns


def test_what_does_not_grow_is_a_hosts_and_not_a_nodes():
    """Measurements of a fixed cost fall a little by chance: few nodes are not promised to cost nothing."""
    rows = [replace(row, node_ns=work / (row.nodes / row.ranks))
            for row, work in zip(ROWS[3:], (7100.0, 7050.0, 7000.0), strict=True)]  # fmt: skip
    (few,), (many,) = (strong(rows, GROUNDS, ranks) for ranks in (20, 20_000))
    (cheap,) = strong([replace(row, node_ns=0.0) for row in rows], GROUNDS, 20_000)
    assert many.predicted_s_per_job > few.predicted_s_per_job
    assert many.predicted_s_per_job - cheap.predicted_s_per_job == pytest.approx(7.05e-6, rel=0.01)


def test_ranks_with_a_core_each_are_believed_rather_than_those_that_share():
    slow = replace(NETWORK, ranks=64, latency_ns=90_000.0)
    crowded = [replace(measured(nodes, 64), message_ns=90_000.0) for nodes in (4000, 20_000)]
    alone = strong(ROWS[:3], GROUNDS, 100)
    rows = [*ROWS[:2], *crowded, ROWS[2]]
    assert strong(rows, [*GROUNDS, Ground(None, slow, 8, 90_000.0)], 100) == alone
    (without,) = strong(crowded, [Ground(None, slow, 8, 90_000.0)], 100)
    assert without.predicted_s_per_job > 10 * alone[0].predicted_s_per_job
    assert without.network_ranks == 64


def test_unlike_experiments_are_not_mixed():
    more = [replace(row, reservations=256, node_ns=9 * row.node_ns) for row in ROWS[:3]]
    both = {one.reservations: one.predicted_s_per_job for one in strong([*ROWS[:3], *more], GROUNDS, 10)}
    assert both[4] == strong(ROWS[:3], GROUNDS, 10)[0].predicted_s_per_job
    assert both[256] == strong(more, GROUNDS, 10)[0].predicted_s_per_job > both[4]


@given(st.lists(st.floats(1.0, 1e6), min_size=3, max_size=3))
def test_whatever_was_measured_nothing_is_predicted_to_cost_less_than_nothing(figures):
    rows = [replace(row, node_ns=figure) for row, figure in zip(ROWS[:3], figures, strict=True)]
    assert all(one.predicted_s_per_job > 0 for one in predictions(rows, GROUNDS))


def test_nothing_is_predicted_from_nothing():
    assert predictions(ROWS, []) == []
    assert predictions(ROWS, [Ground(None, None, 8)]) == []
    assert predictions([replace(row, sample=4) for row in ROWS], GROUNDS) == []
    assert predictions([replace(row, node_ns=None) for row in ROWS], GROUNDS) == []
