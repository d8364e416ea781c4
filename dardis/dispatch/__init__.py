"""Central dispatchers: a single queue with a view of all nodes."""

from typing import TYPE_CHECKING

from dardis.model.lazy_imports import found_when_used

if TYPE_CHECKING:
    from dardis.dispatch.central import CentralDispatcher
    from dardis.dispatch.replan.setups import REPLAN_SETUPS
    from dardis.dispatch.setups import CENTRAL_SETUPS, CentralSetUp, QueueSetUp
    from dardis.dispatch.solver_setups import ASKING_SETUPS, AskingSetUp

__all__ = [
    "ASKING_SETUPS", "CENTRAL_SETUPS", "REPLAN_SETUPS", "AskingSetUp", "CentralDispatcher", "CentralSetUp",
    "QueueSetUp",
]  # fmt: skip

if not TYPE_CHECKING:  # otherwise type checkers accept any name
    __getattr__ = found_when_used(__name__, {
        "solver_setups": ("ASKING_SETUPS", "AskingSetUp"),
        "central": ("CentralDispatcher",),
        "replan.setups": ("REPLAN_SETUPS",),
        "setups": ("CENTRAL_SETUPS", "CentralSetUp", "QueueSetUp"),
    })  # fmt: skip
