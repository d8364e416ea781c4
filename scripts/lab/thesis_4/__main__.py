"""The kit of the Eurora scheduler (thesis chapter 4): does the runs that are missing, and writes page and plots."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from scripts.lab.kit.cache import Run, report_missing, run_missing
from scripts.lab.kit.command import EURORA, SHARED
from scripts.lab.kit.options import count, counts, parser_of, prepared
from scripts.lab.kit.page import publish
from scripts.lab.thesis_4 import paper
from scripts.lab.thesis_4.cases import (
    DAY_S,
    HETEROGENEITY,
    LARGEST,
    TESTS,
    WEEK_S,
    Test,
    generated,
    mean_walltime_s,
    recorded,
    spans_of,
)
from scripts.lab.thesis_4.page import EuroraRun, Outcome, draw, page, tables_of


def main() -> int:
    """Print the page, and write it beside the runs."""
    parser = parser_of("thesis_4", __doc__, limit="begin no run")
    told = f"folder of {EURORA}; its days are left out where it is not there"
    parser.add_argument("--traces", type=Path, default=SHARED / "traces", help=told)
    parser.add_argument("--seeds", type=counts, default=[1], help="of the generated workloads, with commas (1)")
    parser.add_argument("--jobs", type=count, default=5930, help=f"of {EURORA}, the first so many (5930: all)")
    parser.add_argument(
        "--largest", action="store_true", help=f"{paper.MODEL} with {LARGEST.jobs} jobs as well (section 4.4)"
    )
    options = prepared(parser, parser.parse_args())
    out, everybody = options.out, (*paper.OPPONENTS, paper.PORTFOLIO)
    tests = {test: generated(test, options.seeds, (*everybody, *paper.READINGS), out) for test in TESTS}
    largest = {LARGEST: generated(LARGEST, options.seeds, (paper.MODEL,), out)} if options.largest else {}
    kinds = {test: generated(test, options.seeds, paper.OPPONENTS, out) for test in HETEROGENEITY}
    trace = options.traces.resolve() / EURORA
    days = recorded(trace, options.jobs, out) if trace.is_file() else {}
    groups = (*tests.values(), *largest.values(), *kinds.values())
    asked = [one for group in groups for one in group.values()] + [*days.values()]
    known = run_missing(asked, out, options.processes, options.limit)

    def outcomes(of: Mapping[Test, Mapping[tuple[str, int], Run]]) -> list[Outcome]:
        return [
            Outcome(
                test,
                {
                    key: {**known[one], "mean_walltime_s": mean_walltime_s(one.folder(out) / "jobs.csv")}
                    for key, one in group.items()
                    if one in known
                },
            )
            for test, group in of.items()
        ]

    eurora = {}
    for name, one in days.items():
        if one in known:
            jobs = one.folder(out) / "jobs.csv"
            eurora[name] = EuroraRun(spans_of(jobs, DAY_S), spans_of(jobs, WEEK_S), known[one])
    found = outcomes(tests)
    draw(out, found)
    tables = list(tables_of(found, outcomes(largest), outcomes(kinds), eurora))
    for one_table in tables:
        one_table.write(out)
    seeds = ",".join(map(str, options.seeds))
    title = f"Seeds {seeds} of the generated workloads; the first {options.jobs:,} jobs of Eurora-2014."
    publish(out / "thesis_4.md", page(tables, title))
    return report_missing(len(asked) - len(known))
