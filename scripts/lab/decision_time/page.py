"""Writes table 5.2 with ours beside it, what a job costs by nodes, and where the curves cross, as Markdown and CSV."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from scripts.lab.decision_time.contenders import CONTENDERS, DARDIS
from scripts.lab.decision_time.figures import Measured, headline, verdict
from scripts.lab.kit.page import NOTHING, markdown, table, write_csv
from scripts.lab.kit.spread import Spread
from scripts.lab.kit.thesis import TABLE_5_2

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
