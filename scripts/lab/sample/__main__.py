"""The command behind scripts/lab/run sample: does the runs that are missing, and writes the curve and its table."""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from scripts.lab.kit import page
from scripts.lab.kit.command import ROOT, SHARED
from scripts.lab.sample.plot import draw
from scripts.lab.sample.runs import (
    ALL_TRACES,
    CASES,
    Case,
    Point,
    Run,
    do,
    points_of,
    prepare,
    runs_of,
    together,
)  # fmt: skip


def curve(case: Case, traces: Path, out: Path, processes: int) -> dict[int, list[dict[str, float]]]:
    """The figures of a case's runs, by sample."""
    trace, platform = prepare(case, traces, out)
    runs = runs_of(case)

    def figures_of(run: Run) -> dict[str, float]:
        figures = do(run, trace, platform, out)
        sys.stderr.write(f"{case.name}: sample {run.sample or 'all'}, seed {run.seed}\n")
        return figures

    by_sample = defaultdict(list)
    with ThreadPoolExecutor(processes) as pool:
        for run, figures in zip(runs, pool.map(figures_of, runs), strict=True):
            by_sample[run.sample].append(figures)
    return by_sample


def table(full: Mapping[str, dict[str, float]], curves: Mapping[str, Sequence[Point]]) -> str:
    """Every point beside full rounds."""
    head = (
        "trace",
        "nodes a unit",
        "messages a job",
        "mean wait",
        "over seeds",
        "mean bounded slowdown",
        "longest wait",
    )
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
    parser = argparse.ArgumentParser(prog="scripts/lab/run sample", description=__doc__)
    parser.add_argument("--traces", type=Path, default=SHARED / "traces", help="folder of the traces")
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "sample", help="folder (out/sample)")
    parser.add_argument("--only", nargs="+", choices=[case.name for case in CASES], help="only these traces")
    parser.add_argument("--processes", type=int, default=1, help="runs at once (1)")
    options = parser.parse_args()
    if not options.traces.is_dir():
        parser.error(f"{options.traces}: no such folder; --traces names the one with the traces")
    out = options.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    chosen = [case for case in CASES if not options.only or case.name in options.only]
    figures = {case.name: curve(case, options.traces.resolve(), out, options.processes) for case in chosen}
    curves = {name: points_of(of) for name, of in figures.items()}
    curves[ALL_TRACES] = together(list(curves.values()))
    text = table({name: of[0][0] for name, of in figures.items()}, curves)
    draw(out, curves)
    page.publish(out / "sample.md", text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
