"""Lines of a comparison: means over runs, the best of each figure, and paired differences."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from dardis.config.comparison_spec import RECORDED
from dardis.metrics.catalogue import Better, metric_of
from dardis.metrics.job_metrics import Number

KEYS: Final = (
    "makespan_s", "mean_wait_s", "median_wait_s", "p95_wait_s", "p99_wait_s", "max_wait_s",
    "mean_bounded_slowdown", "median_bounded_slowdown", "p99_bounded_slowdown", "mean_user_bounded_slowdown",
    "utilisation", "tardiness_s",
    "late_jobs", "overutilisation_core_s", "dissimilarity", "dissimilarity_from_first_submission", "decision_mean_s",
    "renegotiations_per_job", "profit_eur", "energy_kwh", "peak_kw", "rejected", "queue_weighted_wait",
    "queue_late_jobs", "queue_tardiness_s", "queue_weighted_tardiness", "mean_slowdown", "mean_fragmentation",
    "mean_spread",
)  # fmt: skip
"""The figures of the table, in its order."""
OF_DEADLINES: Final = frozenset({"tardiness_s", "late_jobs", "dissimilarity", "dissimilarity_from_first_submission"})
"""Figures that say nothing beside those of a run with other deadlines, or none."""
OF_DECIDING: Final = frozenset({"decision_mean_s", "renegotiations_per_job"})
"""Figures that count something else under a central dispatcher than under a distributed one."""
UNTESTED: Final = frozenset({"decision_mean_s"})
"""Figures that differ from run to run of the same draw, by what else the computer does."""


@dataclass(frozen=True)
class RunResult:
    """One run: what was asked, where its folder is, and its metrics, or why it has none."""

    trace: str
    label: str
    dispatcher: str
    settings: tuple[str, ...]
    seed: int
    folder: Path
    metrics: dict[str, Any] | None = None
    error: str = ""
    deadlines: str = ""
    """The rule that gave the jobs their latest starts: the one asked for, else the dispatcher's own."""
    central: bool = False
    """Whether one queue decides; such a dispatcher asks no nodes, and has nobody to renegotiate with."""
    arity: int = 0
    """Children of a host in the tree that sums offers; 0: none does."""
    sample: int = 0
    """Nodes asked first for each unit; 0: all."""
    draw: int = 0
    """The number of the draw of the trace; 0: the trace as it is."""
    seeded: bool = True
    """Whether another seed may give another schedule."""
    family: str = ""
    """What the dispatcher is called without the values of its grid; empty: it has none."""
    grid: tuple[tuple[str, str], ...] = ()
    """The settings of its grid and their values here, one or two."""
    weeks: int = 0
    """The whole weeks of the trace of which its draw is made; 0: of none."""

    @property
    def recorded(self) -> bool:
        """Whether it is what the trace says of its own time: no dispatcher's."""
        return self.dispatcher == RECORDED

    @property
    def failure(self) -> str:
        """The line that tells why it has no metrics."""
        return f"{self.trace}/{self.label}/{self.folder.name} failed: {self.error}"

    @property
    def drawn_by(self) -> str:
        """Its draw, if it is of one, and its seed, for people."""
        return f"draw {self.draw}, seed {self.seed}" if self.draw else f"seed {self.seed}"


@dataclass(frozen=True)
class Figure:
    """A figure over the runs that have it; `deviation` is the sample standard deviation, None for a single run."""

    mean: float
    deviation: float | None


@dataclass(frozen=True)
class Line:
    """A trace under a dispatcher: the runs that ended well, in the order of the seeds, and those that failed."""

    trace: str
    label: str
    done: tuple[RunResult, ...]
    failed: tuple[RunResult, ...]

    def figure(self, key: str) -> Figure | None:
        """Mean and spread of a figure of metrics.json, or of renegotiations_per_job; None where no run has it.

        Of a trace that is drawn, over its draws; else over the runs.
        """
        values = [*self.by_draw(key).values()]
        values = values or [value for run in self.done if (value := _value(run, key)) is not None]
        if not values:
            return None
        return Figure(statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else None)

    @property
    def recorded(self) -> bool:
        """Whether it is what the trace says of its own time."""
        return any(run.recorded for run in (*self.done, *self.failed))

    @property
    def family(self) -> str:
        """What its dispatcher is called without the values of its grid."""
        return next((run.family for run in (*self.done, *self.failed)), "")

    @property
    def grid(self) -> tuple[tuple[str, str], ...]:
        """The settings of its grid and their values."""
        return next((run.grid for run in (*self.done, *self.failed)), ())

    def by_draw(self, key: str) -> dict[int, float]:
        """A figure of each draw of the trace, the mean over its seeds."""
        values: dict[int, list[float]] = {}
        for run in self.done:
            if run.draw and (value := _value(run, key)) is not None:
                values.setdefault(run.draw, []).append(value)
        return {draw: statistics.fmean(found) for draw, found in values.items()}

    @property
    def weeks(self) -> int:
        """The whole weeks of the trace of which its draws are made; 0: of none."""
        return max((run.weeks for run in self.done), default=0)

    def beside(self, first: Line, key: str) -> Paired | None:
        """A figure beside that of another on the same draws; None where fewer than two have both, and if UNTESTED."""
        if key in UNTESTED:
            return None
        mine, theirs = self.by_draw(key), first.by_draw(key)
        both = [draw for draw in mine if draw in theirs]
        return paired([mine[draw] for draw in both], [theirs[draw] for draw in both], self.weeks)


@dataclass(frozen=True)
class Known:
    """What could have been done had all jobs of a trace been known; None: no job counts."""

    trace: str
    jobs: int
    """That ran and count."""
    bound_s: float | None
    """No schedule has a lower mean wait; s."""
    best_s: float | None
    """The mean wait of the best schedule found."""

    @property
    def told(self) -> str:
        """It in a sentence for people; empty: there is nothing to tell."""
        if self.best_s is None or self.bound_s is None:
            return ""
        best = f"the best schedule found waits {self.best_s:,.0f} s on average, none less than {self.bound_s:,.0f} s"
        return f"{self.trace}: with all jobs known, {best}"


@dataclass(frozen=True)
class Compared:
    """All that tables and report of a comparison are made of."""

    results: tuple[RunResult, ...]
    pair: tuple[str, str]
    """The dispatchers that are drawn over time."""
    known: tuple[Known, ...] = ()
    notes: tuple[str, ...] = ()
    """What else is to be said of it."""


def _value(run: RunResult, key: str) -> Number:
    metrics = run.metrics or {}
    if key != "renegotiations_per_job":
        return metrics.get(key)
    if run.central:
        return None
    asked, jobs = metrics.get("renegotiations"), metrics.get("jobs")
    return asked / jobs if asked is not None and jobs else None


def lines_of(results: Sequence[RunResult]) -> list[Line]:
    """One line a trace and dispatcher, in the order in which they first occur."""
    groups: dict[tuple[str, str], list[RunResult]] = {}
    for result in results:
        groups.setdefault((result.trace, result.label), []).append(result)
    return [
        Line(trace, label, tuple(run for run in runs if run.metrics is not None),
             tuple(run for run in runs if run.metrics is None))
        for (trace, label), runs in groups.items()
    ]  # fmt: skip


def by_trace(lines: Sequence[Line]) -> dict[str, list[Line]]:
    """The lines of each trace."""
    traces: dict[str, list[Line]] = {}
    for line in lines:
        traces.setdefault(line.trace, []).append(line)
    return traces


def first_of(lines: Sequence[Line]) -> Line | None:
    """Of the lines of one trace that of the first dispatcher, beside which the others are set."""
    return next((line for line in lines if not line.recorded), None)


def seeded(line: Line) -> bool:
    """Whether another seed may give another schedule."""
    return any(run.seeded for run in (*line.done, *line.failed))


def swept(lines: Sequence[Line]) -> dict[tuple[str, tuple[str, ...]], list[Line]]:
    """The lines of each grid, by what its dispatcher is called and the names of its settings."""
    grids: dict[tuple[str, tuple[str, ...]], list[Line]] = {}
    for line in lines:
        if line.grid:
            grids.setdefault((line.family, tuple(key for key, _ in line.grid)), []).append(line)
    return grids


def comparable(lines: Sequence[Line], key: str) -> bool:
    """Whether a figure of these lines of one trace can be set side by side."""
    done = [run for line in lines for run in line.done if not run.recorded]
    if key in OF_DECIDING:
        return len({run.central for run in done}) < 2
    return key not in OF_DEADLINES or len({run.deadlines for run in done}) < 2


def same_rejections(lines: Sequence[Line]) -> bool:
    """Whether these lines of one trace rejected the same number of jobs, so that their figures are of as many jobs."""
    ours = [line for line in lines if not line.recorded]
    return len({figure.mean for line in ours if (figure := line.figure("rejected")) is not None}) < 2


def of_same_jobs(lines: Sequence[Line], key: str) -> bool:
    """Whether a figure of these lines of one trace tells who is better: it counts the same things, of as many jobs.

    Who rejects much has little to schedule.
    """
    return comparable(lines, key) and same_rejections(lines)


def best(lines: Sequence[Line], key: str) -> frozenset[str]:
    """Labels of the best mean among the dispatchers of one trace; nobody is when all are alike or not comparable.

    Nor is anybody whose lead over another may be chance.
    """
    if not of_same_jobs(lines, key):
        return frozenset()
    ours = [line for line in lines if not line.recorded]
    means = {line.label: figure.mean for line in ours if (figure := line.figure(key)) is not None}
    if len(set(means.values())) < 2:
        return frozenset()
    least = max(means.values()) if metric_of(key).better is Better.MORE else min(means.values())
    ahead = frozenset(label for label, mean in means.items() if mean == least)
    pairs = [(one, other) for one in ours if one.label in ahead for other in ours if other.label not in ahead]
    found = [one.beside(other, key) for one, other in pairs]
    return frozenset() if any(pair is not None and pair.may_be_chance for pair in found) else ahead


def mean_wait(line: Line, known: Known) -> float | None:
    """The mean wait over the runs of a line, in s, if it is one of as many jobs: nobody runs one that does not fit."""
    if line.recorded:  # on whatever machine that was
        return None
    runs = [run.metrics or {} for run in line.done]
    same = all(_counted(metrics) == known.jobs for metrics in runs)
    figure = line.figure("mean_wait_s")
    return figure.mean if figure and same else None


def _counted(metrics: dict[str, Any]) -> int:
    """Jobs that means are over."""
    return int(metrics.get("completed", 0)) + int(metrics.get("killed", 0))


SHARE: Final = 0.95
"""Of all such experiments the interval holds the truth in so many, where means are normally distributed."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A figure, and between what it lies; an end that nobody knows is infinite."""

    value: float
    low: float
    high: float

    def holds(self, value: float) -> bool:
        """Whether that may be the truth."""
        return self.low <= value <= self.high

    @property
    def bounded(self) -> bool:
        """Whether anything is known of it."""
        return math.isfinite(self.low) and math.isfinite(self.high)


@dataclass(frozen=True, slots=True)
class Paired:
    """A figure beside that of the first dispatcher on the same draws."""

    pairs: int
    first: float
    """Mean of the first dispatcher."""
    mean: float
    difference: Interval
    ratio: Interval | None
    """Of the means; None where the first's is 0, without bounds where that may be 0."""

    @property
    def may_be_chance(self) -> bool:
        """Whether there may be no difference."""
        return self.difference.holds(0.0)


def paired(other: Sequence[float], first: Sequence[float], weeks: int = 0) -> Paired | None:
    """Compare figures of the same draws, in the same order; None of fewer than two.

    `weeks` are those of the trace of which each draw is made anew; 0: it is shaken.
    """
    if len(other) < 2:
        return None
    x, y = np.asarray(other, dtype=np.float64), np.asarray(first, dtype=np.float64)
    mean, base = float(x.mean()), float(y.mean())
    ratio = _ratio(x.tolist(), y.tolist(), weeks)
    return Paired(len(x), base, mean, mean_of((x - y).tolist(), weeks), ratio)


def mean_of(values: Sequence[float], weeks: int = 0) -> Interval:
    """The mean of a figure of at least two draws, with its interval; `weeks` as in `paired`."""
    x = np.asarray(values, dtype=np.float64)
    mean, half = float(x.mean()), math.sqrt(_squared(len(x), weeks)) * float(x.std(ddof=1))
    return Interval(mean, mean - half, mean + half)


def _squared(draws: int, weeks: int) -> float:
    """The square of half an interval's length over the variance over draws."""
    from scipy.special import stdtrit

    degrees, share = draws - 1.0, 1 / draws
    if weeks:
        degrees, share = 1 / (1 / (weeks - 1) + 1 / degrees), share + weeks / (weeks - 1)
    return float(stdtrit(degrees, (1 + SHARE) / 2)) ** 2 * share


def _ratio(x: Sequence[float], y: Sequence[float], weeks: int) -> Interval | None:
    """Mean of x over that of y with Fieller's interval; None where the latter is 0."""
    (xx, xy), (_, yy) = (np.cov(x, y) * _squared(len(x), weeks)).tolist()
    mean, base = float(np.mean(x)), float(np.mean(y))
    if base == 0:
        return None
    # Roots of a r² - 2 b r + c: where the mean of x - r y is as far from 0 as its deviation allows.
    a, b, c = base * base - yy, mean * base - xy, mean * mean - xx
    inner = b * b - a * c
    if a <= 0 or inner < 0:
        return Interval(mean / base, -math.inf, math.inf)
    root = math.sqrt(inner)
    return Interval(mean / base, (b - root) / a, (b + root) / a)
