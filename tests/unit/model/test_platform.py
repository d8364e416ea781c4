import json

import numpy as np
import pytest
from hypothesis import given
from kit.machine import platforms

from dardis.model.platform import Maintenance, NodeGroup, NodePower, Platform
from dardis.model.platform_dict import platform_from_dict, platform_to_dict

EURORA = Platform(
    "eurora",
    (NodeGroup("g", 2, {"cores": 16, "gpu": 2}), NodeGroup("m", 3, {"memory": 8, "cores": 12, "mic": 1})),
    partitions={"gpus": (0,)},
    maintenance=(Maintenance((1, 4), 10, 20),),
)


def test_kinds_are_cores_then_as_declared():
    assert EURORA.kinds == ("cores", "gpu", "memory", "mic")
    assert Platform("p", (NodeGroup("n", 1, {"gpu": 1}),)).kinds == ("cores", "gpu")


def test_nodes_are_numbered_group_by_group():
    assert EURORA.node_count == 5
    assert EURORA.group_of_node.tolist() == [0, 0, 1, 1, 1]
    assert [EURORA.node_name(node) for node in range(5)] == ["g0", "g1", "m0", "m1", "m2"]
    assert EURORA.all_groups == 0b11


def test_capacities():
    assert EURORA.group_capacity.tolist() == [[16, 2, 0, 0], [12, 0, 8, 1]]
    assert EURORA.capacity.shape == (5, 4)
    assert (EURORA.capacity[4] == EURORA.group_capacity[1]).all()
    assert EURORA.cores == 2 * 16 + 3 * 12
    assert EURORA.describe() == "2 nodes × (16 cores, 2 gpu) + 3 nodes × (8 MiB memory, 12 cores, 1 mic)"


@given(platforms())
def test_every_node_is_its_groups(platform):
    assert len(platform.capacity) == platform.node_count
    assert (np.diff(platform.group_of_node) >= 0).all()
    for node in range(platform.node_count):
        group = platform.groups[platform.group_of_node[node]]
        assert platform.capacity[node].tolist() == [group.resources.get(kind, 0) for kind in platform.kinds]


@given(platforms())
def test_a_platform_survives_json(platform):
    assert platform_from_dict(json.loads(json.dumps(platform_to_dict(platform)))) == platform


def test_every_field_survives_json():
    full = Platform(
        "p", (NodeGroup("n", 1, {"cores": 1}, NodePower(1.0, 2.0, 3.0, 4, 5.0, 6, 7.0), always_on=True),),
        EURORA.partitions, EURORA.maintenance, "CHF", 0.5,
    )  # fmt: skip
    assert platform_from_dict(json.loads(json.dumps(platform_to_dict(full)))) == full


@pytest.mark.parametrize("data", [{}, {"groups": 3}, {"groups": [{"power": 7}]}])
def test_what_is_no_platform_is_refused(data):
    with pytest.raises(ValueError, match="no description of a platform"):
        platform_from_dict(data)
