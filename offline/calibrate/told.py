"""Tells a calibration: each group's figures before and after, how far they are off on days not seen, what was left."""

from __future__ import annotations

from collections.abc import Iterator

from dardis.model.resources import CORES
from dardis.power.fit import Misses
from offline.calibrate.calibrate import CORE, IDLE, Calibration, GroupFit


def told(calibration: Calibration) -> Iterator[str]:
    """Lines for the terminal."""
    for one in calibration.groups:
        yield from _of_group(one, "jobs" if calibration.of_jobs else "samples")


def _of_group(one: GroupFit, what: str) -> Iterator[str]:
    name = f"{one.group.prefix} ({one.group.count} nodes)"
    if one.fit is None:
        yield f"{name}: left as it was: {one.why_none}"
        return
    busy = f"{one.busy:.1f} of {one.group.resources[CORES]} cores of a node busy in the mean"
    yield f"{name}: {one.samples:,} {what} on {one.days} days, {busy}"
    order = sorted(range(len(one.names)), key=lambda at: (one.names[at] != IDLE, one.names[at] != CORE))
    for at in order:
        figure, was = f"  {_figure(one.names[at]):<14}", f"{one.stated_before[one.names[at]]:.6g} W"
        if at in one.fit.left:
            yield f"{figure} {was}, left as it was: {one.fit.left[at]}"
        else:
            spread = "" if one.fit.spread[at] != one.fit.spread[at] else f" ± {one.fit.spread[at]:.2g}"
            yield f"{figure} {was} -> {one.changed[one.names[at]]:.6g} W{spread}"
    if not one.changed:
        return
    yield f"  {'file before:':<17} {_misses(one.fit.before)}"
    seen = "one day is all there is: nothing to try them on" if one.fit.unseen is None else _misses(one.fit.unseen)
    yield f"  {'days not seen:':<17} {seen}"


def _figure(name: str) -> str:
    return name if name in {CORE, IDLE} else f"{name} (busy)"


def _misses(misses: Misses) -> str:
    off = f"off by {misses.median_w:.1f} W a node in the median, {misses.mean:.1%} in the mean"
    return f"{off}; energy of a day by {misses.day:.1%}"
