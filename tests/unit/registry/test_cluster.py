"""What task managers and switchers are made of on a cluster, and what can't be had on it."""

from dataclasses import replace
from unittest.mock import patch

import pytest

from dardis.model.errors import InputError
from dardis.model.platform import NodeGroup, NodePower, Platform
from dardis.model.target import Switching
from dardis.node_manager import NodePool
from dardis.registry import BUILT_IN_DISPATCHERS, Cluster, find_dispatcher
from dardis.task_manager import Reach
from dardis.task_manager.claims import ClaimTimeouts

POWER = NodePower(idle_w=100.0, boot_s=10, shutdown_s=5)
CLUSTER = Cluster(
    Platform("two", (NodeGroup("n", 2, {"cores": 4}, power=POWER),)), (0, 1, 2), 7, task_managers=2, reach=Reach(2)
)
SWITCHED = Cluster(CLUSTER.platform, CLUSTER.bounds, 7, switching=Switching())
PACE = ClaimTimeouts(10, 4, 20)


@pytest.mark.parametrize("name", [name for name in BUILT_IN_DISPATCHERS if BUILT_IN_DISPATCHERS[name].setup.asks_nodes])
def test_switching_is_refused_with_message_delays(name):
    assert find_dispatcher(name).turns_by_message(CLUSTER, PACE).managers
    with pytest.raises(InputError, match="a target without switching"):
        find_dispatcher(name).turns_by_message(SWITCHED, PACE)


@pytest.mark.parametrize("name", BUILT_IN_DISPATCHERS)
def test_dispatchers_with_rounds_support_overlap(name):
    dispatcher = find_dispatcher(name)
    if dispatcher.setup.rounds:
        assert dispatcher.overlapped(CLUSTER, 8).oldest(3) == 3
    else:
        with pytest.raises(InputError, match="has no rounds"):
            dispatcher.overlapped(CLUSTER, 8)


@pytest.mark.parametrize(
    ("more", "called"),
    [
        ({}, True), ({"reach": Reach(2)}, False), ({"reach": Reach(0, 4)}, False),
        ({"switching": SWITCHED.switching}, False), ({"pool": None}, False),
    ],
)  # fmt: skip
def test_a_local_pool_holds_whole_rounds_if_all_nodes_are_asked_and_nobody_is_switched(more, called):
    pool = NodePool(CLUSTER.platform, 0, 2)
    cluster = replace(CLUSTER, **({"bounds": (0, 2), "reach": Reach(), "pool": pool} | more))
    with patch("dardis.task_manager.PlannedManager") as made:
        find_dispatcher("dardis-throughput").turns(cluster)
    assert made.call_args.kwargs["pool"] is (pool if called else None)
