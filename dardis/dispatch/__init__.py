"""Central dispatchers: one queue, one view of all nodes. The opponents of the distributed set-ups."""

from dardis.dispatch.central import CentralDispatcher
from dardis.dispatch.cp.setups import CP_SETUPS
from dardis.dispatch.replan.setups import REPLAN_SETUPS
from dardis.dispatch.setups import CENTRAL_SETUPS, CentralSetUp, QueueSetUp

__all__ = ["CENTRAL_SETUPS", "CP_SETUPS", "REPLAN_SETUPS", "CentralDispatcher", "CentralSetUp", "QueueSetUp"]
