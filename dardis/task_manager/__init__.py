"""Task managers: each serves some jobs, asks all node managers, and decides when and where its jobs run."""

from dardis.task_manager.late.timers import LateByTimers
from dardis.task_manager.late.turns import LateByTurns
from dardis.task_manager.planned import PlannedManager
from dardis.task_manager.setups import EVERY_HOST, LATE_SETUPS, SETUPS, LateSetUp, Reach, SetUp

__all__ = [
    "EVERY_HOST", "LATE_SETUPS", "SETUPS", "LateByTimers", "LateByTurns", "LateSetUp", "PlannedManager", "Reach",
    "SetUp",
]  # fmt: skip
