"""Judges who was shut down and booted, by docs/protocol.md alone; see `kit.plain_audit`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from kit.plain_rows import Down, Finding, Row, steps_of, value_at

from dardis.model.platform import NodeGroup, Platform
from dardis.model.target import Switching

DAY_S = 86_400


@dataclass
class SwitchedNodes:
    """The times down of a run, its first submission, and who ran on each node with how many units."""

    platform: Platform
    rule: Switching | None
    downs: Sequence[Down]
    begin: int
    placed: Mapping[int, Sequence[tuple[Row, int]]]

    @cached_property
    def _group(self) -> list[int]:
        return groups_of_nodes(self.platform)

    def findings(self) -> Iterator[Finding]:
        """Who is switched may be, takes its time, idles before, and is not switched too often."""
        spans: dict[int, list[Down]] = defaultdict(list)
        for down in self.downs:
            spans[down.node].append(down)
        for node, mine in sorted(spans.items()):
            group, index = self.platform.groups[self._group[node]], self._group[node]
            rule = self.rule
            if rule is None or group.always_on or not (index in rule.spares or index in rule.floors):
                yield Finding("always on", f"node {node} is down")
                continue
            for down in mine:
                yield from self._one_time_down(rule, group, down)
            for first, second in pairwise(mine):
                if first.up is None or second.since < first.up:
                    yield Finding("down", f"node {node} is shut down at {second.since}, and still down")
                elif second.since < first.up + rule.idle_s:
                    yield Finding("idle", f"node {node} is shut down at {second.since}, up since {first.up}")
            most = int(rule.most_cycles_per_day)
            times = [down.since for down in mine]
            if not most or any(later < time + DAY_S for time, later in zip(times, times[most:], strict=False)):
                yield Finding("cycles", f"node {node} is shut down at {times}, {most} times a day at most")
        if self.rule is not None:
            for index in range(len(self.platform.groups)):
                yield from self._enough_left(self.rule, index)

    def _one_time_down(self, rule: Switching, group: NodeGroup, down: Down) -> Iterator[Finding]:
        node, since, up = down
        if up is not None and up - since < max(_switch_s(group), 1):
            yield Finding("down", f"node {node} is down from {since} to {up}, too short to shut down and boot")
        if self._closed(node, since):
            yield Finding("maintenance", f"node {node} is shut down at {since}, in maintenance")
        idle = self.begin
        for row, _ in self.placed[node]:
            if row.start < (up if up is not None else row.finish) and row.finish > since:
                yield Finding("down", f"node {node} is down from {since} to {up}, and runs job {row.number}")
            elif row.finish <= since:
                idle = max(idle, row.finish)
        if since < idle + rule.idle_s:
            yield Finding("idle", f"node {node} is shut down at {since}, idle since {idle}")

    def _enough_left(self, rule: Switching, index: int) -> Iterator[Finding]:
        """Enough nodes are on, and enough of them idle: after a shut-down, and else as far as others can be booted."""
        group = self.platform.groups[index]
        nodes = [node for node, of in enumerate(self._group) if of == index]
        boot_s = group.power.boot_s if group.power else 0
        shut = {down.since for down in self.downs if self._group[down.node] == index}
        for now in sorted(shut | self._moments(rule, index)):
            off = [node for node in nodes if self._surely_off(group, node, now)]
            if now not in shut and not any(self._can_be_booted(rule, group, node, now) for node in off):
                continue
            on = [node for node in nodes if node not in off]
            idle = [
                node
                for node in on
                if not any(row.start <= now < row.finish for row, _ in self.placed[node])
                and not self._closed(node, now)
            ]
            for name, wished, have in (("floor", rule.floors, on), ("spares", rule.spares, idle)):
                least = _most(steps_of(wished[index]), now, now + boot_s) if index in wished else 0
                if len(have) < least:
                    yield Finding(name, f"group {group.prefix} has {len(have)} nodes at {now}, {least} wished")

    def _moments(self, rule: Switching, index: int) -> set[int]:
        """When more may be wished, or fewer be idle, while the run lasts: a step binds a boot time before it."""
        group = self.platform.groups[index]
        boot_s = group.power.boot_s if group.power else 0
        steps = [
            time for wished in (rule.floors, rule.spares) if index in wished for time, _ in steps_of(wished[index])
        ]
        rows = [row for placed in self.placed.values() for row, _ in placed]
        starts = [row.start for node, of in enumerate(self._group) if of == index for row, _ in self.placed[node]]
        last = max((row.finish for row in rows), default=self.begin)
        return {
            moment for moment in (*starts, *steps, *(time - boot_s for time in steps)) if self.begin <= moment < last
        }

    def _can_be_booted(self, rule: Switching, group: NodeGroup, node: int, now: int) -> bool:
        """Not in maintenance, and no job begins so soon that it would be no spare."""
        soon = now + max(rule.idle_s, _switch_s(group))
        return not self._closed(node, now) and not any(now < row.start <= soon for row, _ in self.placed[node])

    def _closed(self, node: int, now: int) -> bool:
        return any(start <= now < end for start, end in closed_at(self.platform, node))

    def _surely_off(self, group: NodeGroup, node: int, now: int) -> bool:
        """Down, and not on its way up; one that is down for no longer than it must may have been booted at any time."""
        boot_s = group.power.boot_s if group.power else 0
        return any(
            down.since <= now
            and (down.up is None or (down.up - down.since > _switch_s(group) and now < down.up - boot_s))
            for down in self.downs
            if down.node == node
        )


def closed_at(platform: Platform, node: int) -> list[tuple[int, int]]:
    """When a node is in maintenance."""
    return [(window.start, window.end) for window in platform.maintenance if node in window.nodes]


def groups_of_nodes(platform: Platform) -> list[int]:
    """The group of each node."""
    return [place for place, group in enumerate(platform.groups) for _ in range(group.count)]


def _switch_s(group: NodeGroup) -> int:
    return group.power.boot_s + group.power.shutdown_s if group.power else 0


def _most(steps: list[tuple[int, int]], first: int, last: int) -> int:
    """The largest value from `first` to `last`, both included."""
    return max(value_at(steps, first), *(value for time, value in steps if first < time <= last), 0)
