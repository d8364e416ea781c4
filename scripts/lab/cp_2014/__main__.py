"""The kit of PCP'14 (thesis chapter 3): does the runs that are missing, and writes page, figures and plots."""

from __future__ import annotations

import argparse
import sys
from typing import Final

from dardis.workload.csv_trace import write_table
from dardis.workload.trace_reader import read_trace
from scripts.lab.cp_2014 import paper
from scripts.lab.cp_2014.batches import GPU, Batch, alike, thinned
from scripts.lab.cp_2014.figures import contenders, load, recorded
from scripts.lab.cp_2014.page import HEAD, Outcome, page, rows, table_of_thinned, tables_of
from scripts.lab.cp_2014.plots import draw
from scripts.lab.kit.cache import Run, report_missing, run_missing
from scripts.lab.kit.command import EURORA, EURORA_PLATFORM
from scripts.lab.kit.options import count, parser_of, prepared
from scripts.lab.kit.page import publish, write_csv

MOST_PLACES: Final = 1500
SEEDS: Final = 5
"""Batches with as few jobs with GPUs as the thesis's first."""


def all_runs(batches: list[Batch], options: argparse.Namespace) -> tuple[list[Outcome], int]:
    """What came of every batch, and how many runs are missing."""
    asked = {}
    for batch in batches:
        trace = options.out / "traces" / f"{batch.name}.csv"
        trace.parent.mkdir(parents=True, exist_ok=True)
        write_table(batch.trace, trace)
        run_on = contenders(batch.name, options.most_places)
        for label in run_on if batch.name in paper.TABLE_3_6 else (paper.BEST,):
            if not options.only or label in options.only:
                asked[batch.name, label] = Run(run_on[label], trace, EURORA_PLATFORM)
    found = run_missing(asked.values(), options.out, options.processes, options.limit)
    outcomes = []
    for batch in batches:
        ours = {
            label: load(batch, one.folder(options.out), found[one])
            for (name, label), one in asked.items()
            if name == batch.name and one in found
        }
        outcomes.append(Outcome(batch, ours | {paper.PBS: recorded(batch)}))
    return outcomes, len(asked) - len(found)


def main() -> int:
    """Print the page, and write it beside the runs."""
    first, composition = next(iter(paper.TABLE_3_6.items()))
    few = composition[paper.MADE_OF.index("with GPUs")]
    parser = parser_of("cp_2014", __doc__, EURORA, processes=None, limit="begin no run")
    parser.add_argument("--batch", action="append", choices=[*paper.TABLE_3_6],
                        help=f"only this; repeatable. {first}: also {SEEDS} with {few} jobs with GPUs")  # fmt: skip
    parser.add_argument("--only", action="append", metavar="LABEL", help="only this model or rule; repeatable")
    parser.add_argument(
        "--most-places",
        type=count,
        default=MOST_PLACES,
        help=f"the largest model, pairs of job and node ({MOST_PLACES})",
    )
    options = parser.parse_args()
    known = {label for name in paper.TABLE_3_6 for label in contenders(name, options.most_places)}
    for label in options.only or ():
        if label not in known:
            parser.error(f"--only {label!r}: expected one of {'; '.join(sorted(known))}")
    options = prepared(parser, options)
    every = alike(read_trace(options.traces / EURORA))
    chosen = [one for one in every if not options.batch or one.name in options.batch]
    batches = len(chosen)
    chosen += [thinned(one, GPU, few, seed) for one in chosen if one.name == first for seed in range(1, SEEDS + 1)]
    outcomes, missing = all_runs(chosen, options)
    outcomes, fewer = outcomes[:batches], outcomes[batches:]
    if fewer:
        table_of_thinned([outcomes[0], *fewer]).write(options.out)
    write_csv(options.out / "cp_2014.csv", HEAD, rows(outcomes))
    for table in tables_of(outcomes).values():
        table.write(options.out)
    draw(options.out, outcomes)
    publish(options.out / "cp_2014.md", page(outcomes, options.most_places))
    violations = [violation for of in (*outcomes, *fewer) for done in of.done.values() for violation in done.violations]
    for violation in violations:
        sys.stderr.write(f"audit: {violation}\n")
    return max(report_missing(missing), int(bool(violations)))
