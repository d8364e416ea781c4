"""Fits and lists power figures of node groups."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from dardis.config.platform_file import load_platform
from dardis.config.power_edit import Key, idle_of_devices
from dardis.config.power_samples import NodeWatts, read_power_samples
from dardis.model.arrays import Floats
from dardis.model.errors import InputError
from dardis.model.platform import NodeGroup, NodePower, Platform
from dardis.model.resources import CORES
from dardis.power.fit import Fit, FitErrors, fit_figures
from offline.calibrate.recorded_jobs import read_started_jobs
from offline.calibrate.samples import SampleSets, figure_kinds, job_samples, node_samples
from offline.site.calendar import calendar_of

CORE, IDLE = "core_w", "idle_w"
LEAST_SAMPLES = 30
"""With fewer samples, a few outliers dominate."""
_DECIMALS = 3


@dataclass(frozen=True)
class GroupFit:
    """Figures of a group: idle node, busy core, busy device, in W.

    Files state a device's idle power separately: `in_file` (W) is added.
    """

    group: NodeGroup
    names: tuple[str, ...]
    before: Floats
    in_file: Floats
    missing_reason: str = ""
    fit: Fit | None = None
    samples: int = 0
    days: int = 0
    busy: float = 0.0
    """Mean busy cores of a node."""

    @property
    def stated_before(self) -> dict[str, float]:
        """Previous figures, by default the thesis's."""
        return dict(zip(self.names, (self.before + self.in_file).tolist(), strict=True))

    @property
    def changed(self) -> dict[str, float]:
        """Fitted figures for a platform file, rounded."""
        if self.fit is None:
            return {}
        found = zip(self.names, (self.fit.figures + self.in_file).tolist(), strict=True)
        return {name: round(watts, _DECIMALS) for at, (name, watts) in enumerate(found) if at not in self.fit.unfitted}


@dataclass(frozen=True)
class Calibration:
    """Results by group, in the platform's order."""

    groups: tuple[GroupFit, ...]
    of_jobs: bool
    """Whether jobs were measured, not nodes."""
    notes: tuple[str, ...]

    @property
    def changed(self) -> dict[int, dict[Key, float]]:
        """Fitted figures by group index and key in `power`."""
        figures = {index: one.changed for index, one in enumerate(self.groups) if one.changed}
        return {index: {_key(name): watts for name, watts in each.items()} for index, each in figures.items()}


def _key(name: str) -> Key:
    return (name,) if name in {CORE, IDLE} else ("devices", name, "busy_w")


def calibrate(path: Path, history: Path, power: Path, names: Sequence[str], begins_unix: int | None) -> Calibration:
    """Fit a platform file's power figures. `names`: node names in the other files. Raises InputError."""
    platform, idle = load_platform(path), idle_of_devices(path)
    trace, ran = read_started_jobs(history, platform, names)
    measured = read_power_samples(power, names)
    calendar, assumed = calendar_of(trace, begins_unix)
    if isinstance(measured, NodeWatts):
        if assumed is not None:
            raise InputError(history, "states no start date", "--calendar-start, the UTC time of its first submission")
        sampled = node_samples(power, platform, measured, ran, calendar.offset)
    else:
        sampled = job_samples(power, platform, measured, ran, calendar.offset)
    groups = tuple(_of_group(platform, index, idle[index], sampled) for index in range(len(platform.groups)))
    notes = (*ran.notes, *measured.notes, *sampled.notes)
    return Calibration(groups, not isinstance(measured, NodeWatts), notes)


def _of_group(platform: Platform, index: int, idle_of: Mapping[str, float], sampled: SampleSets) -> GroupFit:
    group = platform.groups[index]
    devices = figure_kinds(platform, index)[1:]
    power = group.power or NodePower()
    before = np.array([power.core_w, *(power.device_w.get(kind, 0.0) for kind in devices), power.idle_w])
    of_devices = sum(group.resources[kind] * watts for kind, watts in idle_of.items())
    in_file = np.array([0.0, *(idle_of.get(kind, 0.0) for kind in devices), -of_devices])
    made = GroupFit(group, (CORE, *devices, IDLE), before, in_file, sampled.missing_reasons.get(index, ""))
    if index not in sampled.samples:
        return made
    samples = sampled.samples[index]
    if len(samples) < LEAST_SAMPLES:
        return replace(made, missing_reason=f"only {len(samples)} usable samples, at least {LEAST_SAMPLES} are needed")
    fit = fit_figures(samples, before, np.maximum(-in_file, 0.0))
    busy = float(np.average(samples.busy[:, 0], weights=samples.weight))
    return replace(made, fit=fit, samples=len(samples), days=len(np.unique(samples.day)), busy=busy)


def report_lines(calibration: Calibration) -> Iterator[str]:
    """Yield lines for the terminal."""
    for one in calibration.groups:
        yield from _lines_of(one, "jobs" if calibration.of_jobs else "samples")


def _lines_of(one: GroupFit, what: str) -> Iterator[str]:
    name = f"{one.group.prefix} ({one.group.count} nodes)"
    if one.fit is None:
        yield f"{name}: unchanged: {one.missing_reason}"
        return
    busy = f"{one.busy:.1f} of {one.group.resources[CORES]} cores of a node busy on average"
    yield f"{name}: {one.samples:,} {what} on {one.days} days, {busy}"
    order = sorted(range(len(one.names)), key=lambda at: (one.names[at] != IDLE, one.names[at] != CORE))
    for at in order:
        figure, was = f"  {_figure(one.names[at]):<14}", f"{one.stated_before[one.names[at]]:.6g} W"
        if at in one.fit.unfitted:
            yield f"{figure} {was}, unchanged: {one.fit.unfitted[at]}"
        else:
            spread = "" if one.fit.spread[at] != one.fit.spread[at] else f" ± {one.fit.spread[at]:.2g}"
            yield f"{figure} {was} -> {one.changed[one.names[at]]:.6g} W{spread}"
    if not one.changed:
        return
    yield f"  {'file before:':<17} {_errors_text(one.fit.original_errors)}"
    seen = (
        "no test, since there is only one day"
        if one.fit.held_out_errors is None
        else _errors_text(one.fit.held_out_errors)
    )
    yield f"  {'other days:':<17} {seen}"


def _figure(name: str) -> str:
    return name if name in {CORE, IDLE} else f"{name} (busy)"


def _errors_text(misses: FitErrors) -> str:
    off = f"median error {misses.median_w:.1f} W per node, mean error {misses.mean:.1%}"
    return f"{off}; energy of a day: {misses.day:.1%}"
