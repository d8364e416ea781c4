"""Run the `dardis` command without one way to find the earliest start."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from unittest.mock import PropertyMock, patch

from dardis.cli.main import main


def _no_calls() -> AbstractContextManager[object]:
    """Ask the local pool the questions of messages, not for whole rounds."""
    from dardis.registry.dispatcher import Cluster

    return patch.object(Cluster, "direct_pool", new_callable=PropertyMock, return_value=None)


def _no_index() -> AbstractContextManager[object]:
    """Search the windows of all nodes for each job."""
    from dardis.kernels.free_capacity_index import NO_CHANGES, NO_INDEX
    from dardis.node_manager.pool_buffers import FreeCapacityIndexes

    return patch.object(FreeCapacityIndexes, "index_of", return_value=(NO_CHANGES, NO_INDEX))


WITHOUT: dict[str, Callable[[], AbstractContextManager[object]]] = {
    "nothing": nullcontext,
    "calls": _no_calls,
    "index": _no_index,
    "blocks": lambda: patch("dardis.node_manager.NodePool.answer_unread", return_value=()),
    "joint": lambda: patch("dardis.sim.overlapped_rounds.together", side_effect=list),
}
"""Ways by name, and what removes them."""

if __name__ == "__main__":
    with WITHOUT[sys.argv.pop(1)]():
        main()
