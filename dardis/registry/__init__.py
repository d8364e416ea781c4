"""Dispatchers: names, capabilities and construction."""

from dardis.registry.builders import CENTRAL, LATE, PLANNED, Central, Late, Planned
from dardis.registry.dispatcher import Builder, Cluster, Dispatcher
from dardis.registry.names import (
    BUILT_IN_DISPATCHERS,
    all_dispatchers,
    dispatcher_names,
    dispatcher_origin,
    find_dispatcher,
    is_known,
    is_local,
    local_dispatchers,
    local_name,
    name_conflicts,
    names_of_capable,
    resolve_dispatcher,
)

__all__ = [
    "BUILT_IN_DISPATCHERS",
    "CENTRAL",
    "LATE",
    "PLANNED",
    "Builder",
    "Central",
    "Cluster",
    "Dispatcher",
    "Late",
    "Planned",
    "all_dispatchers",
    "dispatcher_names",
    "dispatcher_origin",
    "find_dispatcher",
    "is_known",
    "is_local",
    "local_dispatchers",
    "local_name",
    "name_conflicts",
    "names_of_capable",
    "resolve_dispatcher",
]  # fmt: skip
