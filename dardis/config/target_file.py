"""Files of targets (target.json) and desired profiles (CSV)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from dardis.config.toml_file import Table, checked_json
from dardis.model.errors import InputError
from dardis.model.files import Read, csv_rows, read_text, write_json
from dardis.model.moments import parse_utc
from dardis.model.numbers import whole_number
from dardis.model.platform import Platform
from dardis.model.resources import CORES, LATEST, MOST_NODES, MOST_WATTS, POWER, parse_amount
from dardis.model.step_function import StepFunction
from dardis.model.target import DesiredProfile, Split, Switching, Target

FORMAT, VERSION = "dardis-target", 1
_Time = Annotated[int, Field(ge=-LATEST, le=LATEST)]
_Steps = list[tuple[_Time, Annotated[int, Field(ge=0, le=LATEST)]]]


class TargetProfileTable(Table):
    """Desired profile; capacity before the first step."""

    kind: Literal["cores"]
    split: Split
    steps: _Steps


class GroupTable(Table):
    """Nodes of a group to keep on: all before the first step, none without steps."""

    spares: _Steps = Field(default_factory=list)
    floors: _Steps = Field(default_factory=list)


class SwitchingTable(Table):
    """Switched groups by prefix."""

    idle_s: Annotated[int, Field(ge=0, le=MOST_NODES)] = Switching().idle_s
    most_cycles_per_day: Annotated[float, Field(ge=0, le=86_400)] = Switching().most_cycles_per_day
    groups: dict[str, GroupTable]


class TargetFile(Table):
    """Target file."""

    format: Literal["dardis-target"]
    version: Literal[1]
    platform: str
    nodes: int
    unix_start: int | None = None
    profile: TargetProfileTable | None = None
    switching: SwitchingTable | None = None
    source: dict[str, Any] = Field(default_factory=dict)


def read_profile(
    path: Path, platform: Platform, split: Split, read: Read = Path.read_bytes, *, is_utc: bool = False
) -> Target:
    """Read a target (with a brace) or a CSV profile, as `parse_profile`. Raises InputError."""
    text = read_text(path, read)
    if text.lstrip().startswith("{"):
        return _parse_target(path, text, platform)
    return Target(parse_profile(path, text, platform, split, is_utc=is_utc))


def load_target(path: Path, platform: Platform) -> Target:
    """Read a target for `platform`. Raises InputError."""
    return _parse_target(path, read_text(path), platform)


def _parse_target(path: Path, text: str, platform: Platform) -> Target:
    table = checked_json(path, text, TargetFile)
    if (table.platform, table.nodes) != (platform.name, platform.node_count):
        found = f"target for {table.platform!r} of {table.nodes} nodes"
        raise InputError(path, found, f"a target for {platform.name!r} of {platform.node_count}")
    desired = None
    if table.profile is not None:
        steps = _ascending(f"{path}: profile.steps", table.profile.steps)
        cores = platform.kinds.index(CORES)
        function = StepFunction.from_steps(platform.cores, [(time, min(cap, platform.cores)) for time, cap in steps])
        desired = DesiredProfile(platform, {cores: function}, split=table.profile.split)
    switching = None if table.switching is None else switching_of(path, table.switching, platform)
    return Target(desired, switching, table.unix_start, table.source)


def _ascending(place: str, steps: Sequence[tuple[int, int]]) -> Sequence[tuple[int, int]]:
    for (before, _), (after, _) in pairwise(steps):
        if after <= before:
            raise InputError(place, f"{after} s after {before} s", "steps in order of time, each time once")
    return steps


def switching_of(path: Path, table: SwitchingTable, platform: Platform) -> Switching:
    """Convert a table for `platform`. Raises InputError."""
    index_of = {group.prefix: index for index, group in enumerate(platform.groups)}
    spares: dict[int, StepFunction] = {}
    floors: dict[int, StepFunction] = {}
    for prefix, group in table.groups.items():
        place = f"{path}: switching.groups.{prefix}"
        if prefix not in index_of:
            raise InputError(place, "unknown node group", "one of " + ", ".join(index_of))
        of = platform.groups[index_of[prefix]]
        if of.power is None:
            expected = "power = { idle_w = …, boot_s = …, shutdown_s = … } in its [[nodes]]"
            raise InputError(place, f"{platform.name!r} states no power of the group", expected)
        for name, steps, kept in (("spares", group.spares, spares), ("floors", group.floors, floors)):
            before = of.count if steps else 0
            kept[index_of[prefix]] = StepFunction.from_steps(before, _ascending(f"{place}.{name}", steps))
    return Switching(spares, floors, table.idle_s, table.most_cycles_per_day)


def target_content(target: Target, platform: Platform) -> dict[str, Any]:
    """Content of target.json. Raises ValueError if not representable: profiles limit cores of the machine."""
    profile = None
    if target.desired is not None:
        wished = target.desired.machine.get(platform.kinds.index(CORES))
        if wished is None or len(target.desired.machine) > 1 or target.desired.nodes:
            raise ValueError("a target's profile must cover the cores of the complete machine")
        profile = {"kind": CORES, "split": str(target.desired.split), "steps": _steps(wished, platform.cores)}
    switching = None if target.switching is None else switching_table(target.switching, platform)
    return {
        "format": FORMAT, "version": VERSION, "platform": platform.name, "nodes": platform.node_count,
        "unix_start": target.unix_start, "profile": profile, "switching": switching, "source": target.source,
    }  # fmt: skip


def write_target(path: Path, target: Target, platform: Platform) -> None:
    """Write target.json. Raises ValueError as `target_content`, and OSError."""
    write_json(path, target_content(target, platform))


def switching_table(rule: Switching, platform: Platform) -> dict[str, Any]:
    """Reverse `switching_of`. Raises ValueError as `target_content`."""
    groups = {
        group.prefix: {
            name: _steps(functions[index], group.count if len(functions[index].times) > 1 else 0)
            for name, functions in (("spares", rule.spares), ("floors", rule.floors))
            if index in functions
        }
        for index, group in enumerate(platform.groups)
        if index in rule.spares or index in rule.floors
    }
    return {"idle_s": rule.idle_s, "most_cycles_per_day": rule.most_cycles_per_day, "groups": groups}


def _steps(function: StepFunction, before: int) -> list[list[int]]:
    if function.values[0] != before:
        raise ValueError(f"before the first step a target's value is {before}, not {function.values[0]}")
    return [list(step) for step in zip(function.times[1:].tolist(), function.values[1:].tolist(), strict=True)]


COLUMNS = ("time_s", "node", "kind", "value")
WHOLE_MACHINE = "*"


def parse_profile(
    path: Path, text: str, platform: Platform, split: Split, *, is_utc: bool = False
) -> DesiredProfile:  # fmt: skip
    """Parse rows `time_s,node,kind,value`. Raises InputError.

    Times are s on the trace's clock, or (`is_utc`) UTC moments that become Unix s. Node `*` is the machine; `split`
    distributes its value over nodes. A value holds until the next row; before, capacity. Kind `power` (W) limits the IT
    power, only of the machine and if nodes share the profile.
    """
    rows = csv_rows(path, text)
    _, header = next(rows, (1, []))
    if tuple(header) != COLUMNS:
        raise InputError(f"{path}:1", f"columns {','.join(header)!r}", ",".join(COLUMNS))
    steps: dict[tuple[int | None, int], dict[int, int]] = defaultdict(dict)
    for line_number, fields in rows:
        place = f"{path}:{line_number}"
        time, node, kind, value = _row(place, fields, platform, split, is_utc=is_utc)
        if time in steps[node, kind]:
            raise InputError(place, f"a second value for the same time, node and kind ({','.join(fields)})")
        steps[node, kind][time] = value
    machine: dict[int, StepFunction] = {}
    nodes: dict[tuple[int, int], StepFunction] = {}
    watts = None
    for (node, kind), table in steps.items():
        if kind == len(platform.kinds):
            watts = StepFunction.from_steps(MOST_WATTS, table.items())
        elif node is None:
            machine[kind] = StepFunction.from_steps(int(platform.capacity[:, kind].sum()), table.items())
        else:
            nodes[node, kind] = StepFunction.from_steps(int(platform.capacity[node, kind]), table.items())
    return DesiredProfile(platform, machine, nodes, split, watts)


def _row(
    place: str, fields: list[str], platform: Platform, split: Split, *, is_utc: bool
) -> tuple[int, int | None, int, int]:  # fmt: skip
    if len(fields) != len(COLUMNS):
        raise InputError(place, f"{len(fields)} fields", f"{len(COLUMNS)}: {','.join(COLUMNS)}")
    time_text, node_text, kind, value = fields
    try:
        time = parse_utc(time_text) if is_utc else whole_number(time_text, -LATEST, LATEST)
    except ValueError:
        expected = "a UTC moment such as 2026-12-24T16:00Z" if is_utc else "whole seconds on the trace's clock"
        raise InputError(place, f"time_s {time_text!r}", expected) from None
    last = platform.node_count - 1
    try:
        node = None if node_text == WHOLE_MACHINE else whole_number(node_text, 0, last)
    except ValueError:
        expected = f"a number from 0 to {last}, or * for the machine"
        raise InputError(place, f"node {node_text!r}", expected) from None
    if split is Split.SHARED and node is not None:
        raise InputError(place, f"node {node_text}", "node *, as nodes share the profile (profile_split=shared)")
    if kind == POWER and split is Split.SHARED and kind in platform.kinds:
        expected = "power = { idle_w = …, core_w = … } in its [[nodes]] instead, and jobs that request none"
        raise InputError(place, f"kind {POWER!r}, which the platform has as a resource", expected)
    if kind == POWER and kind not in platform.kinds:
        if split is not Split.SHARED:
            raise InputError(place, f"kind {POWER!r}", "profile_split=shared, as no node has a power of its own")
        try:
            return time, node, len(platform.kinds), whole_number(value, 0, MOST_WATTS)
        except ValueError:
            raise InputError(place, f"value {value!r}", f"whole watts from 0 to {MOST_WATTS}") from None
    if kind not in platform.kinds:
        known = [*platform.kinds, *([POWER] if split is Split.SHARED else [])]
        raise InputError(place, f"kind {kind!r}", "one of " + ", ".join(known))
    try:
        amount = parse_amount(kind, value)
    except ValueError:
        raise InputError(place, f"value {value!r}", "a whole amount of 0 or more") from None
    # Values above the total are equivalent to the total, and fit 64 bits.
    amount = min(amount, int(platform.capacity[:, platform.kinds.index(kind)].sum()))
    return time, node, platform.kinds.index(kind), amount
