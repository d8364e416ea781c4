"""Bash program for a plan's switching with Slurm, around `slurm_*.sh`."""

from __future__ import annotations

import re
import shlex
from enum import StrEnum
from pathlib import Path

import numpy as np

from dardis.model.errors import InputError
from dardis.model.hostlist import hostlist
from dardis.power.node_power import MachinePower
from offline.export.exporter import Export, absences, steps
from offline.folder.plan_folder import PlanFolder
from offline.folder.tables import utc_texts


class Mode(StrEnum):
    """How Slurm switches nodes."""

    SPARES = "spares"
    """Slurm's power saving, with the plan's number of idle nodes on."""
    WINDOWS = "windows"
    """Nodes are reserved and down at the plan's hours."""
    SUSPEND_TIME = "suspend-time"
    """Slurm's power saving without idle nodes on."""


_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_SWITCHES_ONLY = "the program switches nodes, without the profile's core target and power cap (Redfish limits power)"


def export_slurm(plan: PlanFolder, names: list[str], *, mode: Mode) -> Export:
    """Export a mode's program: data, then script. Raises InputError.

    SUSPEND_TIME needs a plan from `offline.loop.export_check.prepare_mode`.
    """
    for name in names:
        if not _NAME.fullmatch(name):
            raise InputError("--format slurm", f"node name {name!r}", "letters, digits, . _ and - (see --names)")
    start, end = plan.profile.start + plan.offset, plan.profile.end + plan.offset
    begin_utc, end_utc = utc_texts(np.array([start, end]))
    lines = [
        "#!/usr/bin/env bash",
        f"# Made by dardis export --format slurm --mode {mode}, for hosts where scontrol may change nodes; see --help.",
        f"TITLE={shlex.quote(f'{plan.platform.name}, {begin_utc} to {end_utc}')}",
        f"BEGIN={start}",
        f"END={end}",
        *(_windows(plan, names, begin_utc) if mode is Mode.WINDOWS else _spares(plan, names)),
    ]
    body = Mode.WINDOWS if mode is Mode.WINDOWS else Mode.SPARES
    bodies = (Path(__file__).with_name(f"slurm_{part}.sh").read_text(encoding="utf-8") for part in ("common", body))
    return Export("\n".join(lines) + "\n" + "".join(bodies), (_SWITCHES_ONLY,))


def mode_of(plan: PlanFolder, asked: str | None) -> Mode:
    """Requested mode, or spares if planned, otherwise windows. Raises InputError."""
    has_spares = plan.switching is not None and any(len(one.times) > 1 for one in plan.switching.spares.values())
    if asked is None:
        return Mode.SPARES if has_spares else Mode.WINDOWS
    try:
        mode = Mode(asked)
    except ValueError:
        raise InputError("--mode", repr(asked), "one of " + ", ".join(Mode)) from None
    if mode is Mode.SPARES and not has_spares:
        switching = plan.settings.get("switching", "off")
        raise InputError("--mode spares", f"the plan has no spare nodes (--switching {switching})", "--mode windows")
    return mode


def _spares(plan: PlanFolder, names: list[str]) -> list[str]:
    rule = plan.switching
    assert rule is not None
    last = np.cumsum([group.count for group in plan.platform.groups]).tolist()
    groups = [group for group in sorted(rule.spares) if not plan.platform.groups[group].stays_on]
    nodes = [hostlist(names[last[group] - plan.platform.groups[group].count : last[group]]) for group in groups]
    machine = MachinePower.of_platform(plan.platform)
    boot_s, shutdown_s = int(machine.boot_s.max(initial=0)), int(machine.shutdown_s.max(initial=0))
    start, end = plan.profile.start, plan.profile.end
    changes = {time for group in groups for time in rule.spares[group].times.tolist() if start < time < end}
    times = np.array([start, *sorted(changes)], dtype=np.int64)
    counts = np.array([rule.spares[group].at(times) for group in groups]).reshape(len(groups), len(times)).T.tolist()
    kept = [
        row
        for row, before in zip(zip(times.tolist(), counts, strict=True), [None, *counts], strict=False)
        if row[1] != before
    ]
    return [
        f"NODES={shlex.quote(','.join(nodes))}",
        "# Sets of nodes with an idle reserve each",
        f"SPARE_NODES=({' '.join(map(shlex.quote, nodes))})",
        f"IDLE_S={rule.idle_s}",
        f"BOOT_S={boot_s}",
        f"RESUME_S={max(2 * boot_s, 60)}",
        f"SUSPEND_TIMEOUT={max(2 * shutdown_s, 30)}",
        "# Unix time, and the idle reserve of each set from this time",
        "STEPS=(",
        *(f'  "{time + plan.offset} {" ".join(map(str, row))}"' for time, row in kept),
        ")",
    ]


def _windows(plan: PlanFolder, names: list[str], begin_utc: str) -> list[str]:
    start, end = plan.profile.start, plan.profile.end
    everyone = hostlist(names[node] for node in np.unique(plan.onoff.node).tolist())
    goes_off = ~plan.onoff.on & (plan.onoff.time >= start)  # excludes nodes off before the plan
    switched_off = hostlist(names[node] for node in np.unique(plan.onoff.node[goes_off]).tolist())
    reserved: dict[tuple[int, int], list[str]] = {}
    for since, back, node in absences(plan.onoff, MachinePower.of_platform(plan.platform).boot_s, start, end):
        reserved.setdefault((since, back), []).append(names[node])
    return [
        f"PREFIX=dardis_{re.sub('[-:]', '', begin_utc)}_",
        f"NODES={shlex.quote(everyone)}",
        f"NODES_SWITCHED_OFF={shlex.quote(switched_off)}",
        "# Unix time, nodes to power down, nodes to power up (- for none)",
        "STEPS=(",
        *(
            f'  "{step.time + plan.offset} {_list(names, step.off)} {_list(names, step.on)}"'
            for step in steps(plan.onoff)
        ),
        ")",
        "# Begin and end in Unix time, nodes without jobs in this span: down, or not yet up again",
        "RESERVATIONS=(",
        *(f'  "{a + plan.offset} {b + plan.offset} {hostlist(who)}"' for (a, b), who in sorted(reserved.items())),
        ")",
    ]


def _list(names: list[str], nodes: list[int]) -> str:
    return hostlist(names[node] for node in nodes) or "-"
