"""Comparison's means, best values and paired differences."""

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
OF_DEADLINES: Final = frozenset({"tardiness_s", "late_jobs", "dissimilarity", "dissimilarity_from_first_submission"})
"""Comparable only with equal deadlines."""
OF_DECIDING: Final = frozenset({"decision_mean_s", "renegotiations_per_job"})
"""Differ between central and distributed dispatchers."""
UNTESTED: Final = frozenset({"decision_mean_s"})
"""Depend on the computer's load."""


@dataclass(frozen=True)
class RunResult:
    """Run: request, folder, metrics or error."""

    trace: str
    label: str
    dispatcher: str
    settings: tuple[str, ...]
    seed: int
    folder: Path
    metrics: dict[str, Any] | None = None
    error: str = ""
    deadlines: str = ""
    """As requested, else the dispatcher's own."""
    central: bool = False
    """Whether one queue decides, without renegotiation."""
    arity: int = 0
    """As `Reach.arity`."""
    sample: int = 0
    """As `Reach.sample`."""
    draw: int = 0
    """Draw number; 0: the original trace."""
    seeded: bool = True
    """Whether the seed can change the schedule."""
    family: str = ""
    """Dispatcher label without grid values, or empty."""
    grid: tuple[tuple[str, str], ...] = ()
    """Grid settings: names, values."""
    weeks: int = 0

    @property
    def is_recorded(self) -> bool:
        """Whether this is the trace's recorded schedule."""
        return self.dispatcher == RECORDED

    @property
    def failure(self) -> str:
        """Failure message."""
        return f"{self.trace}/{self.label}/{self.folder.name} failed: {self.error}"

    @property
    def drawn_by(self) -> str:
        """Draw (if any) and seed."""
        return f"draw {self.draw}, seed {self.seed}" if self.draw else f"seed {self.seed}"


@dataclass(frozen=True)
class Figure:
    """Mean over runs; `deviation`: sample standard deviation, None for one run."""

    mean: float
    deviation: float | None


@dataclass(frozen=True)
class ResultRow:
    """Results of a dispatcher on a trace; runs by seed."""

    trace: str
    label: str
    done: tuple[RunResult, ...]
    failed: tuple[RunResult, ...]

    def figure(self, key: str) -> Figure | None:
        """Mean and deviation over draws, else runs; None without values.

        `key`: of metrics.json, or renegotiations_per_job.
        """
        values = [*self.by_draw(key).values()]
        values = values or [value for run in self.done if (value := _value(run, key)) is not None]
        if not values:
            return None
        return Figure(statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else None)

    @property
    def is_recorded(self) -> bool:
        """Whether this is the recorded schedule."""
        return any(run.is_recorded for run in (*self.done, *self.failed))

    @property
    def family(self) -> str:
        """Dispatcher label without grid values."""
        return next((run.family for run in (*self.done, *self.failed)), "")

    @property
    def grid(self) -> tuple[tuple[str, str], ...]:
        """Grid settings: names, values."""
        return next((run.grid for run in (*self.done, *self.failed)), ())

    def by_draw(self, key: str) -> dict[int, float]:
        """Metric per draw, mean over seeds."""
        return {draw: value for (draw, _), value in self.by_case(key).items() if draw}

    def by_case(self, key: str, *, by_seed: bool = False) -> dict[tuple[int, int], float]:
        """Metric per draw and seed (0: mean over seeds)."""
        values: dict[tuple[int, int], list[float]] = {}
        for run in self.done:
            if (value := _value(run, key)) is not None:
                values.setdefault((run.draw, run.seed if by_seed else 0), []).append(value)
        return {case: statistics.fmean(found) for case, found in values.items()}

    @property
    def weeks(self) -> int:
        """Whole weeks used for draws, or 0."""
        return max((run.weeks for run in self.done), default=0)

    def compare_with(self, first: ResultRow, key: str) -> PairedComparison | None:
        """Paired comparison on common draws; None if too few or UNTESTED."""
        if key in UNTESTED:
            return None
        mine, theirs = self.by_draw(key), first.by_draw(key)
        both = [draw for draw in mine if draw in theirs]
        return compare_pairs([mine[draw] for draw in both], [theirs[draw] for draw in both], self.weeks)


@dataclass(frozen=True)
class ClairvoyantResult:
    """Results with all jobs known in advance."""

    trace: str
    jobs: int
    bound_s: float | None
    """Lower bound of mean wait, s."""
    best_s: float | None
    """Best mean wait found."""

    @property
    def summary(self) -> str:
        """Summary sentence, or empty."""
        if self.best_s is None or self.bound_s is None:
            return ""
        best = f"the best schedule found waits {self.best_s:,.0f} s on average, none less than {self.bound_s:,.0f} s"
        return f"{self.trace}: with all jobs known, {best}"


@dataclass(frozen=True)
class ComparisonData:
    """Comparison's data."""

    results: tuple[RunResult, ...]
    pair: tuple[str, str]
    """Dispatchers plotted over time."""
    known: tuple[ClairvoyantResult, ...] = ()
    notes: tuple[str, ...] = ()


def _value(run: RunResult, key: str) -> Number:
    metrics = run.metrics or {}
    if key != "renegotiations_per_job":
        return metrics.get(key)
    if run.central:
        return None
    asked, jobs = metrics.get("renegotiations"), metrics.get("jobs")
    return asked / jobs if asked is not None and jobs else None


def result_rows(results: Sequence[RunResult]) -> list[ResultRow]:
    """Rows per trace and dispatcher, by first occurrence."""
    groups: dict[tuple[str, str], list[RunResult]] = {}
    for result in results:
        groups.setdefault((result.trace, result.label), []).append(result)
    return [
        ResultRow(trace, label, tuple(run for run in runs if run.metrics is not None),
             tuple(run for run in runs if run.metrics is None))
        for (trace, label), runs in groups.items()
    ]  # fmt: skip


def by_trace(lines: Sequence[ResultRow]) -> dict[str, list[ResultRow]]:
    """Rows per trace."""
    traces: dict[str, list[ResultRow]] = {}
    for line in lines:
        traces.setdefault(line.trace, []).append(line)
    return traces


def first_of(lines: Sequence[ResultRow]) -> ResultRow | None:
    """Row of the first dispatcher."""
    return next((line for line in lines if not line.is_recorded), None)


def is_seeded(line: ResultRow) -> bool:
    """Whether the seed can change the schedule."""
    return any(run.seeded for run in (*line.done, *line.failed))


def grid_rows(lines: Sequence[ResultRow]) -> dict[tuple[str, tuple[str, ...]], list[ResultRow]]:
    """Rows per grid, by label and setting names."""
    grids: dict[tuple[str, tuple[str, ...]], list[ResultRow]] = {}
    for line in lines:
        if line.grid:
            grids.setdefault((line.family, tuple(key for key, _ in line.grid)), []).append(line)
    return grids


def is_comparable(lines: Sequence[ResultRow], key: str) -> bool:
    """Whether a metric is comparable among rows of one trace."""
    done = [run for line in lines for run in line.done if not run.is_recorded]
    if key in OF_DECIDING:
        return len({run.central for run in done}) < 2
    return key not in OF_DEADLINES or len({run.deadlines for run in done}) < 2


def has_equal_rejections(lines: Sequence[ResultRow]) -> bool:
    """Whether all dispatchers rejected equally many jobs."""
    ours = [line for line in lines if not line.is_recorded]
    return len({figure.mean for line in ours if (figure := line.figure("rejected")) is not None}) < 2


def can_rank(lines: Sequence[ResultRow], key: str) -> bool:
    """Whether a metric can rank rows: comparable, with equal rejections."""
    return is_comparable(lines, key) and has_equal_rejections(lines)


def best_labels(lines: Sequence[ResultRow], key: str) -> frozenset[str]:
    """Labels with the best mean on a trace.

    Empty if equal, not comparable, or possibly by chance.
    """
    if not can_rank(lines, key):
        return frozenset()
    ours = [line for line in lines if not line.is_recorded]
    means = {line.label: figure.mean for line in ours if (figure := line.figure(key)) is not None}
    if len(set(means.values())) < 2:
        return frozenset()
    least = max(means.values()) if metric_of(key).better is Better.MORE else min(means.values())
    ahead = frozenset(label for label, mean in means.items() if mean == least)
    pairs = [(one, other) for one in ours if one.label in ahead for other in ours if other.label not in ahead]
    found = [one.compare_with(other, key) for one, other in pairs]
    return frozenset() if any(pair is not None and pair.may_be_chance for pair in found) else ahead


def mean_wait(line: ResultRow, known: ClairvoyantResult) -> float | None:
    """Mean wait in s; None unless each run counts as many jobs as `known`."""
    if line.is_recorded:  # on an unknown machine
        return None
    runs = [run.metrics or {} for run in line.done]
    same = all(_counted(metrics) == known.jobs for metrics in runs)
    figure = line.figure("mean_wait_s")
    return figure.mean if figure and same else None


def _counted(metrics: dict[str, Any]) -> int:
    return int(metrics.get("completed", 0)) + int(metrics.get("killed", 0))


SHARE: Final = 0.95
"""Of intervals, for normally distributed means."""


@dataclass(frozen=True, slots=True)
class Interval:
    """Value with interval; unknown ends are infinite."""

    value: float
    low: float
    high: float

    def contains(self, value: float) -> bool:
        """Whether the interval includes the value."""
        return self.low <= value <= self.high

    @property
    def is_bounded(self) -> bool:
        """Whether both ends are finite."""
        return math.isfinite(self.low) and math.isfinite(self.high)


@dataclass(frozen=True, slots=True)
class PairedComparison:
    """Paired comparison with the first dispatcher."""

    pairs: int
    first: float
    mean: float
    difference: Interval
    ratio: Interval | None
    """Ratio of means: None if `first` is 0, unbounded if `first` may be 0."""

    @property
    def may_be_chance(self) -> bool:
        """Whether the difference may be 0."""
        return self.difference.contains(0.0)


def compare_pairs(other: Sequence[float], first: Sequence[float], weeks: int = 0) -> PairedComparison | None:
    """Compare values of the same draws; None for fewer than two. `weeks` recombined in each draw; 0: shaken."""
    if len(other) < 2:
        return None
    x, y = np.asarray(other, dtype=np.float64), np.asarray(first, dtype=np.float64)
    mean, base = float(x.mean()), float(y.mean())
    ratio = _ratio(x.tolist(), y.tolist(), weeks)
    return PairedComparison(len(x), base, mean, mean_of((x - y).tolist(), weeks), ratio)


def mean_of(values: Sequence[float], weeks: int = 0) -> Interval:
    """Mean of several draws with interval; `weeks` as in `compare_pairs`."""
    x = np.asarray(values, dtype=np.float64)
    mean, half = float(x.mean()), math.sqrt(_squared(len(x), weeks)) * float(x.std(ddof=1))
    return Interval(mean, mean - half, mean + half)


def _squared(draws: int, weeks: int) -> float:
    from scipy.special import stdtrit

    degrees, share = draws - 1.0, 1 / draws
    if weeks:
        degrees, share = 1 / (1 / (weeks - 1) + 1 / degrees), share + weeks / (weeks - 1)
    return float(stdtrit(degrees, (1 + SHARE) / 2)) ** 2 * share


def _ratio(x: Sequence[float], y: Sequence[float], weeks: int) -> Interval | None:
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
