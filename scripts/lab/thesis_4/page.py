"""Writes the thesis's tables and figures of chapter 4 with ours beside them, and draws gains over PBSFifo."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

from dardis.report import chart
from scripts.lab.kit.drawing import draw_bars, draw_legend, save, sheet
from scripts.lab.kit.page import NOTHING, markdown, paired_head, table
from scripts.lab.thesis_4 import paper
from scripts.lab.thesis_4.cases import Day, Test

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


def page(tests: Sequence[Outcome], kinds: Sequence[Outcome], days: Mapping[str, Sequence[Day]], title: str) -> str:
    """The whole page as Markdown."""
    parts = [["# Thesis chapter 4: the Eurora scheduler", "", title]]
    for of in tests:
        head = f"## Table {of.test.table}: {of.test.nodes} nodes, {of.test.jobs} jobs"
        parts.append([head, "", *_measures(of), "", "Left the thesis, right ours."])
    parts.append(["## Figures 4.6 to 4.10: gain over `pbs-fifo`, %", "", *_gains(tests)])
    parts.append(["## Figure 4.5: mean decision by resource kinds, ms", "", *_kinds(kinds)])
    parts.append(["## Table 4.16, figure 4.16: phases of `cp-eurora`", "", *_phases(tests), "", _PHASES])
    if days:
        parts.append(["## Figures 4.14 and 4.15: Eurora-2014 by day", "", *_days(days), "", _DAYS])
    return markdown(parts)


_PHASES = (
    "Mean s a cycle in the thesis, on 65 nodes; ms of the processor here, and parts of the whole, %. To select jobs is "
    "to look for an answer of ours as well. Updates count where a model was asked or might have been."
)
_DAYS = (
    "Waits over the longest wait of the queue, a job's mean, and mean cores in use. The thesis's weeks under PBSFifo "
    "and under its scheduler had other jobs; here all have the same."
)


def _measures(of: Outcome) -> list[str]:
    theirs, rows = paper.TABLES[of.test.table], []
    for dispatcher in of.dispatchers:
        row = [f"`{dispatcher}`"]
        printed = theirs.get(dispatcher, (None,) * len(paper.MEASURES))
        for value, found in zip(printed, of.measures(dispatcher), strict=True):
            row += [NOTHING if value is None else f"{value:,.6g}", f"{found:.3g}" if found < 10 else f"{found:,.0f}"]
        rows.append(row)
    return table(["", *paired_head(paper.MEASURES)], rows)


def gain(of: Outcome, dispatcher: str, place: int) -> tuple[float | None, float]:
    """How much less than under `pbs-fifo` a measure is, %: the thesis's, and ours."""
    theirs = paper.TABLES[of.test.table]
    base, own = of.measures(paper.FIFO)[place], of.measures(dispatcher)[place]
    printed = None
    if dispatcher in theirs:
        printed = 100 * (1 - theirs[dispatcher][place] / theirs[paper.FIFO][place])
    return printed, 100 * (1 - own / base) if base else 0.0


def _gains(tests: Sequence[Outcome]) -> list[str]:
    rows = []
    for place, name in enumerate(paper.MEASURES[:5]):
        for dispatcher in (paper.WALLTIME, paper.MODEL, paper.PORTFOLIO):
            row = [name, f"`{dispatcher}`"]
            for of in tests:
                if {dispatcher, paper.FIFO} <= {*of.dispatchers}:
                    printed, ours = gain(of, dispatcher, place)
                    row += [NOTHING if printed is None else f"{printed:,.0f}", f"{ours:,.0f}"]
                else:
                    row += [NOTHING, NOTHING]
            rows.append(row)
    return table(["", "", *paired_head(f"{of.test.jobs} jobs" for of in tests)], rows, left=2)


def _kinds(kinds: Sequence[Outcome]) -> list[str]:
    rows = [
        [str(of.test.kinds), *(f"{1000 * of.measures(dispatcher)[5]:.2f}" for dispatcher in paper.OPPONENTS)]
        for of in kinds
        if {*paper.OPPONENTS} <= {*of.dispatchers}
    ]
    return table(["kinds", *(f"`{name}`" for name in paper.OPPONENTS)], rows)


def _phases(tests: Sequence[Outcome]) -> list[str]:
    with_model = [of for of in tests if paper.MODEL in of.dispatchers]
    whole = sum(paper.TABLE_4_16.values())
    ours = [_phase_ms(of) for of in with_model]
    rows = []
    for place, (phase, seconds) in enumerate(paper.TABLE_4_16.items()):
        row = [phase, f"{seconds:.2f}", f"{100 * seconds / whole:.0f}"]
        for found in ours:
            row += [f"{found[place]:.1f}", f"{100 * found[place] / max(sum(found), 1e-9):.0f}"]
        rows.append(row)
    head = [cell for of in with_model for cell in (f"{of.test.jobs} jobs, ms", "%")]
    return table(["", "thesis, s", "%", *head], rows)


def _phase_ms(of: Outcome) -> list[float]:
    """Mean ms a decision, by phase."""
    runs = [metrics for (name, _), metrics in of.runs.items() if name == paper.MODEL]
    return [
        mean(1000 * float(metrics.get(phase, 0.0)) / max(metrics.get("solver_decisions", 0), 1) for metrics in runs)
        for phase in paper.PHASES
    ]


def _days(days: Mapping[str, Sequence[Day]]) -> list[str]:
    first = next(iter(days.values()))
    rows = []
    for place, day in enumerate(first):
        row = [str(place + 1), str(day.jobs)]
        for of in days.values():
            row += [f"{of[place].weighted_wait:.3g}", f"{of[place].cores:.0f}"]
        rows.append(row)
    head = [cell for name in days for cell in (f"`{name}`: wait", "cores")]
    return table(["day", "jobs", *head], rows)


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
            axes.set_ylabel("gain over pbs-fifo, %")
        for axes in panels[len(SHOWN) :]:
            axes.set_visible(False)
        draw_legend(drawing, panels[0], 2)
        save(drawing, out / "gains")
