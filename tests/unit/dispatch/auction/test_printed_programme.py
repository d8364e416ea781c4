"""Why equations 3 and 4 are not left as AUCSCHED prints them, and what its programme knows nothing of."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from kit.auctions import hand_made

from dardis.dispatch.auction.free import Free
from dardis.dispatch.auction.programme import merged
from dardis.solver.milp import Search, maximise
from scripts.kit.auction_printed import printed

APART = hand_made([[2]] * 4, [(0, [0, 1], 4, 1.0), (0, [2, 3], 4, 0.5)], priorities=(7,))
OVERLAPPING = hand_made([[2]] * 3, [(0, [0, 1], 4, 1.0), (0, [1, 2], 4, 0.5)], priorities=(7,))


def solved(auction, *as_printed):
    result, values = maximise(*printed(auction, as_printed), Search(100))
    assert result.proven
    return result.objective, values


def test_a_job_with_bids_that_overlap_can_win_none_of_them_by_equation_3_as_printed():
    """As one of them wins, the nodes of the other are to be none, and they share a node."""
    assert solved(APART, 3)[0] == solved(APART)[0] == 7
    assert solved(OVERLAPPING, 3)[0] == 0
    assert solved(OVERLAPPING)[0] == 7
    both = merged(OVERLAPPING)
    assert maximise(both.program, both.whole, Search(100))[0].objective == 7


def test_by_equation_4_as_printed_a_shared_node_counts_twice():
    """So the winner has three cores instead of four; equation 3 as printed lets that never happen."""
    bids, nodes = 2, 3
    for as_printed, cores in (((), 4), ((4,), 3)):
        objective, values = solved(OVERLAPPING, *as_printed)
        assert objective == 7
        assert values[bids:].reshape(2, 1, nodes).sum() == cores
    assert solved(APART, 4)[0] == 7


def test_variables_are_those_of_table_2():
    program, whole = printed(hand_made([[2]] * 3, [(0, [0], 1, 1.0), (1, [1, 2], 4, 1.0)], priorities=(1, 2)))
    assert len(program.objective) == len(whole) == 2 + 2 * (2 * 3)
    assert whole.all()


def test_what_the_paper_does_not_have_is_refused():
    levels = replace(APART, free=Free((1, 2), np.repeat(APART.free.amounts, 2, axis=0)))
    uneven = replace(APART, bids=(replace(APART.bids[0], fixed=np.array([[4], [2]]), unit=(2,)),))
    no_core = replace(APART, bids=(replace(APART.bids[0], fixed=np.zeros((2, 1), dtype=np.int64), unit=(0,)),))
    for auction in (levels, uneven, no_core):
        with pytest.raises(ValueError, match="001 knows"):
            printed(auction)
