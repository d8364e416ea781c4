"""Dispatchers: names, capabilities and construction."""

from dardis.registry.builders import CENTRAL, LATE, PLANNED, Central, Late, Planned
from dardis.registry.dispatcher import Builder, Cluster, Dispatcher
from dardis.registry.names import (
    OURS,
    all_dispatchers,
    at_hand,
    dispatcher_names,
    dispatcher_origin,
    dispatchers_that,
    find_dispatcher,
    is_known,
    is_local,
    local_dispatchers,
    local_name,
    taken,
)

__all__ = [
    "CENTRAL", "LATE", "OURS", "PLANNED", "Builder", "Central", "Cluster", "Dispatcher", "Late", "Planned",
    "all_dispatchers", "at_hand", "dispatcher_names", "dispatcher_origin", "dispatchers_that", "find_dispatcher",
    "is_known", "is_local", "local_dispatchers", "local_name", "taken",
]  # fmt: skip
