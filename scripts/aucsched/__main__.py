"""The command behind scripts/reproduce/aucsched: does the runs that are missing, and writes page, table and plots."""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from scripts.aucsched.cases import MACHINE_OF, Case, asked_runs, run
from scripts.aucsched.figures import Figures, measured
from scripts.aucsched.page import Found, page
from scripts.aucsched.plots import draw_footprints, draw_utilisation
from scripts.kit.cache import in_processes
from scripts.kit.command import ROOT
from scripts.kit.page import publish, write_csv


def options_of() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="scripts/reproduce/aucsched", description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "aucsched", help="folder (out/aucsched)")
    parser.add_argument("--tables", type=_words, default=[*MACHINE_OF], help="of the paper, with commas (5,6,7,8)")
    parser.add_argument("--seeds", type=_numbers, default=_numbers("1,2,3,4,5,6,7"),
                        help="of the workloads on machines S and M, with commas (1 to 7)")  # fmt: skip
    parser.add_argument("--seeds-large", type=int, default=2, metavar="N",
                        help="on machine L the first N of them (2)")  # fmt: skip
    parser.add_argument("--hours", type=float, default=4.0, help="theoretical runtime of a workload (4)")
    parser.add_argument("--processes", type=int, default=2, help="runs at once (2)")
    parser.add_argument("--limit", type=float, metavar="S", help="begin no run after S s; the same command goes on")
    options = parser.parse_args()
    for table in options.tables:
        if table not in MACHINE_OF:
            parser.error(f"--tables: {table}; expected some of {', '.join(MACHINE_OF)}")
    return options


def main() -> int:
    """Print the page, and write it beside the runs; 1 where runs are missing."""
    options = options_of()
    out = options.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    large = options.seeds[: options.seeds_large]
    seeds = {table: large if MACHINE_OF[table] == "L" else options.seeds for table in options.tables}
    until = math.inf if options.limit is None else time.time() + options.limit
    asked = list(asked_runs(seeds, options.hours, out))
    every = in_processes(
        run, {one: (one, out, until) for _, _, _, one in asked}, lambda one: one.folder(out).name, options.processes
    )
    done = {one: metrics for one, metrics in every if metrics is not None}
    runs: dict[tuple[Case, str], list[dict[str, Any]]] = defaultdict(list)
    for case, label, _, one in asked:
        if one in done:
            runs[case, label].append(done[one])
    found: Found = {key: measured(of) for key, of in runs.items()}
    _write_figures(out / "aucsched.csv", found)
    draw_utilisation(out / "utilisation", found)
    draw_footprints(out / "footprints", found)
    publish(out / "aucsched.md", page(found, options.hours))
    missing = len({one for _, _, _, one in asked}) - len(done)
    if missing:
        sys.stderr.write(f"{missing} runs are missing: the same command goes on\n")
    return 1 if missing else 0


def _write_figures(path: Path, found: Found) -> None:
    """All figures of everybody."""
    rows = [
        (case.table, case.name, label, *of.figures, of.decision_ms, of.proven, of.seeds)
        for (case, label), of in found.items()
    ]
    head = ("table", "case", "dispatcher", *Figures._fields, "decision_cpu_ms", "proven", "seeds")
    write_csv(path, head, rows)


def _words(text: str) -> list[str]:
    return text.split(",")


def _numbers(text: str) -> list[int]:
    return [int(word) for word in text.split(",")]


if __name__ == "__main__":
    sys.exit(main())
