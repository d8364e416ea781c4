"""Node managers, which offer start times. A pool has the nodes of a host process."""

from typing import TYPE_CHECKING

from dardis.model.lazy_imports import lazy_getattr

if TYPE_CHECKING:
    from dardis.node_manager.pool import NodePool
    from dardis.node_manager.relay import RelayingHost

__all__ = ["NodePool", "RelayingHost"]

if not TYPE_CHECKING:  # else type checkers would accept any name
    __getattr__ = lazy_getattr(__name__, {
        "pool": ("NodePool",),
        "relay": ("RelayingHost",),
    })  # fmt: skip
