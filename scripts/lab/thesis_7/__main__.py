"""The kit of the thesis's section 7.6: does the runs that are missing, and writes page, figures and plots."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from scripts.lab.kit.cache import in_processes
from scripts.lab.kit.options import parser_of, prepared
from scripts.lab.kit.page import publish, write_csv
from scripts.lab.thesis_7.figures import WorkloadFigures, figures_of, rows
from scripts.lab.thesis_7.page import page, tables_of
from scripts.lab.thesis_7.plots import draw
from scripts.lab.thesis_7.runs import (
    DISPATCHERS,
    OPPONENTS,
    PRICES,
    TRACE,
    WEATHER,
    WORKLOADS,
    Files,
    Runs,
    Workload,
    load,
    prepare,
    simulate,
)

_FAMILIES: Final = (*DISPATCHERS, OPPONENTS)


def all_runs(files: Files, workloads: Sequence[Workload], processes: int | None) -> dict[Workload, Runs]:
    """Every run, done where it is missing; what is done is kept when this is interrupted."""
    runs: dict[Workload, Runs] = {workload: {} for workload in workloads}
    # The longest first: throughput at high load.
    asked = {(workload, family): (files, workload, family) for workload in reversed(workloads) for family in _FAMILIES}
    for (workload, _), done in in_processes(simulate, asked, lambda key: f"{key[0].name} load, {key[1]}", processes):
        runs[workload] |= {key: load(path) for key, path in done}
    return runs


def write_rows(path: Path, all_found: Sequence[WorkloadFigures]) -> None:
    """Write all figures as one table."""
    lines = [row for of in all_found for row in rows(of)]
    write_csv(path, tuple(lines[0]), (tuple(line.values()) for line in lines))


def main() -> int:
    """Print the page, and write it beside the runs."""
    parser = parser_of("thesis_7", __doc__, TRACE, WEATHER, PRICES, data=True, processes=None)
    parser.add_argument(
        "--workload", action="append", choices=[workload.name for workload in WORKLOADS], help="only this; repeatable"
    )
    options = prepared(parser, parser.parse_args())
    chosen = tuple(one for one in WORKLOADS if not options.workload or one.name in options.workload)
    files = Files(options.data, options.out)
    prepare(files, chosen)
    runs = all_runs(files, chosen, options.processes)
    all_found = [figures_of(files, workload, runs[workload]) for workload in chosen]
    write_rows(files.out / "thesis_7.csv", all_found)
    draw(files.out, all_found)
    tables = list(tables_of(all_found))
    for of in tables:
        of.write(files.out)
    publish(files.out / "thesis_7.md", page(all_found, tables))
    for violation in (violation for found in all_found for violation in found.violations):
        sys.stderr.write(f"audit: {violation}\n")
    return 1 if any(found.violations for found in all_found) else 0
