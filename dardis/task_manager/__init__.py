"""Task managers: each serves some jobs, asks all node managers, and decides when and where its jobs run."""

from dardis.task_manager.late import LateManager
from dardis.task_manager.machine import TaskManager
from dardis.task_manager.racing import RacingManager
from dardis.task_manager.setups import EVERY_HOST, LATE_SETUPS, SETUPS, LateSetUp, Reach, SetUp

__all__ = [
    "EVERY_HOST", "LATE_SETUPS", "SETUPS", "LateManager", "LateSetUp", "RacingManager", "Reach", "SetUp", "TaskManager",
]  # fmt: skip
