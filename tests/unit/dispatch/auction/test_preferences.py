"""What bids are worth: equation 12 with the constants of table 3, and what α is to keep."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from kit.auctions import hand_made

from dardis.dispatch.auction.bids import Class, preference
from dardis.dispatch.auction.programme import alpha_exact, alpha_of_paper, merged
from dardis.solver.milp import Search, maximise

NODES, SETS = 143, 9
"""So that |N| + 1 is 144 and |S| + 1 is 10."""


@pytest.mark.parametrize(
    ("cores_only", "of", "expected"),
    [
        (True, "A", 1 - 0.25 * 36 / 144),
        (True, "B", 0.75 - 0.25 * 36 / 144),
        (True, "C", 0.5 - 0.25 * 36 / 144 - 0.25 * 3 / 10),
        (True, "slurm", 1.0),
        (False, "A", 1.0),
        (False, "B", 0.5),
        (False, "C", 0.5 - 0.5 * 3 / 10),
        (False, "slurm", 1.0),
    ],
)
def test_equation_12_in_every_column_of_table_3(cores_only, of, expected):
    sets = 3 if of == "C" else 1
    value = preference(Class(of), cores_only=cores_only, nodes=36, of_nodes=NODES, sets=sets, of_sets=SETS)
    assert value == pytest.approx(expected)


def test_equation_11_holds_for_jobs_of_type_1_only():
    """Of types 2 and 3 A is exactly 1, and B exactly 1/2, which it leaves out."""
    for nodes in (1, NODES):
        for sets in (2, SETS):
            a, b, c = (
                preference(of, cores_only=True, nodes=nodes, of_nodes=NODES, sets=sets, of_sets=SETS)
                for of in (Class.A, Class.B, Class.C)
            )
            assert 0 < c < 1 / 2 < b < 3 / 4 < a < 1
            a, b, c = (
                preference(of, cores_only=False, nodes=nodes, of_nodes=NODES, sets=sets, of_sets=SETS)
                for of in (Class.A, Class.B, Class.C)
            )
            assert 0 < c < b == 1 / 2 < a == 1


def test_equation_10_does_not_keep_the_order_of_priorities_and_alpha_exact_does():
    """Of two jobs on one node, 11 with preference 0.3 loses to 10 with 1.0."""
    auction = hand_made([[1]], [(0, [0], 1, 0.3), (1, [0], 1, 1.0)], priorities=(11, 10))
    for alpha, value, winner in (
        (alpha_of_paper(auction.priorities, 2), 10 + 10 / 3, 1),
        (alpha_exact(auction.priorities), 11 + 0.3 / 3, 0),
    ):
        weighed = replace(auction, alpha=alpha)
        both = merged(weighed)
        result, values = maximise(both.program, both.whole, Search(100))
        assert result.objective == pytest.approx(value)
        assert np.flatnonzero(values[:2] > 0.5).tolist() == [winner]
    assert replace(auction, alpha=alpha_of_paper((11, 10), 2)).worth.round(1).tolist() == [12.0, 13.3]
