"""Measured power: counters of the kernel, and lines of a program."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from math import isfinite
from pathlib import Path
from typing import Any, Final

from dardis.model.errors import InputError

SYSTEM: Final = Path("/sys")
_ZONES: Final = ("package", "dram")
"""Zones of RAPL that add up; `core` and `uncore` are parts of a package, `psys` has all."""
_METER: Final = "power_meter"
_MICRO: Final = 1e-6
MOST_W: Final = 1e6
"""Largest power of a node, W."""


def read_counters(system: Path = SYSTEM) -> dict[str, Any]:
    """This machine's readings as JSON values: `watts` of the power meter, or `zones` of RAPL; empty: none.

    A zone has its energy and the range of its counter, µJ.
    """
    for folder in sorted(system.glob("class/hwmon/hwmon*")):
        with suppress(OSError, ValueError):
            if (folder / "name").read_text().strip() == _METER:
                return {"watts": int((folder / "power1_average").read_text()) * _MICRO}
    zones = {}
    for folder in sorted(system.glob("class/powercap/intel-rapl:*")):
        with suppress(OSError, ValueError):
            if (folder / "name").read_text().strip().startswith(_ZONES):
                energy, most = (int((folder / f"{name}_uj").read_text()) for name in ("energy", "max_energy_range"))
                zones[folder.name] = [energy, most]
    return {"zones": zones} if zones else {}


def watts_of(before: Mapping[str, Any], after: Mapping[str, Any], seconds: float) -> float | None:
    """Mean power (W) between two readings of a machine; None: unknown."""
    if "watts" in after:
        return float(after["watts"])
    old, new = before.get("zones", {}), after.get("zones", {})
    if not new or old.keys() != new.keys() or seconds <= 0:
        return None
    # A counter starts again at 0 after its range.
    joules = sum((energy - old[zone][0]) % (most + 1) for zone, (energy, most) in new.items()) * _MICRO
    return joules / seconds if joules / seconds <= MOST_W else None


def parse_watts(text: str, names: Iterable[str], place: str) -> dict[str, float]:
    """Power of nodes from lines `NODE WATTS`. Raises InputError."""
    known, found = set(names), dict[str, float]()
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if not words:
            continue
        where = f"{place}, line {number}"
        try:
            node, watts = words[0], float(words[1])
        except (IndexError, ValueError):
            raise InputError(where, repr(line.strip()[:100]), "a node and its power in W") from None
        if len(words) > 2 or not isfinite(watts) or not 0 <= watts <= MOST_W:
            raise InputError(where, repr(line.strip()[:100]), f"a node and its power, from 0 to {MOST_W:.0f} W")
        if node not in known:
            raise InputError(where, f"unknown node {node[:100]!r}", "a node of dardis nodes")
        if node in found:
            raise InputError(where, f"a second value of {node}", "each node once")
        found[node] = watts
    if not found:
        raise InputError(place, "prints no node", "lines with a node and its power in W")
    return found
