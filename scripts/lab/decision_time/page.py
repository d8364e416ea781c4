"""Writes table 5.2 with ours beside it, what a job costs by nodes, and where curves cross: page, CSV and plot."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

from dardis.report import chart
from scripts.lab.decision_time.contenders import CONTENDERS, DARDIS, DecisionCause, Ledger
from scripts.lab.decision_time.workloads import Case
from scripts.lab.kit.drawing import draw_spreads, save
from scripts.lab.kit.page import NOTHING, markdown, table, write_csv
from scripts.lab.kit.spread import Spread
from scripts.lab.kit.thesis import TABLE_5_2


@dataclass(frozen=True)
class Outcome:
    """One run. Seconds of CPU a job, but `…_mean_s` and `…_deviation_s`: those are of decisions for jobs that came.

    Of a central dispatcher `dispatching` is all there is, and a decision is a cycle.
    """

    decisions: int
    scheduling_s: float
    dispatching_s: float
    placing_s: float
    """Of all that, what a job took from its submission to its place."""
    scheduling_mean_s: float
    scheduling_deviation_s: float
    dispatching_mean_s: float
    dispatching_deviation_s: float
    whole_run_s: float
    """CPU of the run, with what is not counted."""

    @property
    def total_s(self) -> float:
        """CPU a job, all nodes and everything that followed."""
        return self.scheduling_s + self.dispatching_s


def outcome(case: Case, ledger: Ledger, whole_run_s: float) -> Outcome:
    """Sum up what a run's ledger says."""
    came = sum(one.cause is DecisionCause.SUBMIT for one in ledger.decisions)
    jobs = case.counted or came
    return Outcome(
        decisions=len(ledger.decisions),
        scheduling_s=ledger.total("scheduling") / jobs,
        dispatching_s=ledger.total("dispatching") / jobs,
        placing_s=(ledger.total("scheduling", DecisionCause.SUBMIT) + ledger.total("dispatching", DecisionCause.SUBMIT))
        / jobs,
        scheduling_mean_s=ledger.total("scheduling", DecisionCause.SUBMIT) / came,
        scheduling_deviation_s=ledger.deviation("scheduling"),
        dispatching_mean_s=ledger.total("dispatching", DecisionCause.SUBMIT) / came,
        dispatching_deviation_s=ledger.deviation("dispatching"),
        whole_run_s=whole_run_s,
    )


@dataclass(frozen=True)
class Measured:
    """The runs of one contender on one case."""

    case: str
    label: str
    nodes: int
    jobs: int
    runs: Sequence[Outcome]

    def spread(self, figure: str) -> Spread:
        """Median and range of a figure of `Outcome`."""
        return Spread.of([getattr(run, figure) for run in self.runs])

    @property
    def share_s(self) -> Spread:
        """CPU a job of one node's manager and of the task manager, where every node has a processor of its own."""
        return Spread.of([run.scheduling_s / self.nodes + run.dispatching_s for run in self.runs])


def crossings(ours: Mapping[int, float], theirs: Mapping[int, float]) -> list[float]:
    """Nodes at which two curves cross, drawn straight on log-log paper between the sizes that both have."""
    nodes = sorted(ours.keys() & theirs.keys())
    gaps = [math.log(ours[size] / theirs[size]) for size in nodes]
    found = []
    for (low, gap), (high, next_gap) in pairwise(zip(nodes, gaps, strict=True)):
        if gap * next_gap < 0:
            found.append(low * (high / low) ** (gap / (gap - next_gap)))
    return found


def verdict(name: str, ours: Mapping[int, float], theirs: Mapping[int, float]) -> str:
    """Whether and where the curve of `name` crosses ours, and how they end, in words."""
    nodes = sorted(ours.keys() & theirs.keys())
    last = nodes[-1]
    times = theirs[last] / ours[last]
    compared = f"{two_digits(times)} times dearer" if times >= 1 else f"{two_digits(1 / times)} times cheaper"
    where = [two_digits(found) for found in crossings(ours, theirs)]
    crossed = f"crosses at about {' and '.join(where)} nodes" if where else f"no crossing from {nodes[0]:,} nodes on"
    return f"{name}: {crossed}; at {last:,} {compared}"


def headline(name: str, ours: Mapping[int, float], others: Mapping[str, Mapping[int, float]]) -> str:
    """Who crosses the curve of `name`, and where, in one sentence."""
    where = {label: [two_digits(found) for found in crossings(ours, theirs)] for label, theirs in others.items()}
    crossed = [f"{' and '.join(nodes)} by {label}" for label, nodes in where.items() if nodes]
    return f"{name}: crossed at about {', '.join(crossed)}" if crossed else f"{name}: crossed by nobody"


def two_digits(value: float) -> str:
    """The value to two digits, thousands apart."""
    rounded = float(f"{value:.2g}")
    return f"{rounded:,.0f}" if rounded >= 10 else f"{rounded:g}"


TOGETHER: Final = f"{DARDIS}, all nodes together"
SHARE: Final = f"{DARDIS}, one node and the task manager"
READINGS: Final = (TOGETHER, SHARE)
FIGURES: Final = (
    "scheduling_s", "dispatching_s", "total_s", "placing_s", "scheduling_mean_s", "scheduling_deviation_s",
    "dispatching_mean_s", "dispatching_deviation_s", "decisions", "whole_run_s",
)  # fmt: skip


def page(lead: str, at_300: Sequence[Measured], by_nodes: Sequence[Measured]) -> str:
    """The whole page as Markdown."""
    parts = [
        ["# Thesis table 5.2: what a decision costs", "", lead],
        ["## 300 nodes: mean and standard deviation, ms", "", *_table_5_2(at_300), "", _AS_THERE],
        ["## By nodes: CPU a job, ms", "", *_by_nodes(by_nodes), "", _BY_NODES],
        ["## Whether and where the curves cross", "", *_crossings(by_nodes)],
    ]
    return markdown(parts)


_AS_THERE = (
    "Scheduling is what the node managers do (their sum over all nodes), dispatching what the task manager does, as in "
    "the thesis (5.3.1, 5.3.2), from a job's submission to its place; a cycle of a central dispatcher is an instant at "
    "which something happened. A job: everything, asking again after early ends too, over the jobs. Medians of runs."
)
_BY_NODES = (
    "Median (least–most) of the runs; one figure: one run, as it takes long. One node and the task manager: scheduling "
    "divided by the nodes, and dispatching; messages are not in it."
)


def _table_5_2(found: Sequence[Measured]) -> list[str]:
    rows = [
        ["thesis", name, "", f"{1e3 * there:g}", f"{1e3 * spread:g}", NOTHING, ""]
        for name, (there, spread) in TABLE_5_2.items()
    ]
    for one in found:
        parts = ("scheduling", "dispatching") if one.label == DARDIS else ("dispatching",)
        for part in parts:
            what = part if one.label == DARDIS else "cycle"
            mean, deviation = (ms(one.spread(f"{part}_{figure}_s").median) for figure in ("mean", "deviation"))
            job = ms(one.spread("total_s").median) if part == parts[0] and one.jobs else NOTHING
            rows.append([one.case, one.label, what, mean, deviation, job, str(len(one.runs))])
    return table(["case", "dispatcher", "", "mean", "std. dev.", "a job", "runs"], rows, left=3, blank=" ")


def curves(found: Sequence[Measured]) -> dict[str, dict[int, Spread]]:
    """Seconds a job by nodes: DARDIS in both readings, then the others."""
    lines: dict[str, dict[int, Spread]] = {TOGETHER: {}, SHARE: {}}
    lines |= {label: {} for label in CONTENDERS if label != DARDIS}
    for one in found:
        if one.label == DARDIS:
            lines[TOGETHER][one.nodes] = one.spread("total_s")
            lines[SHARE][one.nodes] = one.share_s
        else:
            lines[one.label][one.nodes] = one.spread("total_s")
    return {label: curve for label, curve in lines.items() if curve}


def _by_nodes(found: Sequence[Measured]) -> list[str]:
    sizes = sorted({one.nodes for one in found})
    counted = {one.nodes: one.jobs for one in found}
    rows = [["jobs counted", *(f"{counted[size]:,}" for size in sizes)]]
    for label, line in _shown(found):
        rows.append([label, *(spread_ms(line.get(size)) for size in sizes)])
    return table(["nodes", *(f"{size:,}" for size in sizes)], rows)


def _shown(found: Sequence[Measured]) -> Iterator[tuple[str, Mapping[int, Spread]]]:
    for label, curve in curves(found).items():
        yield label, curve
        if label == TOGETHER:
            ours = [one for one in found if one.label == DARDIS]
            for part in ("scheduling", "dispatching"):
                yield f"of it {part}", {one.nodes: one.spread(f"{part}_s") for one in ours}


def _beside(found: Sequence[Measured]) -> Iterator[tuple[str, dict[int, float], dict[str, dict[int, float]]]]:
    """DARDIS by reading, all nodes together or one node and the task manager, with the others: medians by nodes."""
    medians = {label: {size: one.median for size, one in curve.items()} for label, curve in curves(found).items()}
    others = {label: curve for label, curve in medians.items() if label not in READINGS}
    for reading in READINGS:
        if reading in medians:
            ours = medians[reading]
            yield reading, ours, {label: curve for label, curve in others.items() if ours.keys() & curve.keys()}


def headlines(found: Sequence[Measured]) -> list[str]:
    """Who crosses which reading of DARDIS, and where: a sentence each."""
    return [headline(reading, ours, others) for reading, ours, others in _beside(found)]


def _crossings(found: Sequence[Measured]) -> Iterator[str]:
    for reading, ours, others in _beside(found):
        yield f"* beside {reading}:"
        yield from (f"  * {verdict(label, ours, curve)}" for label, curve in others.items())


def ms(seconds: float) -> str:
    """Milliseconds, three digits."""
    value = 1e3 * seconds
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def spread_ms(spread: Spread | None) -> str:
    """Milliseconds, with the range where there is one."""
    if spread is None:
        return NOTHING
    if spread.least == spread.most:
        return ms(spread.median)
    return f"{ms(spread.median)} ({ms(spread.least)}–{ms(spread.most)})"


def write_figures(path: Path, found: Sequence[Measured]) -> None:
    """Every figure of every contender on every case: median, least and most of its runs, s."""
    ends = ("median", "least", "most")
    head = ("case", "nodes", "jobs", "dispatcher", "runs", *(f"{f}_{end}" for f in FIGURES for end in ends))
    rows = []
    for one in found:
        spreads = [one.spread(figure) for figure in FIGURES]
        values = [f"{getattr(spread, end):.6g}" for spread in spreads for end in ends]
        rows.append([one.case, one.nodes, one.jobs, one.label, len(one.runs), *values])
    write_csv(path, head, rows)


Curve = Mapping[int, Spread]
PLACES: Final = (0, 5, 2, 1, 4, 3, 6, 7)
"""Which look of the charts each curve has, so that neighbours differ most."""


def draw(out: Path, curves: Mapping[str, Curve], headlines: Sequence[str]) -> None:
    """Write figure and words as PNG and SVG; each curve has its median, and bars from least to most."""
    with chart.style():
        drawing, (axes,) = chart.figure(chart.FULL, 6.2)
        for place, (label, curve) in zip(PLACES, curves.items(), strict=False):
            draw_spreads(axes, dict(sorted(curve.items())), label, place, 1.8, 3)
        ours, theirs, cycle = (mean for mean, _ in TABLE_5_2.values())
        for text, value in (("thesis: a cycle of the rules", cycle), ("thesis: DARDIS", ours + theirs)):
            axes.plot([300], [value], marker="*", markersize=13, color=chart.INK, linestyle="none")
            axes.annotate(text, (300, value), xytext=(-12, 0), textcoords="offset points", ha="right", va="center")
        axes.set_xscale("log")
        axes.set_yscale("log")
        sizes = sorted({size for curve in curves.values() for size in curve})
        axes.set_xlim(sizes[0] / 4, 1.3 * sizes[-1])
        axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
        axes.minorticks_off()
        axes.set_xlabel("nodes of the machine")
        axes.set_ylabel("CPU seconds a job (median; bars: least to most)\nthesis: seconds")
        axes.set_title("\n".join(headlines))
        drawing.legend(loc="outside lower center", ncols=3)
        save(drawing, out)
