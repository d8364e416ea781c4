"""Central dispatchers: one queue, one view of all nodes. The opponents of the distributed set-ups."""

from typing import Final

from dardis.dispatch.auction.setups import AUCTION_SETUPS
from dardis.dispatch.central import CentralDispatcher
from dardis.dispatch.cp.setups import CP_SETUPS, AskingSetUp
from dardis.dispatch.replan.setups import REPLAN_SETUPS
from dardis.dispatch.setups import CENTRAL_SETUPS, CentralSetUp, QueueSetUp

__all__ = [
    "ASKING_SETUPS", "CENTRAL_SETUPS", "REPLAN_SETUPS", "AskingSetUp", "CentralDispatcher", "CentralSetUp",
    "QueueSetUp",
]  # fmt: skip

ASKING_SETUPS: Final[dict[str, AskingSetUp]] = {**CP_SETUPS, **AUCTION_SETUPS}
"""Those that ask a model for each decision."""
