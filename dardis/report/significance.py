"""Critical-difference chart and table of effects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MultipleLocator

from dardis.metrics.catalogue import metric_of
from dardis.metrics.rank_tests import LEVEL, MetricTests, PairTest, Ranking
from dardis.report import chart
from dardis.report.chart import Chart
from dardis.report.compare_table import in_latex, latex_figure, tabular

_LABEL_INCHES: Final = 0.34
_LONG: Final = 18


def critical_differences(tests: MetricTests) -> Chart | None:
    """Mean ranks; bars join groups without shown differences."""
    found = tests.ranking
    if found is None:
        return None
    count, groups = len(found.labels), found.groups
    rows = len(groups) / 2 + (count + 1) // 2
    wide = max(map(len, found.labels)) > _LONG
    heading = metric_of(tests.key).heading
    drawing, (axes,) = chart.figure(chart.FULL if wide else chart.HALF, 1.4 + _LABEL_INCHES * rows)
    drawing.suptitle(
        f"{heading}: mean rank over {found.cases} cases (1: best)\n"
        f"Friedman's test: p {_p_text(found.p)}; critical difference:",
        x=0.01, ha="left", fontsize=9.0,
    )  # fmt: skip
    _dress(axes, found)
    for place, (low, high) in enumerate(groups):
        level = -0.5 * (place + 1)
        axes.plot([low - 0.02, high + 0.02], [level, level], color=chart.BLUE, linewidth=3.5, solid_capstyle="butt")
    order = np.argsort(found.ranks, kind="stable").tolist()
    for place, index in enumerate(order):
        left = place < (count + 1) // 2
        level = -0.5 * len(groups) - 1.0 - (place if left else count - 1 - place)
        _label(axes, found.labels[index], found.ranks[index], level, left=left, count=count)
    axes.set_ylim(-0.5 * len(groups) - (count + 1) // 2 - 0.6, 1.9)
    verdict = "all mean ranks differ by more" if not groups else "bars: no difference shown"
    caption = (
        f"Mean ranks of {heading} over {found.cases} cases; 1 is best. Friedman: "
        f"χ² = {found.chi2:.2f}, p {_p_text(found.p)}. Critical difference (Nemenyi, 5 %): "
        f"{found.critical:.2f}; {verdict}."
    )
    return chart.finish(drawing, f"Critical difference of {heading}", caption)


def _dress(axes: Axes, found: Ranking) -> None:
    count = len(found.labels)
    axes.grid(visible=False)
    axes.set_xlim(1, count)
    axes.spines["left"].set_visible(False)
    axes.spines["bottom"].set_position(("data", 0))
    axes.spines["bottom"].set_color(chart.INK)
    axes.xaxis.set_ticks_position("bottom")
    axes.tick_params(axis="x", direction="out", pad=-16, length=4)
    axes.xaxis.set_major_locator(MultipleLocator(1))
    axes.set_yticks([])
    axes.plot([1, 1 + found.critical], [1.3, 1.3], color=chart.INK, linewidth=1.5, marker="|", markersize=7)
    axes.annotate(f"  {found.critical:.2f}", (1 + found.critical, 1.3), va="center", annotation_clip=False)


def _label(axes: Axes, label: str, mean: float, level: float, *, left: bool, count: int) -> None:
    edge = 1.0 if left else float(count)
    axes.plot([mean, mean, edge], [0, level, level], color=chart.INK, linewidth=0.9, clip_on=False)
    text = f"{label}  {mean:.2f} " if left else f" {mean:.2f}  {label}"
    axes.annotate(text, (edge, level), ha="right" if left else "left", va="center", annotation_clip=False)


def _p_text(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"= {p:.3f}"


def effects_table(tests: Sequence[MetricTests]) -> str:
    """LaTeX tabular of all pairs."""
    shown = [one for one in tests if one.pairs]
    rows = [
        [in_latex(pairs[0].first), in_latex(pairs[0].other), *map(_cell, pairs)]
        for pairs in zip(*(one.pairs for one in shown), strict=True)
    ]
    notes = [
        "Matched-pairs rank-biserial correlation: 1 if the dispatcher is better in all cases, -1 if the other is.",
        f"In brackets: Wilcoxon's p with Holm's correction for the pairs of a metric. Bold: p < {LEVEL:g}.",
    ]
    heads = [("dispatcher", ""), ("other", ""), *((metric_of(one.key).heading, "") for one in shown)]
    return tabular(heads, [rows], notes)


def _cell(pair: PairTest) -> str:
    p = _p_text(pair.p_holm).removeprefix("= ")
    return latex_figure(f"{pair.effect:.2f} ({p})", bold=pair.differs)
