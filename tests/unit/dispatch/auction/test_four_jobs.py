"""The example of section 5 (figures 3 to 5): four jobs that fit side by side, on 144 nodes of which 16 are busy."""

from __future__ import annotations

import pytest
from kit.actual import actual, asking
from kit.central import dispatch, setup_of

from dardis.config.settings import with_settings
from dardis.dispatch.auction.setups import AUCTION_SETUPS
from dardis.model.platform import NodeGroup, Platform
from dardis.model.shapes import Part, Request

NODE = {"cores": 8, "gpu": 2}
PLATFORM = Platform("figure 3", (NodeGroup("a", 64, NODE), NodeGroup("b", 16, NODE), NodeGroup("c", 64, NODE)))
ROUND_S, EVERYWHERE = 100, 7
LEFT, RIGHT = range(64), range(80, 144)
"""Nodes 1 to 64, and 81 to 144."""


def asks(number, units, request, nodes):
    """A job of one part that comes at second 5."""
    part = Part(units, request, EVERYWHERE, nodes)
    job = actual(number, 5, 5, None, ROUND_S, units, request, EVERYWHERE, runtime=ROUND_S)
    return asking(job, requests=(Request((part,), ROUND_S),))


JOBS = [
    actual(1, 0, 0, None, 10_000, 16, (8, 2), 2, runtime=10_000),  # on nodes 65 to 80
    asks(2, 512, (1, 0), 0),
    asks(3, 64, (2, 1), 64),
    asks(4, 64, (4, 2), 64),
    asks(5, 128, (1, 0), 128),
]


@pytest.mark.parametrize("slurm_bids", ["off", "on"])
@pytest.mark.parametrize("alpha", ["exact", "paper"])
def test_all_four_start_at_once(slurm_bids, alpha):
    setup = with_settings(AUCTION_SETUPS["aucsched"], [f"slurm_bids={slurm_bids}", f"alpha={alpha}"])
    schedule = dispatch(PLATFORM, JOBS, setup).schedule
    assert schedule.start.tolist() == [0, 5, 5, 5, 5]
    nodes = [{*schedule.placed.of(place)[0].tolist()} for place in range(5)]
    assert nodes[0] == {*range(64, 80)}
    assert nodes[1] == nodes[4] == {*LEFT, *RIGHT}
    assert {frozenset(nodes[2]), frozenset(nodes[3])} == {frozenset(LEFT), frozenset(RIGHT)}


def test_by_best_fit_they_take_two_rounds():
    schedule = dispatch(PLATFORM, JOBS, setup_of("easy", "node_choice=best-fit")).schedule
    assert sorted(set(schedule.start[1:].tolist())) == [5, 5 + ROUND_S]
