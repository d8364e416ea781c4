from __future__ import annotations

from dardis.model.downtime import Downtime, boot_and_shutdown
from dardis.model.platform import NodeGroup, NodePower, Platform


def test_every_node_has_the_times_of_its_group():
    slow = NodePower(boot_s=240, shutdown_s=30)
    platform = Platform("p", (NodeGroup("a", 2, {"cores": 1}, slow), NodeGroup("b", 3, {"cores": 1})))
    boot, shutdown = boot_and_shutdown(platform)
    assert boot.tolist() == [240, 240, 0, 0, 0]
    assert shutdown.tolist() == [30, 30, 0, 0, 0]


def test_never_down():
    assert len(Downtime.none().node) == len(Downtime.none().down) == len(Downtime.none().up) == 0
