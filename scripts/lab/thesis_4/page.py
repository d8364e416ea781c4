"""Writes the thesis's tables and figures of chapter 4 with ours beside them, and draws gains over PBSFifo."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any, Final

from dardis.report import chart
from scripts.lab.kit.drawing import draw_bars, draw_legend, save, sheet
from scripts.lab.kit.page import NOTHING, FigureTable, markdown, paired_head
from scripts.lab.thesis_4 import paper
from scripts.lab.thesis_4.cases import Span, Test

Metrics = Mapping[str, Any]
KEYS = (
    "queue_weighted_wait", "mean_wait_s", "queue_late_jobs", "queue_tardiness_s", "queue_weighted_tardiness",
    "decision_mean_s", "decision_max_s", "overhead_share",
)  # fmt: skip
"""What metrics.json calls the thesis's measures."""


@dataclass(frozen=True)
class Outcome:
    """A test and the metrics of its runs, by dispatcher and seed."""

    test: Test
    runs: Mapping[tuple[str, int], Metrics]

    @property
    def dispatchers(self) -> list[str]:
        """Who was run."""
        return list(dict.fromkeys(dispatcher for dispatcher, _ in self.runs))

    def measures(self, dispatcher: str) -> tuple[float, ...]:
        """Mean over the seeds, as `paper.MEASURES` has them."""
        of = [metrics for (name, _), metrics in self.runs.items() if name == dispatcher]
        found = [mean(float(metrics[key] or 0.0) for metrics in of) for key in KEYS]
        return (*found[:-1], 100 * found[-1])

    def times(self, dispatcher: str) -> tuple[float, float]:
        """Makespan, h, and the longest decision over the mean walltime, %: means over the seeds."""
        of = [metrics for (name, _), metrics in self.runs.items() if name == dispatcher]
        longest = mean(100 * float(metrics["decision_max_s"]) / metrics["mean_walltime_s"] for metrics in of)
        return mean(metrics["makespan_s"] for metrics in of) / 3600, longest


@dataclass(frozen=True)
class EuroraRun:
    """A run on Eurora-2014: its days and weeks, and its metrics."""

    days: Sequence[Span]
    weeks: Sequence[Span]
    metrics: Metrics


def page(tables: Sequence[FigureTable], title: str) -> str:
    """The whole page as Markdown."""
    parts = [["# Thesis chapter 4: the Eurora scheduler", "", title]]
    parts += [[f"## {_TITLES[one.name][0]}", "", *one.lines(), "", _TITLES[one.name][1]] for one in tables]
    return markdown(parts)


def tables_of(
    tests: Sequence[Outcome], largest: Sequence[Outcome], kinds: Sequence[Outcome], eurora: Mapping[str, EuroraRun]
) -> Iterator[FigureTable]:
    """All tables, named as in docs/reproduction."""
    yield _measures([*tests, *largest])
    yield _gains(tests)
    yield _kinds(kinds)
    yield _phases(tests, eurora.get(paper.MODEL))
    if eurora:
        yield _spans(eurora)


_TITLES: Final = {
    "thesis_4": (
        "Tables 4.13 to 4.15",
        (
            f"PBSFifo is read as `{paper.FIFO}` and PBSWalltime as `{paper.WALLTIME}`: the thesis calls PBSWalltime's "
            "400 a backfilling depth, and in PBS a depth is the number of first jobs that backfilling must not delay. "
            "The last three rows of a test are other readings."
        ),
    ),
    "thesis_4_gain": (
        "Figures 4.6 to 4.10: gain over PBSFifo, %",
        f"Ours over `{paper.FIFO}`, then over the other readings of PBSFifo.",
    ),
    "thesis_4_kinds": ("Figure 4.5: mean decision by resource kinds", "CPU time. The figure has no numbers."),
    "thesis_4_phases": (
        "Table 4.16, figures 4.16 and 4.17: phases of `cp-eurora`",
        (
            "Mean s a cycle in the thesis, on 65 nodes; ms of the processor here, and parts of the whole, %. To select "
            "jobs is to look for an answer of ours as well. Updates count where a model was asked or might have been."
        ),
    ),
    "thesis_4_days": (
        "Figures 4.14 and 4.15: Eurora-2014 by week and day",
        (
            "Mean of a job's wait over the longest wait of its queue, and mean cores in use; the last span ends with "
            "the last submission. The thesis's three weeks under PBSFifo and two under its scheduler had other jobs; "
            "here all have the same. By the definition of WQT the printed values are waits of 0.01 to 0.3 s, so their "
            "unit differs."
        ),
    ),
}
"""Title and remark of each table."""


def _measures(tests: Sequence[Outcome]) -> FigureTable:
    rows = []
    for of in tests:
        theirs = paper.TABLES.get(of.test.table, paper.SECTION_4_4)
        for dispatcher in of.dispatchers:
            row = [str(of.test.jobs), dispatcher]
            printed = theirs.get(dispatcher, (None,) * len(paper.MEASURES))
            for value, found in zip(printed, of.measures(dispatcher), strict=True):
                row += [NOTHING if value is None else f"{value:.10g}", f"{found:.3g}" if found < 10 else f"{found:.0f}"]
            makespan, longest = of.times(dispatcher)
            rows.append([*row, f"{makespan:.1f}", f"{longest:.2g}"])
    head = ["jobs", "dispatcher", *paired_head(paper.NAMES), *_TIMES]
    return FigureTable("thesis_4", head, rows, left=2)


_TIMES: Final = ("makespan (h)", f"longest decision over the mean walltime (%; thesis: {paper.LONGEST_OVERHEAD})")


def gain(of: Outcome, dispatcher: str, place: int, base: str = paper.FIFO) -> tuple[float | None, float]:
    """How much less than under PBSFifo a measure is, %: the thesis's, and ours over a reading of it."""
    theirs = paper.TABLES[of.test.table]
    before, own = of.measures(base)[place], of.measures(dispatcher)[place]
    printed = None
    if dispatcher in theirs:
        printed = 100 * (1 - theirs[dispatcher][place] / theirs[paper.FIFO][place])
    return printed, 100 * (1 - own / before) if before else 0.0


def _gains(tests: Sequence[Outcome]) -> FigureTable:
    bases = (paper.FIFO, *paper.FIFO_READINGS)
    rows = []
    for place, name in enumerate(paper.MEASURES[:5]):
        for dispatcher in (paper.WALLTIME, paper.MODEL, paper.PORTFOLIO):
            row = [name, dispatcher]
            for of in tests:
                known = {dispatcher, *bases} <= {*of.dispatchers}
                found = [gain(of, dispatcher, place, base) for base in bases] if known else []
                values = [found[0][0], *(ours for _, ours in found)] if known else [None] * (1 + len(bases))
                row += [NOTHING if value is None else f"{value:.0f}" for value in values]
            rows.append(row)
    whose = ("thesis", "ours", *(f"ours over {base}" for base in paper.FIFO_READINGS))
    head = [f"gain with {of.test.jobs} jobs (%): {one}" for of in tests for one in whose]
    return FigureTable("thesis_4_gain", ["measure", "dispatcher", *head], rows, left=2)


def _kinds(kinds: Sequence[Outcome]) -> FigureTable:
    rows = [
        [str(of.test.kinds), *(f"{1000 * of.measures(dispatcher)[5]:.2f}" for dispatcher in paper.OPPONENTS)]
        for of in kinds
        if {*paper.OPPONENTS} <= {*of.dispatchers}
    ]
    head = ["resource kinds", *(f"{name}: mean CPU per decision (ms)" for name in paper.OPPONENTS)]
    return FigureTable("thesis_4_kinds", head, rows)


def _phases(tests: Sequence[Outcome], eurora: EuroraRun | None) -> FigureTable:
    of_tests = {
        f"{of.test.jobs} jobs": [metrics for (name, _), metrics in of.runs.items() if name == paper.MODEL]
        for of in tests
    }
    runs = of_tests | {"Eurora-2014": [] if eurora is None else [eurora.metrics]}
    ours = {name: [_phase_ms(of, phase) for phase in paper.PHASES] for name, of in runs.items() if of}
    theirs = {
        f"thesis, {where}": [seconds[place] for seconds in paper.TABLE_4_16.values()]
        for place, where in enumerate(("simulated", "Eurora"))
    }
    columns = theirs | ours
    rows = []
    for place, phase in enumerate((*paper.TABLE_4_16, "total")):
        row = [phase]
        for name, values in columns.items():
            whole = sum(values)
            value = [*values, whole][place]
            row += [f"{value:.2f}" if name in theirs else f"{value:.1f}", f"{100 * value / max(whole, 1e-9):.0f}"]
        rows.append(row)
    head = [f"{name} ({unit})" for name in columns for unit in ("s" if name in theirs else "ms", "%")]
    return FigureTable("thesis_4_phases", ["phase", *head], rows)


def _phase_ms(runs: Sequence[Metrics], phase: str) -> float:
    """Mean ms a decision."""
    decisions = (max(float(metrics.get("solver_decisions", 0)), 1.0) for metrics in runs)
    return mean(1000 * float(of.get(phase, 0.0)) / count for of, count in zip(runs, decisions, strict=True))


def _spans(eurora: Mapping[str, EuroraRun]) -> FigureTable:
    printed = [cell for name in eurora for cell in paper.WEEKS.get(name, (NOTHING,) * 3)]
    rows = [["weeks, thesis", NOTHING, *printed]]
    first = next(iter(eurora.values()))
    for what, which in (("week", "weeks"), ("day", "days")):
        for place, span in enumerate(getattr(first, which)):
            row = [f"{what} {place + 1}", str(span.jobs)]
            for of in eurora.values():
                there = getattr(of, which)[place]
                row += [f"{there.weighted_wait:.3g}", f"{there.deviation:.3g}", f"{there.cores:.0f}"]
            rows.append(row)
    told = ("mean of wait / longest wait of the queue", "standard deviation", "mean cores in use")
    head = [f"{name}: {what}" for name in eurora for what in told]
    return FigureTable("thesis_4_days", ["span", "jobs", *head], rows)


SHOWN = ("WQT", "AQ", "NL", "TR", "WT")


def draw(out: Path, tests: Sequence[Outcome]) -> None:
    """Write the figure, a panel a measure; nothing where somebody has not been run."""
    if not all({*paper.OPPONENTS} <= {*of.dispatchers} for of in tests):
        return
    who = (paper.WALLTIME, paper.MODEL)
    looks = [(chart.CYCLE[place], hatch) for place in (0, 1) for hatch in ("///", "")]
    with chart.style():
        drawing, rows = sheet(7.0, 3, 2)
        panels = [axes for row in rows for axes in row]
        for name, axes in zip(SHOWN, panels, strict=False):
            place = paper.MEASURES.index(name)
            pairs = {dispatcher: [gain(of, dispatcher, place) for of in tests] for dispatcher in who}
            groups = [
                (f"{dispatcher}, {whose}", [pair[side] or 0.0 for pair in pairs[dispatcher]])
                for dispatcher in who
                for side, whose in enumerate(("thesis", "ours"))
            ]
            draw_bars(axes, groups, looks)
            axes.set_title(name)
            axes.set_xticks(range(len(tests)), [f"{of.test.jobs} jobs" for of in tests])
            axes.set_ylabel("gain over PBSFifo, %")
        for axes in panels[len(SHOWN) :]:
            axes.set_visible(False)
        draw_legend(drawing, panels[0], 2)
        save(drawing, out / "gains")
