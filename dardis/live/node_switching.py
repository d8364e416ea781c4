"""Switches idle nodes of a live service off, and on again for waiting jobs and reserves. Pure.

Only nodes on are open. A node is off (on) once its program has ended and its host is gone (reports); a node that does
not return in time is down.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

import numpy as np

from dardis.config.target_file import SwitchingTable, switching_of
from dardis.config.toml_file import checked_json
from dardis.live.gateway_orders import SwitchNodes
from dardis.live.machine import LiveMachine
from dardis.live.power_cap import joined_steps
from dardis.model.addresses import FIRST_HOST
from dardis.model.arrays import Bools, Ints
from dardis.model.errors import InputError
from dardis.model.job import FOREVER
from dardis.model.step_function import ZERO, StepFunction
from dardis.model.target import Switching

STATES, RULE = "node states", "switching"
"""Names in the journal."""
HOUR_S: Final = 3600
DAY_S: Final = 86_400
RETRY_S: Final = 3600
"""After a node's failed shutdown, s."""
PAUSE_S: Final = 60
"""Of all boots after a failed one, s."""
SEARCHED: Final = 500
"""Waiting jobs that may boot nodes."""


class NodeState(StrEnum):
    """State of a node that may be switched."""

    ON = "on"
    SHUTTING_DOWN = "shutting down"
    OFF = "off"
    BOOTING = "booting"
    DOWN = "down"


@dataclass(frozen=True, slots=True)
class SwitchSettings:
    """How the service switches nodes. `limit_s`: longest shutdown and boot."""

    has_programs: bool = False
    spares: int = 0
    """Idle nodes of each group that stay on, without a plan."""
    idle_s: int = 600
    limit_s: int = 600


@dataclass(frozen=True, slots=True)
class SwitchRule:
    """Plan's switching, with times in Unix s, as a table of target.json."""

    table: Mapping[str, Any]
    source: str = ""

    def as_dict(self) -> dict[str, Any]:
        """As JSON values."""
        return {"table": self.table, "source": self.source}

    @classmethod
    def from_dict(cls, told: Mapping[str, Any]) -> SwitchRule:
        """From JSON values, unchecked."""
        if unknown := sorted(told.keys() - {"table", "source"}):
            raise InputError(RULE, f"unknown key {unknown[0]!r}", "table, source")
        return cls(told["table"], str(told.get("source", "")))

    def after(self, earlier: SwitchRule | None, now: int) -> SwitchRule:
        """This rule, preceded by the steps of an earlier one from now on."""
        if earlier is None:
            return self
        groups = {
            prefix: {
                name: list(joined_steps(earlier.table["groups"].get(prefix, {}).get(name, ()), steps, now))
                for name, steps in group.items() if steps
            }
            for prefix, group in self.table["groups"].items()
        }  # fmt: skip
        return replace(self, table={**self.table, "groups": groups})

    def switching(self, machine: LiveMachine) -> Switching:
        """Rule for a machine. Raises InputError."""
        place = Path(self.source or RULE)
        return switching_of(place, checked_json(place, json.dumps(self.table), SwitchingTable), machine.platform)


@dataclass(slots=True)
class _Node:
    name: str
    group: int
    state: NodeState = NodeState.ON
    idle_since: int | None = None
    limit: int = FOREVER
    """Of a booting node's return, Unix s."""
    is_program_over: bool = False
    why: str = ""
    not_before: int = 0
    """Earliest next shutdown, Unix s."""
    shutdowns: deque[int] = field(default_factory=deque)


@dataclass(frozen=True, slots=True)
class SeenNodes:
    """Nodes by number: free resources (nodes, kinds), and use."""

    free: Ints
    idle: Sequence[bool]
    """Without jobs, reachable, and not drained."""
    open: Sequence[bool]
    """Reachable and not drained."""
    drained: Sequence[bool]


@dataclass(frozen=True, slots=True)
class WaitingNeed:
    """Waiting job: nodes, request per node, walltime in s, and mW of the cap."""

    nodes: int
    request: tuple[int, ...]
    walltime: int
    mw: int


class NodeSwitching:
    """States of all nodes, and the decisions to switch."""

    def __init__(
        self, machine: LiveMachine, settings: SwitchSettings, rule: SwitchRule | None = None,
        states: Mapping[str, str] | None = None, switching: Container[str] = (),
    ) -> None:  # fmt: skip
        """`states`: of nodes not on, from the journal; `switching`: nodes whose programs run.

        Raises InputError for a rule of another machine. The service's host stays on. Only programs tell the state of
        nodes without host. Without programs all nodes are on.
        """
        self._machine, self.settings, self.rule = machine, settings, rule
        self._switching = None if rule is None else rule.switching(machine)
        groups = machine.platform.group_of_node.tolist()
        self._nodes = [_Node(name, group) for name, group in zip(machine.names, groups, strict=True)]
        self._by_name = {node.name: node for node in self._nodes}
        own, kinds = machine.hosts[FIRST_HOST], machine.platform.groups
        hosts = [machine.host(node.name) or "" for node in self._nodes]
        self._is_host = [len(machine.hosts) > 1 and len(machine.nodes(host)) == 1 for host in hosts]
        self._fixed = [
            (is_host and host == own) or kinds[node.group].always_on
            for node, host, is_host in zip(self._nodes, hosts, self._is_host, strict=True)
        ]
        self._boot_s = [0 if group.power is None else group.power.boot_s for group in kinds]
        self._boots_after = 0
        self._is_news = False
        self._changed = bool(states) and not settings.has_programs
        for name, state in (states or {}).items():
            if name in self._by_name and settings.has_programs:
                self._by_name[name].state = NodeState(state)
        self._resumes = [
            node for node in self._nodes
            if node.state in (NodeState.SHUTTING_DOWN, NodeState.BOOTING) and node.name not in switching
        ]  # fmt: skip

    # ------------------------------------------------------------------------------------------------------------------

    def set_rule(self, rule: SwitchRule | None, now: int) -> None:
        """Follow a plan, or none. Raises InputError for a plan of another machine, or without programs."""
        if rule is not None and not self.settings.has_programs:
            found = "the service has no --off-program and --on-program"
            raise InputError(RULE, found, "dardis serve with both")
        if rule is not None:
            rule.switching(self._machine)
            rule = rule.after(self.rule, now)
        self._switching = None if rule is None else rule.switching(self._machine)
        self.rule = rule

    def planned_on(self, now: int, until: int) -> list[tuple[int, int]]:
        """Least nodes kept on by the plan, in steps of Unix s from now; empty: no plan."""
        if self._switching is None:
            return []
        floors = self._switching.floors.values()
        times = sorted({now, *(int(t) for of in floors for t in of.times if now < t < until)})
        return [(time, sum(int(of.at(time)) for of in floors)) for time in times]

    def keep_on(self, names: Iterable[str]) -> None:
        """Treat nodes with running jobs as on."""
        for name in names:
            if (node := self._by_name.get(name)) is not None and node.state is not NodeState.ON:
                self._set(node, NodeState.ON)
        self._resumes = [node for node in self._resumes if node.state is not NodeState.ON]

    def state(self, name: str) -> NodeState:
        """Node's state."""
        return self._by_name[name].state

    def is_switched(self, host: str) -> bool:
        """Whether a host is off, or on its way."""
        states = {self._by_name[name].state for name in self._machine.nodes(host)}
        return states.isdisjoint({NodeState.ON, NodeState.DOWN})

    def why(self, name: str) -> str:
        """Why a node is down, or did not go off; empty: unknown or neither."""
        return self._by_name[name].why

    @property
    def closed(self) -> set[str]:
        """Names of nodes that are not on."""
        return {node.name for node in self._nodes if node.state is not NodeState.ON}

    @property
    def off(self) -> set[str]:
        """Names of nodes off."""
        return {node.name for node in self._nodes if node.state is NodeState.OFF}

    @property
    def switchable(self) -> list[str]:
        """Names of nodes that may be off."""
        may = self.settings.has_programs
        return [node.name for node, fixed in zip(self._nodes, self._fixed, strict=True) if may and not fixed]

    def saved_mw(self) -> int:
        """Idle power that nodes off do not take, mW."""
        idle_mw, off_mw = self._machine.power.idle_mw, self._machine.power.off_mw
        return sum(int(idle_mw[n] - off_mw[n]) for n, node in enumerate(self._nodes) if node.state is NodeState.OFF)

    def take_changed_states(self) -> str | None:
        """States of nodes not on, as journal text, if changed since the last call."""
        if not self._changed:
            return None
        self._changed = False
        return json.dumps({node.name: node.state for node in self._nodes if node.state is not NodeState.ON})

    # ------------------------------------------------------------------------------------------------------------------

    def on_program_end(self, names: Iterable[str], *, on: bool, error: str, now: int) -> None:
        """Handle a program's end; `error` is empty after success."""
        for name in names:
            node = self._by_name.get(name)
            if node is None or node.state is not (NodeState.BOOTING if on else NodeState.SHUTTING_DOWN):
                continue
            if not error:
                node.is_program_over = True
            elif on:
                self._boots_after = now + PAUSE_S
                self._set(node, NodeState.DOWN, error)
            else:
                node.not_before = now + RETRY_S
                self._set(node, NodeState.ON, error)

    def resume(self, name: str) -> None:
        """Treat a node that is down as off, so that it boots again."""
        if (node := self._by_name.get(name)) is None:
            return
        node.not_before, self._boots_after = 0, 0
        if node.state is NodeState.DOWN:
            self._set(node, NodeState.OFF)
        elif node.state is NodeState.ON:
            node.why = ""

    def _set(self, node: _Node, state: NodeState, why: str = "") -> None:
        node.state, node.why, node.is_program_over, node.idle_since = state, why, False, None
        node.limit = FOREVER
        self._changed = self._is_news = True

    def update(self, reachable: Sequence[bool], now: int) -> bool:
        """Handle hosts that came or went, and missed limits.

        Return whether a node's state has changed since the last call.
        """
        for node, is_there, has_host in zip(self._nodes, reachable, self._is_host, strict=True):
            if node.state is NodeState.SHUTTING_DOWN and node.is_program_over and not (has_host and is_there):
                self._set(node, NodeState.OFF)
            elif node.state is NodeState.BOOTING and node.is_program_over and is_there:
                self._set(node, NodeState.ON)
            elif node.state is NodeState.BOOTING and now >= node.limit:
                self._set(node, NodeState.DOWN, f"it did not return within {self.settings.limit_s} s")
            elif node.state is NodeState.SHUTTING_DOWN and now >= node.limit:
                node.not_before = now + RETRY_S
                self._set(node, NodeState.ON, f"it was not off within {self.settings.limit_s} s")
            elif node.state in (NodeState.DOWN, NodeState.OFF) and has_host and is_there:
                self._set(node, NodeState.ON)  # it is back after all, or somebody switched it on
            elif node.state in (NodeState.SHUTTING_DOWN, NodeState.BOOTING) and node.limit == FOREVER:
                node.limit = now + self.settings.limit_s  # its program runs since before a restart
        is_news, self._is_news = self._is_news, False
        return is_news

    # ------------------------------------------------------------------------------------------------------------------

    def decide(
        self, seen: SeenNodes, waiting: Iterable[WaitingNeed], left_mw: Sequence[tuple[int, int]], now: int
    ) -> list[SwitchNodes]:  # fmt: skip
        """Nodes to switch now. `left_mw`: rest of a power cap, in steps of Unix s; empty: no limit."""
        if not self.settings.has_programs:
            return []
        orders = []
        if self._resumes:  # their programs run again after a restart
            again, self._resumes = self._resumes, []
            for on, state in ((False, NodeState.SHUTTING_DOWN), (True, NodeState.BOOTING)):
                if some := [node for node in again if node.state is state]:
                    orders.append(self._order(some, now, on=on))
        wanted = np.zeros(len(self._nodes), dtype=np.bool_)
        if not (any(seen.idle) or any(node.state is NodeState.OFF for node in self._nodes)):
            waiting = ()  # they can neither use nor keep a node
        boots, are_capped = self._for_jobs(seen, waiting, wanted, left_mw, now)
        if not are_capped:
            soon = [left for time, left in left_mw if time < now + HOUR_S]
            boots += self._for_reserves(seen, boots, min(soon, default=None), now)
        if boots and now >= self._boots_after:
            orders.append(self._order([self._nodes[n] for n in sorted(boots)], now, on=True))
        if some := self._unneeded(seen, wanted, left_mw, now, are_capped=are_capped):
            orders.append(self._order(some, now, on=False))
        self._is_news = False  # the caller has the orders
        return orders

    def _order(self, nodes: Sequence[_Node], now: int, *, on: bool) -> SwitchNodes:
        for node in nodes:
            self._set(node, NodeState.BOOTING if on else NodeState.SHUTTING_DOWN)
            node.limit = now + self.settings.limit_s
            if not on:
                node.shutdowns.append(now)
        return SwitchNodes(tuple(node.name for node in nodes), on)

    def _for_jobs(
        self, seen: SeenNodes, waiting: Iterable[WaitingNeed], wanted: Bools, left_mw: Sequence[tuple[int, int]],
        now: int,
    ) -> tuple[list[int], bool]:  # fmt: skip
        """Nodes to boot for jobs without room, and whether the cap delays jobs.

        Marks nodes that jobs may use.
        """
        states = [node.state for node in self._nodes]
        capacity = self._machine.platform.capacity
        usable = ~np.array(seen.drained, dtype=np.bool_)
        comes = np.array([state is NodeState.BOOTING for state in states]) & usable
        is_off = np.array([state is NodeState.OFF for state in states]) & usable
        are_capped = False
        free = np.where(comes[:, None], capacity, seen.free)
        free[~(comes | np.array(seen.open, dtype=np.bool_))] = -1
        free[is_off] = capacity[is_off]
        boot_mw = self._machine.power.idle_mw - self._machine.power.off_mw
        boots, spent = list[int](), 0
        for _, job in zip(range(SEARCHED), waiting, strict=False):
            request = np.array(job.request, dtype=np.int64)
            fits = np.flatnonzero((free >= request).all(axis=1))
            on_first = fits[np.argsort(is_off[fits], kind="stable")][: job.nodes]
            if len(on_first) < job.nodes:
                continue
            new = [int(node) for node in on_first if is_off[node]]
            cost = int(boot_mw[new].sum()) + job.mw
            if any(spent + cost > left for time, left in left_mw if time < now + job.walltime):
                are_capped = True
                continue
            spent += cost
            free[on_first] -= request
            wanted[on_first] = True
            is_off[new] = False
            boots += new
        return boots, are_capped

    def _for_reserves(self, seen: SeenNodes, boots: Sequence[int], left_mw: int | None, now: int) -> list[int]:
        found: list[int] = []
        boot_mw = self._machine.power.idle_mw - self._machine.power.off_mw
        left = None if left_mw is None else left_mw - int(boot_mw[[*boots]].sum())
        for group in range(len(self._machine.platform.groups)):
            mine = [n for n, node in enumerate(self._nodes) if node.group == group]
            off = [n for n in mine if self._nodes[n].state is NodeState.OFF and n not in boots and not seen.drained[n]]
            spares, floor = self._least(group, now)
            on = sum(self._nodes[n].state in (NodeState.ON, NodeState.BOOTING) for n in mine) + len({*mine} & {*boots})
            idle = sum(seen.idle[n] and self._nodes[n].state is NodeState.ON for n in mine)
            idle += sum(self._nodes[n].state is NodeState.BOOTING for n in mine)
            for n in off[: max(spares - idle, floor - on, 0)]:
                cost = int(boot_mw[n])
                if left is not None and cost > left:
                    break
                left = None if left is None else left - cost
                found.append(n)
        return found

    def _least(self, group: int, now: int) -> tuple[int, int]:
        if self._switching is None:
            return self.settings.spares, 0
        if group not in self._switching.spares and group not in self._switching.floors:
            return len(self._nodes), len(self._nodes)  # a group that the plan does not switch
        spares, floors = (
            _most_until(of.get(group, ZERO), now, self._boot_s[group])
            for of in (self._switching.spares, self._switching.floors)
        )
        return spares, floors

    def _unneeded(
        self, seen: SeenNodes, wanted: Bools, left_mw: Sequence[tuple[int, int]], now: int, *, are_capped: bool
    ) -> list[_Node]:  # fmt: skip
        """Idle nodes to switch off, without reserves, unless the cap delays jobs or is exceeded."""
        idle_s = self.settings.idle_s if self._switching is None else self._switching.idle_s
        exceeds = bool(left_mw) and left_mw[0][1] < 0
        idle_s = 0 if exceeds else idle_s
        most = FOREVER if self._switching is None else self._switching.most_cycles_per_day
        found: list[_Node] = []
        for group in range(len(self._machine.platform.groups)):
            mine = [(n, node) for n, node in enumerate(self._nodes) if node.group == group]
            spares, floor = self._least(group, now)
            idle = [(n, node) for n, node in mine if node.state is NodeState.ON and seen.idle[n]]
            is_on = sum(node.state in (NodeState.ON, NodeState.BOOTING) for _, node in mine)
            may = len(idle) if are_capped or exceeds else max(min(len(idle) - spares, is_on - floor), 0)
            for n, node in mine:
                if node.state is not NodeState.ON or not seen.idle[n] or wanted[n]:
                    node.idle_since = None
                elif node.idle_since is None:
                    node.idle_since = now
            for n, node in reversed(idle):
                while node.shutdowns and node.shutdowns[0] <= now - DAY_S:
                    node.shutdowns.popleft()
                is_long = node.idle_since is not None and node.idle_since + idle_s <= now
                if may and is_long and not self._fixed[n] and now >= node.not_before and len(node.shutdowns) < most:
                    may -= 1
                    found.append(node)
        return found[::-1]

    def wake(self, now: int) -> int:
        """As `LiveDecider.wake`."""
        if not self.settings.has_programs:
            return FOREVER
        idle_s = self.settings.idle_s if self._switching is None else self._switching.idle_s
        times = [self._boots_after, *(node.limit for node in self._nodes)]
        times += [max(node.idle_since + idle_s, node.not_before) for node in self._nodes if node.idle_since is not None]
        for of in (self._switching.spares, self._switching.floors) if self._switching is not None else ():
            for group, function in of.items():
                edges = np.concatenate([function.times[1:], function.times[1:] - self._boot_s[group]])
                times += edges[edges > now].tolist()
        return min((time for time in times if time > now), default=FOREVER)


def _most_until(function: StepFunction, now: int, seconds: int) -> int:
    later = function.values[(function.times > now) & (function.times <= now + seconds)]
    return int(max(function.at(now), *later.tolist())) if len(later) else int(function.at(now))
