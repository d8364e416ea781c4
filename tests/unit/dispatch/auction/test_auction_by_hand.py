"""AUCSCHED by hand: nodesets, bids, preferences and the printed programme of the paper."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from kit.actual import actual, asking
from kit.auctions import hand_made
from kit.central_runs import dispatch, setup_of

from dardis.config.settings import with_settings
from dardis.dispatch.auction.bids import (
    BidClass,
    PreferenceScale,
    SinglePartRequest,
    bids_of,
    nodesets,
    preference,
    runs,
    slurm_nodes,
)
from dardis.dispatch.auction.programme import alpha_exact, alpha_of_paper, choose_winners
from dardis.dispatch.auction.setups import AUCTION_SETUPS
from dardis.model.job import Part, Request
from dardis.model.platform import NodeGroup, Platform
from dardis.solver.milp import MilpBudget, maximise
from scripts.lab.kit.auction_printed import printed

FIGURE_1 = np.array([(4, 1), (8, 2), (2, 2), (4, 0), (0, 0), (4, 2), (1, 2), (2, 1), (2, 1), (2, 0), (0, 0), (4, 1)])
"""Cores and GPUs that are free on nodes 1 to 12."""


def test_the_eight_nodesets_of_figure_1():
    found = [(one.first + 1, one.last + 1, one.cores, *one.others) for one in nodesets(FIGURE_1, [(0,), (1,), (2,)])]
    assert found == [
        (1, 4, 18, 0), (6, 10, 11, 0), (12, 12, 4, 0),
        (1, 3, 14, 1), (6, 9, 9, 1), (12, 12, 4, 1),
        (2, 3, 10, 2), (6, 7, 5, 2),
    ]  # fmt: skip


def test_runs_begin_at_the_first_node_and_end_behind_the_last():
    assert runs(np.array([True, False, True, True])) == ([0, 2], [1, 4])
    assert runs(np.zeros(3, dtype=bool)) == ([], [])
    assert runs(np.ones(3, dtype=bool)) == ([0], [3])


NODE = {"cores": 8, "gpu": 2}
PLATFORM = Platform("figure 3", (NodeGroup("a", 64, NODE), NodeGroup("b", 16, NODE), NodeGroup("c", 64, NODE)))
ROUND_S, EVERYWHERE = 100, 7
LEFT, RIGHT = range(64), range(80, 144)
"""Nodes 1 to 64, and 81 to 144."""


def job_of_one_part(number, units, request, nodes):
    """A job of one part that comes at second 5."""
    part = Part(units, request, EVERYWHERE, nodes)
    job = actual(number, 5, 5, None, ROUND_S, units, request, EVERYWHERE, runtime=ROUND_S)
    return asking(job, requests=(Request((part,), ROUND_S),))


JOBS = [
    actual(1, 0, 0, None, 10_000, 16, (8, 2), 2, runtime=10_000),  # on nodes 65 to 80
    job_of_one_part(2, 512, (1, 0), 0),
    job_of_one_part(3, 64, (2, 1), 64),
    job_of_one_part(4, 64, (4, 2), 64),
    job_of_one_part(5, 128, (1, 0), 128),
]


@pytest.mark.parametrize("slurm_bids", ["off", "on"])
@pytest.mark.parametrize("alpha", ["exact", "paper"])
def test_all_four_jobs_start_at_once(slurm_bids, alpha):
    setup = with_settings(AUCTION_SETUPS["aucsched"], [f"slurm_bids={slurm_bids}", f"alpha={alpha}"])
    schedule = dispatch(PLATFORM, JOBS, setup).schedule
    assert schedule.start.tolist() == [0, 5, 5, 5, 5]
    nodes = [{*schedule.placed.of(place)[0].tolist()} for place in range(5)]
    assert nodes[0] == {*range(64, 80)}
    assert nodes[1] == nodes[4] == {*LEFT, *RIGHT}
    assert {frozenset(nodes[2]), frozenset(nodes[3])} == {frozenset(LEFT), frozenset(RIGHT)}


def test_best_fit_needs_two_rounds():
    schedule = dispatch(PLATFORM, JOBS, setup_of("easy", "node_choice=best-fit")).schedule
    assert sorted(set(schedule.start[1:].tolist())) == [5, 5 + ROUND_S]


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
    value = preference(BidClass(of), cores_only=cores_only, nodes=36, of_nodes=NODES, sets=sets, of_sets=SETS)
    assert value == pytest.approx(expected)


def test_equation_10_does_not_keep_the_order_of_priorities_and_alpha_exact_does():
    auction = hand_made([[1]], [(0, [0], 1, 0.3), (1, [0], 1, 1.0)], priorities=(11, 10))
    for alpha, value, winner in (
        (alpha_of_paper(auction.priorities, 2), 10 + 10 / 3, 1),
        (alpha_exact(auction.priorities), 11 + 0.3 / 3, 0),
    ):
        weighed = replace(auction, alpha=alpha)
        result, winners, _ = choose_winners(weighed, MilpBudget(100))
        assert result.objective == pytest.approx(value)
        assert winners == [winner]
    assert replace(auction, alpha=alpha_of_paper((11, 10), 2)).worth.round(1).tolist() == [12.0, 13.3]


APART = hand_made([[2]] * 4, [(0, [0, 1], 4, 1.0), (0, [2, 3], 4, 0.5)], priorities=(7,))
OVERLAPPING = hand_made([[2]] * 3, [(0, [0, 1], 4, 1.0), (0, [1, 2], 4, 0.5)], priorities=(7,))


def solved(auction, *as_printed):
    result, values = maximise(*printed(auction, as_printed), MilpBudget(100))
    assert result.proven
    return result.objective, values


def test_a_job_with_bids_that_overlap_can_win_none_of_them_by_equation_3_as_printed():
    assert solved(APART, 3)[0] == solved(APART)[0] == 7
    assert solved(OVERLAPPING, 3)[0] == 0
    assert solved(OVERLAPPING)[0] == 7
    assert choose_winners(OVERLAPPING, MilpBudget(100))[0].objective == 7


def test_by_equation_4_as_printed_a_shared_node_counts_twice():
    bids, nodes = 2, 3
    for as_printed, cores in (((), 4), ((4,), 3)):
        objective, values = solved(OVERLAPPING, *as_printed)
        assert objective == 7
        assert values[bids:].reshape(2, 1, nodes).sum() == cores
    assert solved(APART, 4)[0] == 7


def job_of_cores(most, units, nodes=0, *, contiguous=False):
    """A job of single cores, where each node has so many."""
    return SinglePartRequest(0, 0, Part(units, (1,), 1, nodes), 0, contiguous, nodes, units == nodes, np.array(most))


def bids(one, count=5):
    made = bids_of(one, PreferenceScale(len(one.most), 3), count, 0, contiguous=False)
    return [(str(bid.bid_class), bid.nodes.tolist()) for bid in made]


@pytest.mark.parametrize(
    ("most", "expected"),
    [
        ([1, 1, 3, 3, 1], ("B", [2, 3])),  # the first two inside hold 4
        ([1, 1, 3, 0, 3, 1, 1], ("C", [2, 4])),
        ([1, 3, 0, 3, 1], ("C", [1, 3])),
        ([3, 3, 1, 1], ("A", [0, 1])),
        ([1, 1, 3, 3], ("A", [2, 3])),
        ([3, 1, 3], ("C", [0, 2])),  # no two neighbours have them
    ],
)
def test_six_cores_on_exactly_two_nodes_where_only_two_neighbours_have_them(most, expected):
    assert bids(job_of_cores(most, 6, 2)) == [expected]


def test_as_few_nodes_as_can_be_at_both_ends_of_each_run_and_in_the_middle():
    found = bids(job_of_cores([2, 2, 2, 2, 2, 2, 0, 2, 2, 2], 4), 6)
    assert sorted(nodes for of, nodes in found if of == "A") == [[0, 1], [4, 5], [7, 8], [8, 9]]
    assert {tuple(nodes) for of, nodes in found if of == "B"} <= {(1, 2), (2, 3), (3, 4)}


def test_neighbours_only_where_a_job_asks_for_them():
    most = [2, 0, 2, 2, 0, 2]
    assert {of for of, _ in bids(job_of_cores(most, 6))} == {"C"}
    assert bids(job_of_cores(most, 6, contiguous=True)) == []


@pytest.mark.parametrize(
    ("units", "nodes", "contiguous", "expected"),
    [
        (2, 0, False, [4]),  # the least run that is enough
        (4, 0, False, [6, 7]),
        (6, 0, False, [0, 1, 2]),
        (7, 0, False, [0, 1, 2, 4]),  # all of the largest, and then of what is left the least that is enough
        (7, 0, True, None),
        (2, 2, False, [6, 7]),
        (3, 2, True, [6, 7]),
        (13, 0, False, None),
    ],
)
def test_best_fit_as_slurm_has_it(units, nodes, contiguous, expected):
    most = np.array([2, 2, 2, 0, 2, 0, 2, 2])
    found = slurm_nodes(job_of_cores(most, units, nodes, contiguous=contiguous), most)
    assert (None if found is None else found.tolist()) == expected
