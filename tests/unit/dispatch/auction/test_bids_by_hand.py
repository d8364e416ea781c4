"""Bids on a few nodes, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from dardis.dispatch.auction.bids import Asked, Class, Worth, bids_of, slurm_nodes
from dardis.dispatch.auction.clear import Alpha, BidClasses, Terms, auction_of
from dardis.dispatch.cp.problem import Problem, Waiting
from dardis.model.job import Job
from dardis.model.platform import NodeGroup, Platform
from dardis.model.shapes import Part, Request


def asked(most, units, nodes=0, *, contiguous=False):
    """A job of single cores, where each node has so many."""
    return Asked(0, 0, Part(units, (1,), 1, nodes), 0, contiguous, nodes, units == nodes, np.array(most))


def bids(one, count=5):
    made = bids_of(one, Worth(len(one.most), 3), count, 0, contiguous=False)
    return [(str(bid.of), bid.nodes.tolist()) for bid in made]


@pytest.mark.parametrize(
    ("most", "expected"),
    [
        ([1, 1, 3, 3, 1], ("B", [2, 3])),  # the first two inside hold 4
        ([1, 1, 3, 0, 3, 1, 1], ("C", [2, 4])),
        ([1, 3, 0, 3, 1], ("C", [1, 3])),
        ([3, 3, 1, 1], ("A", [0, 1])),
        ([1, 1, 3, 3], ("A", [2, 3])),
    ],
)
def test_six_cores_on_exactly_two_nodes_where_only_two_neighbours_have_them(most, expected):
    assert bids(asked(most, 6, 2)) == [expected]


def test_as_few_nodes_as_can_be_at_both_ends_of_each_run_and_in_the_middle():
    """Runs of 6 and 3 nodes of 2 cores each."""
    found = bids(asked([2, 2, 2, 2, 2, 2, 0, 2, 2, 2], 4), 6)
    assert sorted(nodes for of, nodes in found if of == "A") == [[0, 1], [4, 5], [7, 8], [8, 9]]
    assert {tuple(nodes) for of, nodes in found if of == "B"} <= {(1, 2), (2, 3), (3, 4)}


def test_neighbours_only_where_a_job_asks_for_them():
    most = [2, 0, 2, 2, 0, 2]
    assert {of for of, _ in bids(asked(most, 6))} == {"C"}
    assert bids(asked(most, 6, contiguous=True)) == []


@pytest.mark.parametrize(
    ("units", "nodes", "contiguous", "expected"),
    [
        (2, 0, False, [4]),  # the least run that is enough
        (4, 0, False, [6, 7]),
        (6, 0, False, [0, 1, 2]),
        (7, 0, False, [0, 1, 2, 4]),  # all of the largest, and then of what is left the least that is enough
        (7, 0, True, None),
        (2, 2, False, [6, 7]),
        (13, 0, False, None),
    ],
)
def test_best_fit_as_slurm_has_it(units, nodes, contiguous, expected):
    most = np.array([2, 2, 2, 0, 2, 0, 2, 2])
    found = slurm_nodes(asked(most, units, nodes, contiguous=contiguous), most)
    assert (None if found is None else found.tolist()) == expected


def test_a_bid_of_slurm_that_takes_all_that_jobs_before_it_leave_may_be_spread_otherwise():
    """The second job has 1, 1 and 2 cores beside the first, which may lose, or win elsewhere."""
    request = Request((Part(2, (1,), 1, 2),), 9)
    waiting = (
        Waiting(Job(1, 0, 0, None, 9, 2, (1,), 1, requests=(request,)), 9, {0: (0,)}),
        Waiting(Job(2, 0, 0, None, 9, 4, (1,), 1), 9),
    )
    problem = Problem(Platform("three", (NodeGroup("n", 3, {"cores": 2}),)), 0, (), waiting)
    terms = Terms(50, 5, BidClasses.ALL, True, Alpha.EXACT, 1000, 10, 20)
    first, second = (bid for bid in auction_of(problem, (0, 1), terms).bids if bid.of is Class.SLURM)
    assert (first.nodes.tolist(), second.nodes.tolist()) == ([0, 1], [0, 1, 2])
    assert (second.fixed.tolist(), second.spare, second.held) == ([[1], [1], [1]], 1, None)
