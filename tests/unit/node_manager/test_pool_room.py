"""What a pool keeps from one question to the next: room for the longest profile, and for answers about one job."""

import numpy as np

from dardis.kernels.placer import FIRST_LONGEST
from dardis.model.choices import NodeChoice
from dardis.model.codes import NODE_CHOICES
from dardis.model.platform import NodeGroup, Platform
from dardis.node_manager.state import PoolState
from dardis.wire.messages import Seek

ONE = np.ones(1, dtype=np.int64)
NODES = 40


def pool() -> PoolState:
    return PoolState(Platform("m", (NodeGroup("a", NODES, {"cores": 1}),)), 0, NODES, None)


def seek(state: PoolState, job: int, units: int):
    question = Seek(job, 1, 0, 60, 10, units, 1, ONE, NODE_CHOICES[NodeChoice.FIRST_FIT], True)
    return state.seek(question, 1, 0)


def test_there_is_always_room_for_the_longest_profile():
    state = pool()
    node = np.zeros(1, dtype=np.int64)
    for turn in range(2 * FIRST_LONGEST):
        assert state.reserve(node, ONE, ONE, 10 * turn + 1, 10 * turn + 5, 0)
        assert len(state._scratch_as_long().time) >= state.profiles.size.max()
    assert state.profiles.size.max() > 2 * FIRST_LONGEST


def test_what_one_job_got_stays_when_others_are_asked_for():
    state = pool()
    start, nodes, units, _ = seek(state, 1, 3)
    seek(state, 2, 2)
    seek(state, 4, NODES - 5)
    again = seek(state, 3, NODES)
    assert (start, nodes.tolist(), units.tolist()) == (0, [0, 1, 2], [1, 1, 1])
    assert (again[0], again[1].tolist()) == (10, list(range(NODES)))
