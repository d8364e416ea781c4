"""The command behind scripts/lab/run cp_2014: does the runs that are missing, and writes page, figures and plots."""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
from pathlib import Path
from typing import Final

from dardis.workload.read import read_trace
from scripts.lab.cp_2014 import paper
from scripts.lab.cp_2014.batches import Batch, alike
from scripts.lab.cp_2014.page import HEAD, Outcome, page, rows
from scripts.lab.cp_2014.plots import draw
from scripts.lab.cp_2014.runs import Done, contenders, recorded, run
from scripts.lab.kit.cache import in_processes
from scripts.lab.kit.command import ROOT, SHARED
from scripts.lab.kit.page import publish, write_csv

TRACE: Final = "Eurora-2014.csv.gz"
MOST_PLACES: Final = 1500


def options_of() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="scripts/lab/run cp_2014", description=__doc__)
    parser.add_argument("--traces", type=Path, default=SHARED / "traces", help=f"folder of {TRACE}")
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "cp_2014", help="folder (out/cp_2014)")
    parser.add_argument("--batch", action="append", choices=[*paper.TABLE_3_6], help="only this; repeatable")
    parser.add_argument("--only", action="append", metavar="LABEL", help="only this model or rule; repeatable")
    parser.add_argument(
        "--most-places", type=int, default=MOST_PLACES, help=f"the largest model, pairs of job and node ({MOST_PLACES})"
    )
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="runs at once (one a core)")
    parser.add_argument("--limit", type=float, metavar="S", help="begin no run after S s; the same command goes on")
    options = parser.parse_args()
    if options.most_places < 0:
        parser.error(f"--most-places {options.most_places}: expected at least 0")
    known = {who.label for name in paper.TABLE_3_6 for who in contenders(name, options.most_places)}
    for label in options.only or ():
        if label not in known:
            parser.error(f"--only {label!r}: expected one of {', '.join(sorted(known))}")
    if not (options.traces / TRACE).is_file():
        parser.error(f"{options.traces}: holds no {TRACE}; --traces names the folder that does")
    return options


def all_runs(batches: list[Batch], options: argparse.Namespace) -> tuple[list[Outcome], int]:
    """What came of every batch, and how many runs there was no time for."""
    until = math.inf if options.limit is None else time.time() + options.limit
    asked = {
        (batch.name, who.label): (batch, who, options.out, until)
        for batch in batches
        for who in contenders(batch.name, options.most_places)
        if not options.only or who.label in options.only
    }
    every = in_processes(run, asked, ", ".join, options.processes)
    found: dict[tuple[str, str], Done] = {key: done for key, done in every if done is not None}
    outcomes = []
    for batch in batches:
        ours = {label: found[name, label] for name, label in asked if name == batch.name and (name, label) in found}
        outcomes.append(Outcome(batch, ours | {paper.PBS: recorded(batch)}))
    return outcomes, len(asked) - len(found)


def main() -> int:
    """Print the page, and write it beside the runs."""
    options = options_of()
    options.out = options.out.resolve()
    options.out.mkdir(parents=True, exist_ok=True)
    batches = [
        one for one in alike(read_trace(options.traces / TRACE)) if not options.batch or one.name in options.batch
    ]
    outcomes, missing = all_runs(batches, options)
    write_csv(options.out / "cp_2014.csv", HEAD, rows(outcomes))
    draw(options.out, outcomes)
    publish(options.out / "cp_2014.md", page(outcomes, options.most_places))
    violations = [violation for of in outcomes for done in of.done.values() for violation in done.violations]
    for violation in violations:
        sys.stderr.write(f"audit: {violation}\n")
    if missing:
        sys.stderr.write(f"{missing} runs are missing: the same command goes on\n")
    return 1 if violations or missing else 0


if __name__ == "__main__":
    sys.exit(main())
