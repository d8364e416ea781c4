"""Task managers: each serves some jobs, asks all node managers, and decides when and where its jobs run."""

from dardis.task_manager.late import LATE_SETUPS, LateManager, LateSetUp
from dardis.task_manager.machine import TaskManager
from dardis.task_manager.racing import RacingManager
from dardis.task_manager.setups import SETUPS, SetUp

__all__ = ["LATE_SETUPS", "SETUPS", "LateManager", "LateSetUp", "RacingManager", "SetUp", "TaskManager"]
