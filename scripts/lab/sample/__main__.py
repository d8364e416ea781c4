"""Runs the throughput set-up with samples of several sizes on real traces, and writes the curve and its table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from dardis.report import chart
from scripts.lab.kit import page
from scripts.lab.kit.cache import Metrics, report_missing, run_missing
from scripts.lab.kit.drawing import save
from scripts.lab.kit.options import parser_of, prepared
from scripts.lab.sample.runs import ALL_TRACES, CASES, Point, points_of, runs_of, together

TICKS = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


def draw(out: Path, curves: Mapping[str, Sequence[Point]]) -> None:
    """Write the figure as PNG and SVG: waits and slowdowns over messages a job, all relative to full rounds."""
    from matplotlib import pyplot as plt

    with chart.style():
        drawing, axes = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
        for place, (name, points) in enumerate(curves.items()):
            whole = name == ALL_TRACES
            looks = {"color": chart.INK if whole else chart.CYCLE[place], "linewidth": 2 if whole else 0.8}
            across = [one.messages for one in points]
            for half, values in zip(axes, ([p.wait for p in points], [p.slowdown for p in points]), strict=True):
                half.plot(across, values, marker="o", markersize=5 if whole else 3, label=name, **looks)
                for one, x, y in zip(points, across, values, strict=True):
                    if whole and one.sample:
                        half.annotate(str(one.sample), (x, y), textcoords="offset points", xytext=(5, 5), fontsize=9)
        for half, what in zip(axes, ("mean wait", "mean bounded slowdown"), strict=True):
            half.set_xscale("log")
            half.set_xticks(TICKS, [str(tick) for tick in TICKS])
            half.set_xticks([], minor=True)
            half.set_xlabel("messages a job, relative to full rounds")
            half.set_ylabel(f"{what}, relative to full rounds")
            half.axhline(1, color=chart.GREY, linewidth=0.8)
        axes[0].legend()
        save(drawing, out / "sample")
        plt.close(drawing)


def table(full: Mapping[str, Metrics], curves: Mapping[str, Sequence[Point]]) -> str:
    """Every point beside full rounds."""
    head = (
        "trace", "nodes a unit", "messages a job", "mean wait", "over seeds", "mean bounded slowdown", "longest wait",
    )  # fmt: skip
    rows = []
    for name, points in curves.items():
        figures = ["1", "1", "", "1", "1"]
        if name in full:
            of = full[name]
            figures = [
                f"{of['messages'] / of['jobs']:.0f}", f"{of['mean_wait_s']:.0f} s", "",
                f"{of['mean_bounded_slowdown']:.1f}", f"{of['max_wait_s'] / 3600:.1f} h",
            ]  # fmt: skip
        rows.append([name, "all", *figures])
        rows += [
            ["", f"{p.sample}", f"{p.messages:.2f}", f"{p.wait:.2f}", f"{p.least_wait:.2f}–{p.most_wait:.2f}",
             f"{p.slowdown:.2f}", f"{p.longest_wait:.2f}"]
            for p in points
            if p.sample
        ]  # fmt: skip
    return page.markdown([page.table(head, rows, left=len(head), blank=" ")])


def main() -> int:
    """Run what is missing; print and write the table, and draw the curve."""
    parser = parser_of("sample", __doc__, "")
    parser.add_argument("--only", nargs="+", choices=[case.name for case in CASES], help="only these traces")
    options = prepared(parser, parser.parse_args())
    out = options.out
    chosen = [case for case in CASES if not options.only or case.name in options.only]
    runs = {case.name: runs_of(case, options.traces, out) for case in chosen}
    known = run_missing([one for of in runs.values() for one in of.values()], out, options.processes)
    if missing := sum(map(len, runs.values())) - len(known):
        return report_missing(missing)
    figures: dict[str, dict[int, list[Metrics]]] = {name: defaultdict(list) for name in runs}
    for name, of in runs.items():
        for (sample, _), one in of.items():
            figures[name][sample].append(known[one])
    curves = {name: points_of(of) for name, of in figures.items()}
    curves[ALL_TRACES] = together(list(curves.values()))
    text = table({name: of[0][0] for name, of in figures.items()}, curves)
    draw(out, curves)
    page.publish(out / "sample.md", text)
    return 0
