"""The command behind scripts/lab/run aucsched: does the runs that are missing, and writes page, table and plots."""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

from dardis.model.numbers import decimal_number, whole_number
from dardis.workload.auction import MOST_HOURS
from scripts.lab.aucsched.cases import MACHINE_OF, Case, asked_runs, run
from scripts.lab.aucsched.figures import Figures, Metrics, measured
from scripts.lab.aucsched.kept import read_kept, write_kept
from scripts.lab.aucsched.page import Found, page
from scripts.lab.aucsched.plots import draw_footprints, draw_utilisation
from scripts.lab.kit.cache import in_processes
from scripts.lab.kit.command import ROOT
from scripts.lab.kit.page import publish, write_csv


def options_of() -> argparse.Namespace:
    """Read the command line, and make the folder that it names."""
    parser = argparse.ArgumentParser(prog="scripts/lab/run aucsched", description=__doc__, allow_abbrev=False)
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "aucsched", help="folder (out/aucsched)")
    parser.add_argument("--tables", type=_tables, default=[*MACHINE_OF], help="of the paper, with commas (5,6,7,8)")
    parser.add_argument("--seeds", type=_seeds, default=_seeds("1,2,3,4,5,6,7"),
                        help="of the workloads on machines S and M, with commas (1 to 7)")  # fmt: skip
    parser.add_argument("--seeds-large", type=_count, default=2, metavar="N",
                        help="on machine L the first N of them (2)")  # fmt: skip
    parser.add_argument("--hours", type=_hours, default=4.0, help="theoretical runtime of a workload (4)")
    parser.add_argument("--processes", type=_count, default=2, help="runs at once (2)")
    parser.add_argument("--limit", type=_limit, metavar="S", help="begin no run after S s; the same command goes on")
    parser.add_argument("--anew", action="store_true", help="do again the runs whose figures are kept (kept.csv)")
    parser.add_argument("--keep", action="store_true", help="keep the figures of all runs that are there")
    options = parser.parse_args()
    options.out = options.out.resolve()
    try:
        options.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        parser.error(f"--out {options.out}: cannot be made ({error.strerror}); expected a folder, or a place for one")
    return options


def main() -> int:
    """Print the page, and write it beside the runs; 1 where runs are missing."""
    options = options_of()
    out = options.out
    large = options.seeds[: options.seeds_large]
    seeds = {table: large if MACHINE_OF[table] == "L" else options.seeds for table in options.tables}
    until = math.inf if options.limit is None else time.time() + options.limit
    asked = list(asked_runs(seeds, options.hours, out))
    kept = read_kept()
    done = {} if options.anew else {one: kept[one.name] for *_, one in asked if one.name in kept}
    left = {one: (one, out, until) for *_, one in asked if one not in done}
    every = in_processes(run, left, lambda one: one.name, options.processes)
    done |= {one: metrics for one, metrics in every if metrics is not None}
    if options.keep:
        write_kept(kept | {one.name: metrics for one, metrics in done.items()})
    runs: dict[tuple[Case, str], list[Metrics]] = defaultdict(list)
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


def _tables(text: str) -> list[str]:
    tables = text.split(",")
    if not {*tables} <= {*MACHINE_OF} or len({*tables}) < len(tables):
        raise _refused(text, f"some of {','.join(MACHINE_OF)}, each once")
    return tables


def _seeds(text: str) -> list[int]:
    expected = "whole numbers from 1 with commas between, each once"
    seeds = [_whole(word, text, expected) for word in text.split(",")]
    if len({*seeds}) < len(seeds):
        raise _refused(text, expected)
    return seeds


def _count(text: str) -> int:
    return _whole(text, text, "a whole number from 1")


def _whole(word: str, text: str, expected: str) -> int:
    """A word of an option's text."""
    try:
        return whole_number(word, 1)
    except ValueError:
        raise _refused(text, expected) from None


def _hours(text: str) -> float:
    return _decimal(text, lambda hours: 0 < hours <= MOST_HOURS, f"above 0, at most {MOST_HOURS}")


def _limit(text: str) -> float:
    return _decimal(text, lambda seconds: seconds >= 0, "seconds from 0")


def _decimal(text: str, fits: Callable[[float], bool], expected: str) -> float:
    try:
        number = decimal_number(text)
    except ValueError:
        raise _refused(text, expected) from None
    if not fits(number):
        raise _refused(text, expected)
    return number


def _refused(text: str, expected: str) -> argparse.ArgumentTypeError:
    return argparse.ArgumentTypeError(f"{text!r}; expected {expected}")


if __name__ == "__main__":
    sys.exit(main())
