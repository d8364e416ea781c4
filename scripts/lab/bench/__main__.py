"""Measures whole runs beside other programs on the same jobs, in CPU seconds; prints a table and the same as JSON."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict

from scripts.lab.bench.measure import Row, RunError
from scripts.lab.bench.parts import PARTS, SLOW, Bench
from scripts.lab.kit.options import count, parser_of, prepared
from scripts.lab.kit.page import table

HEADINGS = ("comparison", "program", "jobs", "CPU s", "jobs / CPU s", "peak MiB", "ratio", "goal", "notes")


def cells(r: Row) -> list[str]:
    """A row of the table; spreads are median (least–most)."""
    speed = f"{r.jobs / r.cpu_s.median:.0f}" if r.cpu_s.median else ""  # an idle service takes none
    times = f"{r.ratio} {r.ratio_of}" if r.ratio else ""
    notes = ", ".join(f"{name} {value:g}" for name, value in (r.notes or {}).items())
    return [r.comparison, r.program, f"{r.jobs}", f"{r.cpu_s}", speed, f"{r.peak_mib.median:.0f}", times, r.goal, notes]


def main() -> int:
    """Run what the command line asks for."""
    parser = parser_of("bench", "Measure whole runs beside other programs.", "", processes=0)
    parser.add_argument("--repeats", type=count, default=3, help="turns of each comparison (3)")
    quick = [name for name in PARTS if name not in SLOW]
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=quick, help=f"comparisons ({' '.join(quick)})")
    parser.add_argument("--stress-jobs", type=int, nargs="+", default=[1000, 2000, 4000, 8000], metavar="JOBS")
    options = prepared(parser, parser.parse_args())
    bench = Bench(options.traces, options.out, options.repeats, options.stress_jobs)
    rows: list[Row] = []
    try:
        for part in options.parts:
            rows += PARTS[part](bench)
    except RunError as failure:
        sys.stderr.write(f"bench: {failure}\n")
        return 1
    shown = "\n".join(table(HEADINGS, map(cells, rows), left=len(HEADINGS)))
    sys.stdout.write(f"{shown}\n\n```json\n{json.dumps([asdict(r) for r in rows], indent=1)}\n```\n")
    return 0
