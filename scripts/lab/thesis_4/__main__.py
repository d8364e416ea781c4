"""The command behind scripts/lab/run thesis_4: does the runs that are missing, and writes page and plots."""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from scripts.lab.kit.cache import in_processes
from scripts.lab.kit.command import ROOT, SHARED
from scripts.lab.kit.page import publish
from scripts.lab.thesis_4 import paper
from scripts.lab.thesis_4.cases import HETEROGENEITY, TESTS, Run, generated, recorded, run
from scripts.lab.thesis_4.days import Day, days_of
from scripts.lab.thesis_4.page import Outcome, page
from scripts.lab.thesis_4.plots import draw

TRACE: Final = "Eurora-2014.csv.gz"


def options_of() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="scripts/lab/run thesis_4", description=__doc__)
    parser.add_argument("--traces", type=Path, default=SHARED / "traces", help=f"folder of {TRACE}")
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "thesis_4", help="folder (out/thesis_4)")
    parser.add_argument("--seeds", default="1", help="of the generated workloads, with commas (1)")
    parser.add_argument("--jobs", type=int, default=2500, help=f"of {TRACE}, the first so many (2500)")
    parser.add_argument("--processes", type=int, default=1, help="runs at once (1: decisions are timed)")
    parser.add_argument("--limit", type=float, metavar="S", help="begin no run after S s; the same command goes on")
    return parser.parse_args()


def main() -> int:
    """Print the page, and write it beside the runs."""
    options = options_of()
    options.out = options.out.resolve()
    options.out.mkdir(parents=True, exist_ok=True)
    seeds = [int(seed) for seed in options.seeds.split(",")]
    everybody = (*paper.OPPONENTS, paper.PORTFOLIO)
    tests = {test: generated(test, seeds, everybody, options.out) for test in TESTS}
    kinds = {test: generated(test, seeds, paper.OPPONENTS, options.out) for test in HETEROGENEITY}
    trace = options.traces / TRACE
    days = recorded(trace, options.jobs, options.out) if trace.is_file() else {}
    asked = [one for group in (*tests.values(), *kinds.values()) for one in group.values()] + [*days.values()]
    done = _done(asked, options)

    def outcomes(of: Mapping[Any, Mapping[tuple[str, int], Run]]) -> list[Outcome]:
        return [
            Outcome(test, {key: done[one] for key, one in group.items() if one in done}) for test, group in of.items()
        ]

    by_day: dict[str, Sequence[Day]] = {
        name: days_of(one.folder(options.out) / "jobs.csv") for name, one in days.items() if one in done
    }
    found = outcomes(tests)
    draw(options.out, found)
    title = f"Seeds {options.seeds} of the generated workloads; the first {options.jobs:,} jobs of Eurora-2014."
    publish(options.out / "thesis_4.md", page(found, outcomes(kinds), by_day, title))
    missing = len(asked) - len(done)
    if missing:
        sys.stderr.write(f"{missing} runs are missing: the same command goes on\n")
    return 1 if missing else 0


def _done(asked: Sequence[Run], options: argparse.Namespace) -> dict[Run, dict[str, Any]]:
    """The metrics of the runs, but for those for which there was no time."""
    until = math.inf if options.limit is None else time.time() + options.limit
    every = in_processes(
        run, {one: (one, options.out, until) for one in asked}, lambda one: one.folder(options.out).name,
        options.processes,
    )  # fmt: skip
    return {one: metrics for one, metrics in every if metrics is not None}


if __name__ == "__main__":
    sys.exit(main())
