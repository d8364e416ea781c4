"""Node managers: each knows its node's future and offers start times. A pool is the nodes of one host process."""

from typing import TYPE_CHECKING

from dardis.model.lazy_imports import found_when_used

if TYPE_CHECKING:
    from dardis.node_manager.pool import NodePool
    from dardis.node_manager.relay import RelayingHost

__all__ = ["NodePool", "RelayingHost"]

if not TYPE_CHECKING:  # else type checkers would take any name for one
    __getattr__ = found_when_used(__name__, {
        "pool": ("NodePool",),
        "relay": ("RelayingHost",),
    })  # fmt: skip
