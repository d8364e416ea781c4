"""Questions that make no sense are refused before a kernel looks where they point."""

from dataclasses import replace

import numpy as np
import pytest
from kit.asks import ask_for

from dardis.model.errors import ProtocolError
from dardis.model.platform import NodeGroup, Platform
from dardis.node_manager import NodePool
from dardis.wire import messages as say


def ints(*values):
    return np.array(values, dtype=np.int64)


ASK = ask_for()
SEEK = say.Seek(1, 1, 0, 60, 10, 1, 1, ints(1), 0, False)
IMPROVE = say.Improve(ints(1), ints(2), ints(0), ints(4), ints(1), ints(1), ints(1).reshape(1, 1), 0, False)
BIND = say.Bind(ints(1, 0, 10, 1, 1, 99, 0, 1).reshape(1, 8), -1, 0, False, 0, False, False, False)


@pytest.fixture
def pool():
    return NodePool(Platform("m", (NodeGroup("n", 3, {"cores": 4}),)), 0, 3)


def asked(column, value):
    return replace(ASK, **{column: value})


@pytest.mark.parametrize(
    "message",
    [
        *(asked(column, ints(wrong)) for column in ("units", "walltime") for wrong in (0, -5, -(2**63))),
        *(asked(column, ints(1, 1)) for column in ("job", "first", "quota", "groups")),
        asked("request", ints(1, 1).reshape(1, 2)),
        asked("request", ints(-1).reshape(1, 1)),
        replace(ASK, want=say.CANDIDATES, start=ints()),
        replace(ASK, sample_offset=ints(0, 3), sample=ints(0, 1)),
        replace(ASK, sample_offset=ints(0, 2), sample=ints(0, 3)),
        replace(asked("job", ints(1, 2)), needed=ints(1)),
        replace(ASK, grain=0),
        *(replace(SEEK, **{field: wrong}) for field in ("units", "walltime", "span") for wrong in (0, -1)),
        replace(SEEK, request=ints(-1)),
        replace(SEEK, request=ints(1, 1)),
        replace(IMPROVE, units=ints(0)),
        replace(IMPROVE, job=ints(1, 2)),
        IMPROVE,
        replace(BIND, jobs=ints(1, 0, -10, 1, 1, 99, 0, 1).reshape(1, 8)),
        replace(BIND, jobs=ints(1, 0, 10, -5, 1, 99, 0, 1).reshape(1, 8)),
        replace(BIND, jobs=ints(1, 0, 10, 1, 1, 99, 0, -1).reshape(1, 8)),
        replace(BIND, jobs=ints(1, 0, 10).reshape(1, 3)),
        replace(BIND, dropped=5),
    ],
)
def test_it_is_refused(pool, message):
    with pytest.raises(ProtocolError):
        pool.handle(message, 0)


@pytest.mark.parametrize("message", [ASK, SEEK, BIND], ids=["ask", "seek", "bind"])
def test_what_makes_sense_is_answered(pool, message):
    assert pool.handle(message, 0)
