"""A plan as Redfish requests in the order they are to be made: power limits by node and time, shut-down and power on.

The rule for a limit: every node that is on at any time of a segment keeps its idle power, and what the machine's cap
leaves beyond that (and beyond what the others draw, off) is shared in proportion to what a node's busy cores add; whole
watts, rounded down. So limits change with the profile's segments, not with every switch.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from dardis.model.arrays import Bools, Ints
from dardis.model.platform import Platform
from dardis.power.nodes import MachinePower, busy_watts
from offline.export.exporter import Export
from offline.export.steps import Step, first_on, steps
from offline.folder.columns import utc_texts
from offline.folder.plan import PlanFolder

VERSION = 1
NO_LIMIT = -1
_RULE = (
    "a node that is on at any time of a segment: its idle power and its share of the rest of the cap, by what its busy "
    "cores add; whole W, rounded down; null: no limit"
)


def node_limits(platform: Platform, on: Bools, cap_w: float) -> Ints:
    """W that each node may draw under the machine's cap, shape (nodes,); `NO_LIMIT` where there is no cap (NaN).

    A cap below what they draw idle leaves each that: it cannot be held.
    """
    machine = MachinePower.of_platform(platform)
    busy_w = busy_watts(platform)
    if np.isnan(cap_w):
        return np.full(platform.node_count, NO_LIMIT, dtype=np.int64)
    spare_w = cap_w - least_watts(machine, on)
    share = float(np.clip(spare_w / max(float(busy_w[on].sum()), 1e-9), 0.0, 1.0))
    # A thousandth of a watt is rounding: the cap of a full machine limits no node.
    return np.floor(machine.idle_w + np.where(on, share * busy_w, 0.0) + 1e-3).astype(np.int64)


def least_watts(machine: MachinePower, on: Bools) -> float:
    """What the machine draws without any job."""
    return float(np.where(on, machine.idle_w, machine.off_w).sum())


def export_redfish(plan: PlanFolder, names: list[str]) -> Export:
    """One JSON object with the requests, ascending by time, and within a time in an order that keeps the cap."""
    requests, below = [], []
    for time, found, held in _moments(plan):
        utc = utc_texts(np.array([time + plan.offset]))[0]
        when = {"time_utc": utc, "time_unix_s": time + plan.offset}
        requests += [when | {"node": names[node]} | _request(names[node], what) for node, what in found]
        below += [] if held else [utc]
    notes = (f"the cap is below what the nodes that are on draw idle, first at {below[0]}",) if below else ()
    head = {
        "format": "dardis-redfish",
        "version": VERSION,
        "platform": plan.platform.name,
        "limit_rule": _RULE,
        "cap_below_idle_power_utc": below,
    }
    top = "".join(f"{json.dumps(key)}: {json.dumps(value)},\n" for key, value in head.items())
    text = "{\n" + top + '"requests": [\n' + ",\n".join(json.dumps(request) for request in requests) + "\n]\n}\n"
    return Export(text, notes)


def _moments(plan: PlanFolder) -> Iterator[tuple[int, list[tuple[int, str | int]], bool]]:
    """At each time at which anything changes: (node, reset type or limit) in order, and whether the cap can be held."""
    profile, platform = plan.profile, plan.platform
    machine = MachinePower.of_platform(platform)
    actions = {step.time: step for step in steps(plan.onoff)}
    used = _used(plan, actions)
    on = first_on(plan.onoff, platform.node_count)
    last = np.full(platform.node_count, NO_LIMIT, dtype=np.int64)
    for time in sorted({*profile.edges.tolist(), *actions}):
        step = actions.get(time, Step(time, [], []))
        on[step.off], on[step.on] = False, True
        place = int(np.searchsorted(profile.edges, time, side="right")) - 1
        # Outside of the day nothing is known: what was limited is set free at its end.
        cap_w = float(profile.power_cap_w[place]) if place in used else math.nan
        busy = used.get(place, on)
        # A controller may refuse a limit while its node is off: that waits until just before the node comes on.
        limits = np.where(on | np.isnan(cap_w), node_limits(platform, busy, cap_w), last)
        found: list[tuple[int, str | int]] = [(node, "GracefulShutdown") for node in step.off]
        free = np.iinfo(np.int64).max
        lower = np.where(limits == NO_LIMIT, free, limits) < np.where(last == NO_LIMIT, free, last)
        for group in (lower, ~lower & (limits != last)):
            found += [(node, int(limits[node])) for node in np.flatnonzero(group).tolist()]
        found += [(node, "On") for node in step.on]
        last = limits
        if time < profile.edges[0]:  # how nodes stand when the plan begins: nothing is asked of them
            continue
        yield time, found, not cap_w < least_watts(machine, busy)


def _used(plan: PlanFolder, actions: dict[int, Step]) -> dict[int, Bools]:
    """Which nodes are on at any time of each segment of the profile."""
    edges = plan.profile.edges
    on = first_on(plan.onoff, plan.platform.node_count)
    used: dict[int, Bools] = {}
    for time in sorted({*edges.tolist(), *actions}):
        step = actions.get(time, Step(time, [], []))
        on[step.off], on[step.on] = False, True
        place = int(np.searchsorted(edges, time, side="right")) - 1
        if 0 <= place < len(edges) - 1:
            used[place] = used.get(place, False) | on
    return used


def _request(name: str, what: str | int) -> dict[str, Any]:
    """The request for a reset type or a limit; a limit also as services with EnvironmentMetrics take it."""
    if isinstance(what, str):
        path = f"/redfish/v1/Systems/{name}/Actions/ComputerSystem.Reset"
        return {"method": "POST", "path": path, "body": {"ResetType": what}}
    watts = None if what == NO_LIMIT else what
    return {
        "method": "PATCH",
        "path": f"/redfish/v1/Chassis/{name}/Power",
        "body": {"PowerControl": [{"PowerLimit": {"LimitInWatts": watts, "LimitException": "LogEventOnly"}}]},
        "or": {
            "method": "PATCH",
            "path": f"/redfish/v1/Chassis/{name}/EnvironmentMetrics",
            "body": {
                "PowerLimitWatts": {"SetPoint": watts, "ControlMode": "Disabled"}
                if watts is None
                else {"SetPoint": watts, "ControlMode": "Automatic"}
            },
        },
    }
