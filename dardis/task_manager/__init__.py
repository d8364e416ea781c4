"""Task managers: each job's agent asks all node managers for start times, picks one, and confirms."""

from dardis.task_manager.machine import TaskManager
from dardis.task_manager.setups import SETUPS, SetUp

__all__ = ["SETUPS", "SetUp", "TaskManager"]
