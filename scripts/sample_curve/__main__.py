"""The command behind scripts/reproduce/sample: does the runs that are missing, and writes the curve and its table."""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from scripts.sample_curve.plot import draw
from scripts.sample_curve.runs import CASES, ROOT, Case, Point, Run, do, point, prepare, runs_of


def curve(case: Case, traces: Path, out: Path, processes: int) -> list[Point]:
    """The points of a case, all nodes first."""
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
    return [point(sample, figures) for sample, figures in by_sample.items()]


def table(curves: dict[str, Sequence[Point]]) -> str:
    """Every point beside full rounds."""
    lines = [
        "| trace | nodes a unit | messages a job | of full rounds | mean wait | (least–most over seeds) | mean bounded slowdown "
        "| longest wait |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name, (full, *sampled) in curves.items():
        lines.append(
            f"| {name} | all | {full.messages:.0f} | 1 | {full.wait_s:.0f} s | | {full.slowdown:.1f} "
            f"| {full.longest_wait_s / 3600:.1f} h |"
        )
        lines += [
            f"| | {one.sample} | {one.messages:.0f} | {one.messages / full.messages:.2f} | {one.wait_s / full.wait_s:.2f} "
            f"| {one.least_wait_s / full.wait_s:.2f}–{one.most_wait_s / full.wait_s:.2f} "
            f"| {one.slowdown / full.slowdown:.2f} | {one.longest_wait_s / full.longest_wait_s:.2f} |"
            for one in sampled
        ]
    return "\n".join([*lines, ""])


def main() -> int:
    """Run what is missing; print and write the table, and draw the curve."""
    parser = argparse.ArgumentParser(prog="scripts/reproduce/sample", description=__doc__)
    parser.add_argument("--traces", type=Path, default=ROOT.parent / "shared" / "traces", help="folder of the traces")
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "sample", help="folder (out/sample)")
    parser.add_argument("--only", nargs="+", choices=[case.name for case in CASES], help="only these traces")
    parser.add_argument("--processes", type=int, default=1, help="runs at once (1)")
    options = parser.parse_args()
    if not options.traces.is_dir():
        parser.error(f"{options.traces}: no such folder; --traces names the one with the traces")
    out = options.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    chosen = [case for case in CASES if not options.only or case.name in options.only]
    curves = {case.name: curve(case, options.traces.resolve(), out, options.processes) for case in chosen}
    text = table(curves)
    (out / "sample.md").write_text(text)
    draw(out, curves)
    sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
