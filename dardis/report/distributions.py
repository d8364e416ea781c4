"""Distribution charts: waits, slowdowns, durations, solver gaps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import EngFormatter, FuncFormatter, MaxNLocator, NullFormatter, NullLocator, PercentFormatter

from dardis.metrics.job_metrics import Expectations, bounded_slowdown
from dardis.model.arrays import Floats
from dardis.model.job import SLOWDOWN_TAU_S
from dardis.model.resources import CORES
from dardis.model.schedule import Schedule
from dardis.report import chart, words
from dardis.report.chart import Chart, Dashes, TimeAxis
from dardis.runs.solved_instances import DecisionGap, DecisionOutcome

MOST_QUEUES: Final = len(chart.CYCLE)
FEW: Final = 10
"""Smaller classes are dots without curve."""
_LEAST_DIFFERENCE: Final = 0.005
"""Curves start at this difference of shares."""
_POINTS: Final = 400
"""Points per curve."""
_TIME_TICKS: Final = (1, 10, 60, 600, 3600, 6 * 3600, 86400, 7 * 86400, 30 * 86400, 365 * 86400)
_WIDTHS: Final = 4
"""Ratio of width classes."""


def waits(schedule: Schedule) -> Chart:
    """Cumulative distribution of waits."""
    wait = (schedule.start - schedule.submit)[schedule.ran]
    drawing, (axes,) = chart.figure(chart.HALF, 3.4)
    _cumulative(axes, schedule, np.maximum(wait, 1).astype(np.float64))
    time_ticks(axes, "x", int(wait.max(initial=1)))
    axes.set_xlabel("wait (at least 1 s)")
    return chart.finish(drawing, "Waits", f"{words.share(float((wait == 0).mean()))} of the jobs started immediately.")


def slowdowns(schedule: Schedule) -> Chart:
    """Cumulative distribution of bounded slowdowns."""
    ran = schedule.ran
    values = bounded_slowdown((schedule.start - schedule.submit)[ran], (schedule.finish - schedule.start)[ran])
    drawing, (axes,) = chart.figure(chart.HALF, 3.4)
    _cumulative(axes, schedule, values)
    axes.xaxis.set_major_formatter(chart.amounts())
    axes.set_xlabel("bounded slowdown")
    caption = f"(wait + run) / run, at least 1, where runs under {SLOWDOWN_TAU_S} s count as {SLOWDOWN_TAU_S} s."
    return chart.finish(drawing, "Bounded slowdowns", caption)


def _cumulative(axes: Axes, schedule: Schedule, values: Floats) -> None:
    queues = np.array(schedule.queue, dtype=object)[schedule.ran]
    largest, shown = by_size(queues), []
    if 1 < len(largest) <= MOST_QUEUES:
        for name, colour in zip(largest, chart.CYCLE, strict=False):
            shown.append(values[queues == name])
            curve(axes, shown[-1], colour, name or "no queue", 1.3)
    curve(axes, values, chart.INK, "all jobs", 2.0)
    dress_shares(axes, [*shown, values])
    axes.legend(loc="best")


def by_size(queues: Iterable[str]) -> list[str]:
    """Distinct names, most frequent first."""
    return [name for name, _ in Counter(queues).most_common()]


def dress_shares(axes: Axes, curves: Sequence[Floats]) -> None:
    """Start cumulative curves (log axis) where they differ, and label shares.

    These start at the tenth below the least visible.
    """
    ordered = [np.sort(values) for values in curves if len(values) >= FEW] or [np.sort(values) for values in curves]
    at = np.unique(np.concatenate([values[:: max(len(values) // _POINTS, 1)] for values in ordered]))
    shares = np.stack([np.searchsorted(values, at, "right") / len(values) for values in ordered])
    apart = np.flatnonzero(np.ptp(shares, axis=0) > _LEAST_DIFFERENCE)
    first = max(int(apart[0]) - 1, 0) if len(apart) else 0
    least = np.floor(10 * shares[:, first].min() - 1e-9) / 10
    axes.set_xscale("log")
    if at[first] < at[-1]:
        axes.set_xlim(left=at[first])
    axes.set_ylim(max(least, 0.0), 1 + 0.01 * (1 - max(least, 0.0)))
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    axes.set_ylabel("share of jobs, cumulative" + (" (axis cut)" if least > 0 else ""))


def curve(axes: Axes, values: Floats, colour: str, label: str, width: float, dashes: Dashes = "-") -> None:
    """Cumulative curve, thinned; dots for few values."""
    values = np.sort(values)
    shares = np.arange(1, len(values) + 1) / len(values)
    if len(values) < FEW:
        axes.plot(values, shares, "o", color=chart.GREY, markersize=3.5, label=f"{label} ({len(values)} jobs)")
        return
    chosen = np.unique(np.linspace(0, len(values) - 1, _POINTS).astype(np.int64))
    x = np.concatenate([values[:1], values[chosen]])
    y = np.concatenate([[0.0], shares[chosen]])
    axes.step(x, y, where="post", color=colour, linewidth=width, label=label, linestyle=dashes)


def time_ticks(axes: Axes, which: str, most: int) -> None:
    """Ticks at 1 s, 1 min, 1 h …; limits are kept."""
    axis = axes.xaxis if which == "x" else axes.yaxis
    limits = axes.get_xlim() if which == "x" else axes.get_ylim()
    beyond = next((i for i, tick in enumerate(_TIME_TICKS) if tick >= most), len(_TIME_TICKS) - 1)
    axis.set_ticks([float(tick) for tick in _TIME_TICKS[: beyond + 1]])
    axis.set_major_formatter(FuncFormatter(lambda value, _: _tick(value)))
    axis.set_minor_locator(NullLocator())
    axes.set(**{f"{which}lim": limits})


def _tick(seconds: float) -> str:
    for unit, name in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= unit:
            return f"{seconds / unit:.0f} {name}"
    return f"{seconds:.0f} s"


def waits_by_width(schedule: Schedule) -> Chart:
    """Waits by width: median, quartiles, 5th and 95th percentile."""
    ran = schedule.ran
    wait = np.maximum(schedule.start - schedule.submit, 1)[ran]
    cores = schedule.requested_total(CORES)[ran]
    bounds = width_bounds(int(cores.max(initial=1)))
    of_class = np.searchsorted(bounds, cores)
    drawing, (axes,) = chart.figure(chart.HALF, 3.4)
    names = []
    for place, index in enumerate(np.unique(of_class).tolist()):
        mine = wait[of_class == index]
        low, high = bounds[index - 1] + 1 if index else 0, bounds[index]
        widths = short_count(high) if low + 1 >= high else f"{short_count(low)}–{short_count(high)}"
        names.append(f"{widths}\n{short_count(len(mine))}")
        if len(mine) < FEW:
            axes.plot([place] * len(mine), mine, "o", color=chart.GREY, markersize=3.5)
            continue
        p5, p25, p50, p75, p95 = np.percentile(mine, (5, 25, 50, 75, 95))
        axes.plot([place, place], [p5, p95], color=chart.BLUE, linewidth=1.5)
        axes.plot([place, place], [p25, p75], color=chart.BLUE, linewidth=9, alpha=0.45, solid_capstyle="butt")
        axes.plot(place, p50, "o", color=chart.VERMILLION, markersize=5, zorder=3)
    axes.set_yscale("log")
    axes.set_ylim(bottom=0.8)
    time_ticks(axes, "y", int(wait.max(initial=1)))
    axes.set_xticks(range(len(names)), names)
    axes.tick_params(axis="x", labelsize=7.5)
    axes.set_xlim(-0.6, len(names) - 0.4)
    axes.grid(visible=False, axis="x")
    axes.set_xlabel("requested cores, and jobs")
    axes.set_ylabel("wait (at least 1 s)")
    caption = "Dot: median; bar: middle half of the jobs; line: 5th to 95th percentile. Grey: fewer than ten jobs."
    return chart.finish(drawing, "Waits by width", caption)


def width_bounds(widest: int, most: int = 64) -> list[int]:
    """Widest job per class, at most `most` classes."""
    bounds = [1]
    while bounds[-1] < widest and len(bounds) < most:
        bounds.append(bounds[-1] * _WIDTHS)
    return [*bounds[:-1], max(bounds[-1], widest) if len(bounds) == most else bounds[-1]]


def short_count(count: int) -> str:
    """Short number: 256, 4.1k."""
    return str(count) if count < 1000 else f"{count / 1000:.2g}k" if count < 100_000 else f"{count / 1000:.0f}k"


def accuracy(schedule: Schedule, expected: Expectations) -> Chart:
    """Distribution of real over expected durations (PCP'19, figure 1)."""
    ran = schedule.ran
    real = (schedule.finish - schedule.start)[ran]
    drawing, (axes,) = chart.figure(chart.HALF, 3.4)
    curve(axes, real / schedule.walltime[ran], chart.GREY, "by walltime", 1.3, "--")
    curve(axes, real / expected.duration[ran], chart.BLUE, "as expected", 2.0)
    axes.axvline(1, color=chart.INK, linewidth=0.8)
    axes.set_xscale("log")
    axes.set_ylim(0, 1.01)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.set_xlabel("real / expected duration")
    axes.set_ylabel("share of jobs, cumulative")
    axes.legend(loc="best")
    rules = expected.rules()
    sources = ", ".join(f"{rule}: {words.number(jobs)}" for rule, jobs in rules.items())
    return chart.finish(drawing, "Expected durations", f"Right of 1: longer than expected. Jobs by rule: {sources}.")


def decision_times(histogram: Floats) -> Chart:
    """Decision times; histogram rows: from (s), to (s), decisions."""
    histogram = histogram[histogram[:, 2] > 0]
    low, high, counts = histogram.T
    left = np.where(low > 0, low, high / 10)  # a log axis has no place for 0
    drawing, (axes,) = chart.figure(chart.HALF, 3.4)
    axes.bar(left, counts, width=high - left, align="edge", color=chart.BLUE, alpha=0.75, linewidth=0)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(EngFormatter(unit="s"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_major_locator(MaxNLocator(6, integer=True))
    axes.yaxis.set_major_formatter(chart.amounts())
    axes.set_xlabel("CPU time of a decision")
    axes.set_ylabel("decisions")
    return chart.finish(drawing, "Decision times", f"{words.number(counts.sum())} decisions.")


_LOOKS: Final = {
    DecisionOutcome.NOT_ASKED: (chart.GREY, "."),
    DecisionOutcome.PROVEN: (chart.IN_PIXELS[0], "o"),
    DecisionOutcome.STOPPED: (chart.VERMILLION, "^"),
    DecisionOutcome.TOO_LARGE: (chart.CYCLE[2], "s"),
}


def gaps(decisions: Sequence[DecisionGap], axis: TimeAxis) -> Chart:
    """Gaps of decisions over time, by outcome."""
    drawing, (axes,) = chart.figure(chart.FULL, 2.8, 1)
    counts = Counter(one.outcome for one in decisions)
    for outcome, (colour, marker) in _LOOKS.items():
        mine = [(one.time, one.gap) for one in decisions if one.outcome is outcome and one.gap is not None]
        if mine:
            time, gap = np.array(mine, dtype=np.float64).T
            # Rasterised: a long run has many decisions.
            axes.plot(
                axis.place(time), gap, marker, color=colour, markersize=4.5, markeredgewidth=0, label=str(outcome),
                rasterized=True, clip_on=False,
            )  # fmt: skip
    axes.set_ylim(bottom=0, top=max([0.01, *(1.05 * one.gap for one in decisions if one.gap is not None)]))
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    axes.set_ylabel("gap of the decision")
    if axes.lines:
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=len(axes.lines), borderaxespad=0.2)
    axis.dress(axes)
    said = ", ".join(f"{words.number(counts[outcome])} {outcome}" for outcome in DecisionOutcome if counts[outcome])
    caption = f"(objective − bound) / objective of each decision, 0 if no answer can be better: {said}."
    return chart.finish(drawing, "Decisions as constraint models", caption)
