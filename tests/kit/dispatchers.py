"""Dispatchers with set-ups of a test's own."""

from __future__ import annotations

from dardis.config.settings import AnySetUp
from dardis.dispatch import CentralSetUp
from dardis.registry import CENTRAL, LATE, PLANNED, Dispatcher
from dardis.task_manager import LateSetUp


def dispatcher_of(setup: AnySetUp) -> Dispatcher:
    """The dispatcher that has this set-up."""
    kinds = {CentralSetUp: CENTRAL, LateSetUp: LATE}
    return Dispatcher("of a test", setup, kinds.get(type(setup), PLANNED))
