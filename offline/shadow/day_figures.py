"""Figures of a schedule over a day or week."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Final

import numpy as np

from dardis.metrics.job_metrics import bounded_slowdown
from dardis.metrics.power import PowerTerms, power_metrics, power_report
from dardis.model.arrays import Floats, Ints
from dardis.model.platform import Platform
from dardis.model.schedule import Downtime, Schedule
from dardis.power.account import span_sums
from dardis.power.node_power import MachinePower

SHORTEST_OFF_S: Final = 900
"""Shortest useful time off of nodes without stated power."""


@dataclass(frozen=True)
class SpanFigures:
    """Figures over a span; None if unknown."""

    jobs: int
    """Jobs submitted in the span that started."""
    mean_wait_s: float | None
    median_wait_s: float | None
    max_wait_s: float | None
    mean_bounded_slowdown: float | None
    core_h: float
    idle_nodes: float
    """Mean number of nodes that could have been off."""
    energy_kwh: float | None
    """Energy with cooling, all nodes on."""
    avoidable_kwh: float | None
    """Part saved by switching idle nodes off; None if nodes were switched."""
    energy_eur: float | None
    co2_kg: float | None

    @property
    def switched_kwh(self) -> float | None:
        """Energy with idle nodes off."""
        return None if self.energy_kwh is None or self.avoidable_kwh is None else self.energy_kwh - self.avoidable_kwh

    @property
    def as_dict(self) -> dict[str, float | None]:
        """JSON values."""
        return asdict(self)


def span_figures(
    schedule: Schedule, platform: Platform, span: tuple[int, int], terms: PowerTerms | None, downtime: Downtime | None,
    numbers: Ints | None = None,
) -> SpanFigures:  # fmt: skip
    """Figures of a schedule over `span` `[start, end)`, s of its clock. `numbers`: jobs that count (None: all)."""
    start, end = span
    counted = schedule.ran & (schedule.submit >= start) & (schedule.submit < end)
    if numbers is not None:
        counted &= np.isin(schedule.number, numbers)
    wait = (schedule.start - schedule.submit)[counted]
    slowdown = bounded_slowdown(wait, (schedule.finish - schedule.start)[counted])
    cores = schedule.requested_total(schedule.kinds[0])[schedule.ran].astype(np.float64)
    edges = np.array([start, end], dtype=np.int64)
    core_s = span_sums(schedule.start[schedule.ran], schedule.finish[schedule.ran], cores, edges)
    idle_s, saved_j = _idle_nodes(schedule, platform, span)
    figures = {} if terms is None else power_metrics(power_report(terms, schedule, span, downtime))
    energy, cooling = figures.get("energy_kwh"), figures.get("cooling_kwh")
    cost = [figures.get(key) for key in ("energy_eur", "cooling_eur")]
    return SpanFigures(
        jobs=int(counted.sum()),
        mean_wait_s=_figure(wait, np.mean),
        median_wait_s=_figure(wait, np.median),
        max_wait_s=_figure(wait, np.max),
        mean_bounded_slowdown=_figure(slowdown, np.mean),
        core_h=float(core_s.sum()) / 3600,
        idle_nodes=idle_s / (end - start),
        energy_kwh=None if energy is None else energy + (cooling or 0.0),
        avoidable_kwh=None if energy is None or downtime is not None else saved_j / 3.6e6,
        energy_eur=None if cost[0] is None else sum(part or 0.0 for part in cost),
        co2_kg=figures.get("co2_kg"),
    )


def mean_figures(days: Sequence[SpanFigures]) -> SpanFigures:
    """Figures of several days: sums of amounts, means of jobs, the greatest longest wait; medians are means."""
    jobs = np.array([day.jobs for day in days], dtype=np.float64)
    found: dict[str, float | int | None] = {"jobs": int(jobs.sum())}
    for one in fields(SpanFigures)[1:]:
        values = [getattr(day, one.name) for day in days]
        known = np.array([np.nan if value is None else value for value in values], dtype=np.float64)
        if one.name in {"mean_wait_s", "median_wait_s", "mean_bounded_slowdown"}:
            weights = np.where(np.isnan(known), 0.0, jobs)
            found[one.name] = float(np.nansum(known * weights) / weights.sum()) if weights.sum() else None
        elif one.name == "max_wait_s":
            found[one.name] = None if np.isnan(known).all() else float(np.nanmax(known))
        elif one.name == "idle_nodes":
            found[one.name] = float(known.mean())
        else:
            found[one.name] = None if np.isnan(known).any() else float(known.sum())
    return SpanFigures(**found)  # type: ignore[arg-type]


def _figure(values: Ints | Floats, of: Callable[[Ints | Floats], float]) -> float | None:
    return float(of(values)) if len(values) else None


def _idle_nodes(schedule: Schedule, platform: Platform, span: tuple[int, int]) -> tuple[float, float]:
    """Idle node-seconds in the span worth a shut-down, and energy saved, J.

    An idle time counts as a whole, but only its part in the span.
    """
    node, begin, end = _idle_times(schedule, platform, span)
    machine = MachinePower.of_platform(platform)
    least = np.where(np.isfinite(machine.break_even_s), machine.break_even_s, SHORTEST_OFF_S)[node]
    long = (end - begin) >= np.maximum(least, 1)
    node, begin, end = node[long], begin[long], end[long]
    inside = np.maximum(np.minimum(end, span[1]) - np.maximum(begin, span[0]), 0).astype(np.float64)
    length = (end - begin).astype(np.float64)
    switching_j = machine.shutdown_w * machine.shutdown_s + machine.boot_w * machine.boot_s
    off_j = switching_j[node] + machine.off_w[node] * (length - machine.cycle_s[node])
    saved = np.maximum(machine.idle_w[node] * length - off_j, 0.0)
    return float(inside.sum()), float((saved * inside / length).sum())


def _idle_times(schedule: Schedule, platform: Platform, span: tuple[int, int]) -> tuple[Ints, Ints, Ints]:
    low, high = span[0] - 86_400, span[1] + 86_400
    job = schedule.placed.job_of
    used = schedule.ran[job] & (schedule.finish[job] > low) & (schedule.start[job] < high)
    node = schedule.placed.nodes[used].astype(np.int64)
    every = np.arange(platform.node_count)
    # A busy moment at each edge makes the first and last idle time of every node.
    at_low, at_high = np.full(len(every), low), np.full(len(every), high)
    node = np.concatenate([node, every, every])
    begin = np.concatenate([np.maximum(schedule.start[job][used], low), at_low, at_high])
    end = np.concatenate([np.minimum(schedule.finish[job][used], high), at_low, at_high])
    order = np.lexsort((end, begin, node))
    node, begin, end = node[order], begin[order], end[order]
    shift = node * (high - low + 1)
    latest = np.maximum.accumulate(end - low + shift) - shift + low
    same = node[1:] == node[:-1]
    free = same & (begin[1:] > latest[:-1])
    return node[1:][free], latest[:-1][free], begin[1:][free]
