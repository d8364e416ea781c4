"""Measures whole runs beside other programs on the same jobs, in CPU seconds; prints a table and the same as JSON."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from scripts.lab.bench.measure import RunError
from scripts.lab.bench.parts import PARTS, SLOW, Bench
from scripts.lab.bench.rows import Row
from scripts.lab.kit.command import ROOT, SHARED

HEADINGS = ("comparison", "program", "jobs", "CPU s", "jobs / CPU s", "peak MiB", "ratio", "goal", "notes")


def table(rows: Sequence[Row]) -> str:
    """Write the rows as a Markdown table; spreads are median (least–most)."""
    lines = [HEADINGS, ("---",) * len(HEADINGS)]
    for r in rows:
        speed = f"{r.jobs / r.cpu_s.median:.0f}" if r.cpu_s.median else ""  # an idle service takes none
        times = f"{r.ratio} {r.ratio_of}" if r.ratio else ""
        notes = ", ".join(f"{name} {value:g}" for name, value in (r.notes or {}).items())
        peak = f"{r.peak_mib.median:.0f}"
        lines.append((r.comparison, r.program, str(r.jobs), str(r.cpu_s), speed, peak, times, r.goal, notes))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(
        prog="scripts/lab/run bench", description="Measure whole runs beside other programs."
    )
    parser.add_argument("--traces", type=Path, default=SHARED / "traces", help="folder of the SWF traces")
    parser.add_argument("--repeats", type=int, default=3, help="turns of each comparison (3)")
    quick = [name for name in PARTS if name not in SLOW]
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=quick, help=f"comparisons ({' '.join(quick)})")
    parser.add_argument("--stress-jobs", type=int, nargs="+", default=[1000, 2000, 4000, 8000], metavar="JOBS")
    options = parser.parse_args()
    if not options.traces.is_dir():
        parser.error(f"{options.traces}: no such folder; --traces names the one with the SWF files")
    if options.repeats < 1:
        parser.error("--repeats must be at least 1")
    bench = Bench(options.traces, ROOT / "out" / "bench", options.repeats, options.stress_jobs)
    rows: list[Row] = []
    try:
        for part in options.parts:
            rows += PARTS[part](bench)
    except RunError as failure:
        sys.stderr.write(f"bench: {failure}\n")
        return 1
    sys.stdout.write(f"{table(rows)}\n\n```json\n{json.dumps([asdict(r) for r in rows], indent=1)}\n```\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
