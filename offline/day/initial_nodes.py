"""Initial state of nodes, as reported or left by the previous plan."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from dardis.config.node_states import NodeStates
from dardis.model.arrays import Bools, Ints
from dardis.model.errors import InputError
from dardis.model.job import FOREVER
from dardis.model.platform import Maintenance, NodeGroup, Platform
from dardis.model.schedule import Downtime, boot_and_shutdown
from offline.folder.plan_folder import read_plan
from offline.folder.tables import utc_texts
from offline.planner.day_problem import RunningJobs


@dataclass(frozen=True)
class InitialNodes:
    """Initial state of nodes; nodes neither `closed` nor in `down` are on.

    `busy`, `closed` (nodes,): nodes with jobs when reported, and nodes without new jobs for an unknown time. `down`: at
    most a span by node, from before the beginning on; `up` is `FOREVER` if off, otherwise the boot's end. Times:
    trace's clock, s.
    """

    busy: Bools
    closed: Bools
    down: Downtime

    @classmethod
    def all_on(cls, nodes: int) -> InitialNodes:
        """State without any report."""
        nothing = np.zeros(nodes, dtype=np.bool_)
        return cls(nothing, nothing, Downtime.none())

    @property
    def is_off(self) -> Bools:
        """Whether nodes are off, (nodes,)."""
        off = np.zeros(len(self.busy), dtype=np.bool_)
        off[self.down.node[self.down.up >= FOREVER]] = True
        return off

    def soonest_up(self, platform: Platform, start: int) -> Ints:
        """Earliest up times of nodes in `down`, booted from `start` on."""
        boot_s, shutdown_s = (times[self.down.node] for times in boot_and_shutdown(platform))
        return np.asarray(np.minimum(self.down.up, np.maximum(self.down.down + shutdown_s, start) + boot_s))

    def bootable_nodes(self, platform: Platform, start: int) -> dict[int, int]:
        """Earliest up times of usable nodes off."""
        mine = self.is_off[self.down.node] & ~self.closed[self.down.node]
        soonest = self.soonest_up(platform, start)
        return dict(zip(self.down.node[mine].tolist(), soonest[mine].tolist(), strict=True))

    def join_downtime(self, switched: Downtime, start: int, soonest: dict[int, int]) -> Downtime:
        """Join new switching with earlier downtime. Never switched nodes boot at once."""
        since = {node: down for node, down, _ in self.down.rows}
        rows, stays = [], set()
        for node, down, up in switched.rows:
            was_off = down == start and node in soonest
            stays |= {node} if was_off else set()
            rows.append((node, since[node] if was_off else down, up))
        rows += [(node, down, soonest.get(node, up)) for node, down, up in self.down.rows if node not in stays]
        return Downtime.of(rows)

    def assign_jobs(self, running: RunningJobs, platform: Platform) -> tuple[RunningJobs, InitialNodes, int]:
        """Assign running jobs to plausible nodes, and count those reported off.

        Jobs move within their group: to busy nodes first, then nodes on; current nodes first. Jobs keep sharing nodes.
        Nodes with jobs are on.
        """
        used = np.unique(running.placed.nodes)
        off = self.is_off
        boots = np.zeros(len(off), dtype=np.bool_)
        boots[self.down.node] = ~off[self.down.node]
        last_choice = np.select([off, boots, self.busy, self.closed], [4, 3, 0, 2], 1)
        seat = np.arange(len(off))
        for group in np.unique(platform.group_of_node[used]).tolist():
            mine = used[platform.group_of_node[used] == group]
            nodes = np.flatnonzero(platform.group_of_node == group)
            best = nodes[np.lexsort((~np.isin(nodes, mine), last_choice[nodes]))[: len(mine)]]
            seat[mine] = np.sort(best)
        taken = seat[used]
        stays = ~np.isin(self.down.node, taken)
        down = Downtime(self.down.node[stays], self.down.down[stays], self.down.up[stays])
        moved = replace(running, placed=replace(running.placed, nodes=seat[running.placed.nodes]))
        return moved, replace(self, down=down), int(off[taken].sum())

    def without_idle_closed(self, platform: Platform, since: int, until: int) -> Platform:
        """Machine without closed idle nodes."""
        idle = tuple(np.flatnonzero(self.closed & ~self.busy).tolist())
        if not idle:
            return platform
        return replace(platform, maintenance=(*platform.maintenance, Maintenance(idle, since, until)))

    def closed_until(self, platform: Platform, start: int, end: int) -> Platform:
        """Machine with closed nodes in maintenance until `end`, and down nodes until up."""
        until = np.where(self.closed, end, start)
        until[self.down.node] = np.maximum(until[self.down.node], self.soonest_up(platform, start))
        windows = tuple(
            Maintenance(tuple(np.flatnonzero(until == edge).tolist()), start, int(edge))
            for edge in np.unique(until[until > start]).tolist()
        )
        return replace(platform, maintenance=(*platform.maintenance, *windows)) if windows else platform

    def notes(self, found_on: int = 0, held: int | None = None) -> Iterator[str]:
        """Yield notes.

        `found_on`: nodes with jobs, reported off. `held`: busy nodes by the history.
        """
        busy = int(self.busy.sum())
        if busy and held is not None and not busy <= 2 * held <= 4 * busy:
            yield f"{busy} nodes run jobs by --state, but {held} by the history: one of them may be old or incomplete"
        off, closed = int(self.is_off.sum()), int(self.closed.sum())
        booting = len(self.down.node) - off
        if off or booting:
            yield f"of {len(self.busy)} nodes {off} are off and {booting} booting when the day begins"
        if found_on:
            yield f"{found_on} nodes are off by the state, but run jobs by the history, so they count as on"
        if closed:
            yield f"{closed} nodes take no jobs (drained, down, reserved), so the plan does not use them"


def initial_nodes_of(states: NodeStates, platform: Platform, now: int, start: int) -> InitialNodes:
    """Derive the state at `start` from states at `now`, without switching.

    Down nodes have been down for at least a second.
    """
    boot_s, shutdown_s = boot_and_shutdown(platform)
    off = states.off | states.shutting_down
    node = np.flatnonzero(off | (states.booting & (now + boot_s > start)))
    up = np.where(off[node], FOREVER, now + boot_s[node])
    ends_later = states.shutting_down[node] & (shutdown_s[node] > 0)
    down = np.where(ends_later, now, now - np.maximum(shutdown_s[node], 1))
    return InitialNodes(states.busy, states.closed, Downtime(node, down, up))


def downtime_after_plan(folder: Path, platform: Platform, start: int, offset: int) -> Downtime:
    """Downtimes at `start` from a plan that ends then; `offset`: Unix minus trace time.

    Raises InputError for another machine or end.
    """
    plan = read_plan(folder)
    if [_nodes(group) for group in plan.platform.groups] != [_nodes(group) for group in platform.groups]:
        raise InputError(
            f"--after {folder}", f"has other nodes than platform {platform.name}", "a plan for this platform"
        )
    ends, wanted = utc_texts(np.array([plan.profile.end + plan.offset, start + offset]))
    if ends != wanted:
        raise InputError(f"--after {folder}", f"the plan ends at {ends}", f"{wanted}, the begin of the planned day")
    boot_s, shutdown_s = boot_and_shutdown(platform)
    found: dict[int, tuple[int, int]] = {}
    moved = plan.offset - offset
    told = plan.onoff
    for time, node, boots in zip(told.time.tolist(), told.node.tolist(), told.on.tolist(), strict=True):
        at = time + moved
        if at >= start:
            continue
        if not boots:
            found[node] = at, FOREVER
        elif (up := at + int(boot_s[node])) > start:
            found[node] = found.get(node, (at - max(int(shutdown_s[node]), 1), 0))[0], up
        else:
            found.pop(node, None)
    return Downtime.of((node, down, up) for node, (down, up) in found.items())


def _nodes(group: NodeGroup) -> tuple[str, int, dict[str, int]]:
    return group.prefix, group.count, group.resources
