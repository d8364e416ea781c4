"""Task managers: query node managers, and decide when and where jobs run."""

from typing import TYPE_CHECKING

from dardis.model.lazy_imports import lazy_getattr

if TYPE_CHECKING:
    from dardis.task_manager.late.late_manager import LockstepLateManager
    from dardis.task_manager.late.timers import TimedLateManager
    from dardis.task_manager.planned_manager import PlannedManager
    from dardis.task_manager.setups import EVERY_HOST, LATE_SETUPS, SETUPS, LateSetUp, Reach, SetUp

__all__ = [
    "EVERY_HOST",
    "LATE_SETUPS",
    "SETUPS",
    "LateSetUp",
    "LockstepLateManager",
    "PlannedManager",
    "Reach",
    "SetUp",
    "TimedLateManager",
]  # fmt: skip

if not TYPE_CHECKING:  # or type checkers would accept any name
    __getattr__ = lazy_getattr(__name__, {
        "late.timers": ("TimedLateManager",),
        "late.late_manager": ("LockstepLateManager",),
        "planned_manager": ("PlannedManager",),
        "setups": ("EVERY_HOST", "LATE_SETUPS", "SETUPS", "LateSetUp", "Reach", "SetUp"),
    })  # fmt: skip
