"""Central dispatchers: a single queue with a view of all nodes."""

from typing import TYPE_CHECKING

from dardis.model.lazy_imports import lazy_getattr

if TYPE_CHECKING:
    from dardis.dispatch.central import CentralDispatcher
    from dardis.dispatch.replan.setups import REPLAN_SETUPS
    from dardis.dispatch.setups import CENTRAL_SETUPS, CentralSetUp, QueueSetUp
    from dardis.dispatch.solver_setups import MODEL_SETUPS, ModelSetUp

__all__ = [
    "CENTRAL_SETUPS",
    "MODEL_SETUPS",
    "REPLAN_SETUPS",
    "CentralDispatcher",
    "CentralSetUp",
    "ModelSetUp",
    "QueueSetUp",
]  # fmt: skip

if not TYPE_CHECKING:  # otherwise type checkers accept any name
    __getattr__ = lazy_getattr(__name__, {
        "solver_setups": ("MODEL_SETUPS", "ModelSetUp"),
        "central": ("CentralDispatcher",),
        "replan.setups": ("REPLAN_SETUPS",),
        "setups": ("CENTRAL_SETUPS", "CentralSetUp", "QueueSetUp"),
    })  # fmt: skip
