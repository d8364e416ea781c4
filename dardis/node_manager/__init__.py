"""Node managers: each knows its node's future and offers start times. A pool is the nodes of one host process."""

from dardis.node_manager.pool import NodePool
from dardis.node_manager.relay import RelayingHost

__all__ = ["NodePool", "RelayingHost"]
