"""A bash script that carries a plan's switching out on a Slurm cluster; what it does is in `slurm.sh`."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import numpy as np

from dardis.model.errors import InputError
from dardis.model.hostlist import hostlist
from dardis.power.nodes import MachinePower
from offline.export.exporter import Export
from offline.export.steps import absences, steps
from offline.folder.columns import utc_texts
from offline.folder.plan import PlanFolder

_BODY = Path(__file__).with_name("slurm.sh")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_NOTES = (
    "the script switches nodes; the profile's core target and power cap are not in it (Redfish limits power)",
    "it closes nodes by the forecast, and nobody has checked what that would have cost in days that have passed",
)


def export_slurm(plan: PlanFolder, names: list[str]) -> Export:
    """The plan's steps and reservations, as data before the script that carries them out."""
    for name in names:
        if not _NAME.fullmatch(name):
            raise InputError("--format slurm", f"node name {name!r}", "letters, digits, . _ and - (see --names)")
    start, end = plan.profile.start, plan.profile.end
    begin_utc, end_utc = utc_texts(np.array([start, end]) + plan.offset)
    everyone = hostlist(names[node] for node in np.unique(plan.onoff.node).tolist())
    goes_off = ~plan.onoff.on & (plan.onoff.time >= start)  # who was off before is not this plan's
    switched_off = hostlist(names[node] for node in np.unique(plan.onoff.node[goes_off]).tolist())
    reserved: dict[tuple[int, int], list[str]] = {}
    for since, back, node in absences(plan.onoff, MachinePower.of_platform(plan.platform).boot_s, start, end):
        reserved.setdefault((since, back), []).append(names[node])
    lines = [
        "#!/usr/bin/env bash",
        "# Made by dardis export --format slurm. Run it where scontrol may change nodes; --help says more.",
        f"TITLE={shlex.quote(f'{plan.platform.name}, {begin_utc} to {end_utc}')}",
        f"PREFIX=dardis_{re.sub('[-:]', '', begin_utc)}_",
        f"BEGIN={start + plan.offset}",
        f"END={end + plan.offset}",
        f"NODES={shlex.quote(everyone)}",
        f"NODES_SWITCHED_OFF={shlex.quote(switched_off)}",
        "# Unix time, nodes to power down, nodes to power up (- for none)",
        "STEPS=(",
        *(
            f'  "{step.time + plan.offset} {_list(names, step.off)} {_list(names, step.on)}"'
            for step in steps(plan.onoff)
        ),
        ")",
        "# from and to in Unix time, nodes that hold no job then: down, or not yet up again",
        "RESERVATIONS=(",
        *(f'  "{a + plan.offset} {b + plan.offset} {hostlist(who)}"' for (a, b), who in sorted(reserved.items())),
        ")",
    ]
    return Export("\n".join(lines) + "\n" + _BODY.read_text(encoding="utf-8"), _NOTES)


def _list(names: list[str], nodes: list[int]) -> str:
    return hostlist(names[node] for node in nodes) or "-"
