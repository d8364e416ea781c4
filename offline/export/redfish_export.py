"""Plans as ordered Redfish requests: power limits, shutdowns and boots.

Limit rule: nodes on at any time of a segment get idle power plus their highest planned need, rounded up. The rest of
the cap, minus the off power of other nodes, is shared in proportion to remaining ranges, rounded down.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from dardis.model.arrays import Bools, Floats, Ints
from dardis.model.platform import Platform
from dardis.model.resources import CORES
from dardis.model.step_function import StepFunction
from dardis.power.node_power import MachinePower, busy_watts
from offline.export.exporter import Export, Step, initially_on, steps
from offline.folder.plan_folder import PlanFolder
from offline.folder.tables import utc_texts

VERSION = 1
NO_LIMIT = -1
_RULE = (
    "a node that is on at any time of a segment: its idle power, the largest power of the plan's jobs on it, rounded "
    "up, and its share of the rest of the cap by its possible further power; whole W; null: no limit"
)


def node_limits(platform: Platform, on: Bools, cap_w: float, need_w: Floats) -> Ints:
    """Power limits of nodes under the machine's cap, W, (nodes,).

    `NO_LIMIT` without a cap (NaN). `need_w`: planned power above idle. A cap below total idle power gives idle power;
    below total need, need is shared.
    """
    machine = MachinePower.of_platform(platform)
    if np.isnan(cap_w):
        return np.full(platform.node_count, NO_LIMIT, dtype=np.int64)
    most_w = np.where(on, busy_watts(platform), 0.0)
    needed_w = np.where(on, np.minimum(need_w, most_w), 0.0)
    # Tolerance of 0.001 W: the cap of a full machine limits no node.
    whole_w = np.where(on, np.ceil(machine.idle_w + needed_w - 1e-3) - machine.idle_w, 0.0)
    left_w = max(cap_w - _least_watts(machine, on), 0.0)
    if left_w < whole_w.sum():
        added_w = left_w * needed_w / max(float(needed_w.sum()), 1e-9)
    else:
        more_w = np.maximum(most_w - whole_w, 0.0)
        added_w = whole_w + min((left_w - whole_w.sum()) / max(float(more_w.sum()), 1e-9), 1.0) * more_w
    return np.floor(machine.idle_w + added_w + 1e-3).astype(np.int64)


def _planned_watts(plan: PlanFolder) -> Floats:
    """Highest planned power above idle, W, (segments, nodes).

    Devices count as busy on nodes with jobs.
    """
    platform, edges, schedule = plan.platform, plan.profile.edges, plan.schedule
    machine, job = MachinePower.of_platform(platform), plan.schedule.placed.job_of
    devices_w = busy_watts(platform) - machine.core_w * platform.capacity[:, platform.kinds.index(CORES)]
    node, cores = schedule.placed.nodes.astype(np.int64), schedule.placed.units * schedule.req_cores[job]
    order = np.argsort(node, kind="stable")
    found = np.zeros((len(edges) - 1, platform.node_count))
    cuts = np.flatnonzero(np.diff(node[order], prepend=-1))
    for rows in np.split(order, cuts[1:]) if len(order) else ():
        of_node = int(node[rows[0]])
        busy = StepFunction.from_spans(schedule.start[job[rows]], schedule.finish[job[rows]], cores[rows])
        most = busy.max_over(edges[:-1], edges[1:])
        found[:, of_node] = most * machine.core_w[of_node] + (most > 0) * devices_w[of_node]
    return found


def _least_watts(machine: MachinePower, on: Bools) -> float:
    return float(np.where(on, machine.idle_w, machine.off_w).sum())


def export_redfish(plan: PlanFolder, names: list[str], *, limits_only: bool = False) -> Export:
    """Export requests as JSON, by time, in a cap-safe order.

    `limits_only`: another tool switches nodes; limits assume all on, and `dardis apply` checks the cap.
    """
    requests, below, short = [], [], []
    for time, found, held, enough in _moments(plan, all_on=limits_only):
        utc = utc_texts(np.array([time + plan.offset]))[0]
        when = {"time_utc": utc, "time_unix_s": time + plan.offset}
        asked = [(node, what) for node, what in found if not (limits_only and isinstance(what, str))]
        requests += [when | {"node": names[node]} | _request(names[node], what) for node, what in asked]
        below += [] if held else [utc]
        short += [utc] if held and not enough else []
    notes = [f"the cap is below the idle power of the nodes that are on, first at {below[0]}"] if below else []
    if short:
        notes.append(f"the cap is below the largest power of the plan's jobs on all nodes, first at {short[0]}")
    machine, busy_w = MachinePower.of_platform(plan.platform), busy_watts(plan.platform)
    head = {
        "format": "dardis-redfish",
        "version": VERSION,
        "platform": plan.platform.name,
        "begin_unix_s": plan.profile.start + plan.offset,
        "end_unix_s": plan.profile.end + plan.offset,
        "nodes": [
            {"name": name, "idle_w": idle_w, "most_w": idle_w + more_w}
            for name, idle_w, more_w in zip(names, machine.idle_w.tolist(), busy_w.tolist(), strict=True)
        ],
        "limit_rule": _RULE,
        "cap_below_idle_power_utc": below,
    }
    if limits_only:
        head["caps"] = [
            {"time_unix_s": time + plan.offset, "power_cap_w": None if math.isnan(cap_w) else cap_w}
            for time, cap_w in zip(
                plan.profile.edges.tolist(), [*plan.profile.power_cap_w.tolist(), math.nan], strict=True
            )
        ]
    top = "".join(f"{json.dumps(key)}: {json.dumps(value)},\n" for key, value in head.items())
    text = "{\n" + top + '"requests": [\n' + ",\n".join(json.dumps(request) for request in requests) + "\n]\n}\n"
    return Export(text, tuple(notes))


def _moments(plan: PlanFolder, *, all_on: bool) -> Iterator[tuple[int, list[tuple[int, str | int]], bool, bool]]:
    """Time, ordered (node, reset type or limit), and whether the cap covers idle power, and needs."""
    profile, platform = plan.profile, plan.platform
    machine = MachinePower.of_platform(platform)
    actions = {step.time: step for step in steps(plan.onoff)}
    used, needed = _used(plan, actions), _planned_watts(plan)
    on = initially_on(plan.onoff, platform.node_count)
    every = np.ones(platform.node_count, dtype=np.bool_)
    last = np.full(platform.node_count, NO_LIMIT, dtype=np.int64)
    for time in sorted({*profile.edges.tolist(), *actions}):
        step = actions.get(time, Step(time, [], []))
        on[step.off], on[step.on] = False, True
        place = int(np.searchsorted(profile.edges, time, side="right")) - 1
        # Outside the day nothing is known: limits end with the day.
        cap_w = float(profile.power_cap_w[place]) if place in used else math.nan
        busy = every if all_on else used.get(place, on)
        # A controller may refuse a limit for a node off: the limit waits until just before the boot.
        need_w = needed[place] if place in used else np.zeros(platform.node_count)
        limits = np.where(on | all_on | np.isnan(cap_w), node_limits(platform, busy, cap_w, need_w), last)
        found: list[tuple[int, str | int]] = [(node, "GracefulShutdown") for node in step.off]
        free = np.iinfo(np.int64).max
        lower = np.where(limits == NO_LIMIT, free, limits) < np.where(last == NO_LIMIT, free, last)
        for group in (lower, ~lower & (limits != last)):
            found += [(node, int(limits[node])) for node in np.flatnonzero(group).tolist()]
        found += [(node, "On") for node in step.on]
        last = limits
        if time < profile.edges[0]:  # initial state, no requests
            continue
        least_w = _least_watts(machine, busy)
        yield time, found, not cap_w < least_w, not cap_w < least_w + need_w[busy].sum()


def _used(plan: PlanFolder, actions: dict[int, Step]) -> dict[int, Bools]:
    edges = plan.profile.edges
    on = initially_on(plan.onoff, plan.platform.node_count)
    used: dict[int, Bools] = {}
    for time in sorted({*edges.tolist(), *actions}):
        step = actions.get(time, Step(time, [], []))
        on[step.off], on[step.on] = False, True
        place = int(np.searchsorted(edges, time, side="right")) - 1
        if 0 <= place < len(edges) - 1:
            used[place] = used.get(place, False) | on
    return used


def _request(name: str, what: str | int) -> dict[str, Any]:
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
