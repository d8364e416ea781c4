"""Decides what a desired profile's CSV may say, and promises that capacity is wished where it is silent."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from dardis.model.errors import InputError
from dardis.model.files import csv_rows
from dardis.model.limits import LATEST
from dardis.model.numbers import whole_number
from dardis.model.platform import Platform
from dardis.model.profile import StepFunction
from dardis.model.resources import parse_amount
from dardis.model.target import DesiredProfile, Split

COLUMNS = ("time_s", "node", "kind", "value")
WHOLE_MACHINE = "*"


def parse_profile(path: Path, text: str, platform: Platform, split: Split) -> DesiredProfile:
    """Read rows `time_s,node,kind,value` into the desired profile of `platform`; `path` names them.

    Node `*` is the whole machine, and `split` says how its value becomes node values. A value holds until the next
    row of that node and kind; before the first, capacity is wished. InputError names file and line.
    """
    rows = csv_rows(path, text)
    _, header = next(rows, (1, []))
    if tuple(header) != COLUMNS:
        raise InputError(f"{path}:1", f"columns {','.join(header)!r}", ",".join(COLUMNS))
    steps: dict[tuple[int | None, int], dict[int, int]] = defaultdict(dict)
    for line_number, fields in rows:
        place = f"{path}:{line_number}"
        time, node, kind, value = _row(place, fields, platform)
        if time in steps[node, kind]:
            raise InputError(place, f"a second value for the same time, node and kind ({','.join(fields)})")
        steps[node, kind][time] = value
    machine: dict[int, StepFunction] = {}
    nodes: dict[tuple[int, int], StepFunction] = {}
    for (node, kind), table in steps.items():
        if node is None:
            machine[kind] = StepFunction.from_steps(int(platform.capacity[:, kind].sum()), table.items())
        else:
            nodes[node, kind] = StepFunction.from_steps(int(platform.capacity[node, kind]), table.items())
    return DesiredProfile(platform, machine, nodes, split)


def _row(place: str, fields: list[str], platform: Platform) -> tuple[int, int | None, int, int]:
    """Time, node (None: the machine), kind index and value of one row."""
    if len(fields) != len(COLUMNS):
        raise InputError(place, f"{len(fields)} fields", f"{len(COLUMNS)}: {','.join(COLUMNS)}")
    time_text, node_text, kind, value = fields
    try:
        time = whole_number(time_text, -LATEST, LATEST)
    except ValueError:
        raise InputError(place, f"time_s {time_text!r}", "whole seconds on the trace's clock") from None
    last = platform.node_count - 1
    try:
        node = None if node_text == WHOLE_MACHINE else whole_number(node_text, 0, last)
    except ValueError:
        expected = f"a number from 0 to {last}, or * for the whole machine"
        raise InputError(place, f"node {node_text!r}", expected) from None
    if kind not in platform.kinds:
        raise InputError(place, f"kind {kind!r}", "one of " + ", ".join(platform.kinds))
    try:
        amount = parse_amount(kind, value)
    except ValueError:
        raise InputError(place, f"value {value!r}", "an amount of 0 or more") from None
    # More than everything is everything; the bound keeps any text within 64 bits.
    amount = min(amount, int(platform.capacity[:, platform.kinds.index(kind)].sum()))
    return time, node, platform.kinds.index(kind), amount
