"""The command behind scripts/reproduce/thesis_7: does the runs that are missing, and writes page, figures and plots."""

from __future__ import annotations

import argparse
import csv
import os
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Final

from scripts.thesis_7.cases import PRICES, ROOT, TRACE, WEATHER, WORKLOADS, Files, Workload, prepare
from scripts.thesis_7.figures import Found, found, rows
from scripts.thesis_7.page import page
from scripts.thesis_7.plots import draw
from scripts.thesis_7.runs import DISPATCHERS, OPPONENTS, Runs, load, simulate

_FAMILIES: Final = (*DISPATCHERS, OPPONENTS)


def options_of() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="scripts/reproduce/thesis_7", description=__doc__)
    parser.add_argument(
        "--data", type=Path, default=ROOT.parent / "shared", help="folder of traces, weather and prices (../shared)"
    )
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "thesis_7", help="folder (out/thesis_7)")
    parser.add_argument(
        "--workload", action="append", choices=[workload.name for workload in WORKLOADS], help="only this; repeatable"
    )
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="runs at once (one a core)")
    options = parser.parse_args()
    for name in (TRACE, WEATHER, PRICES):
        if not (options.data / name).is_file():
            parser.error(f"{options.data}: holds no {name}; --data names the folder that does")
    return options


def all_runs(files: Files, workloads: Sequence[Workload], processes: int) -> dict[Workload, Runs]:
    """Every run, done where it is missing; what is done is kept when this is interrupted."""
    runs: dict[Workload, Runs] = {workload: {} for workload in workloads}
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        # The longest first: throughput at high load.
        tasks = {
            pool.submit(simulate, files, workload, family): (workload, family)
            for workload in reversed(workloads)
            for family in _FAMILIES
        }
        for count, task in enumerate(as_completed(tasks), 1):
            workload, family = tasks[task]
            runs[workload] |= {key: load(path) for key, path in task.result()}
            sys.stderr.write(f"{count} of {len(tasks)}: {workload.name} load, {family}\n")
    return runs


def write_rows(path: Path, all_found: Sequence[Found]) -> None:
    """Write all figures as one table."""
    lines = [row for of in all_found for row in rows(of)]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, lines[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)


def main() -> int:
    """Print the page, and write it beside the runs."""
    options = options_of()
    chosen = tuple(one for one in WORKLOADS if not options.workload or one.name in options.workload)
    files = Files(options.data.resolve(), options.out.resolve())
    files.out.mkdir(parents=True, exist_ok=True)
    prepare(files, chosen)
    runs = all_runs(files, chosen, options.processes)
    all_found = [found(files, workload, runs[workload]) for workload in chosen]
    write_rows(files.out / "thesis_7.csv", all_found)
    draw(files.out, all_found)
    text = page(all_found)
    (files.out / "thesis_7.md").write_text(text, encoding="utf-8")
    sys.stdout.write(text)
    for violation in (violation for of in all_found for violation in of.violations):
        sys.stderr.write(f"audit: {violation}\n")
    return 1 if any(of.violations for of in all_found) else 0


if __name__ == "__main__":
    sys.exit(main())
