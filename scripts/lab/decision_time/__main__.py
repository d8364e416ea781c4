"""Measures what a decision costs, in turns, and writes page, table and plot."""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Final

from scripts.lab.decision_time.contenders import CONTENDERS, warm_all
from scripts.lab.decision_time.page import Measured, Outcome, curves, draw, headlines, outcome, page, write_figures
from scripts.lab.decision_time.workloads import Case, case_of_trace, larger, queue_case
from scripts.lab.kit.options import count, counts, parser_of, prepared
from scripts.lab.kit.page import publish
from scripts.lab.kit.thesis import PARTITION, TABLE_5_1, TRACE

LONG_S: Final = 20.0
"""A run that takes more CPU is not repeated."""


def measured(case: Case, label: str) -> Outcome:
    """Run once, in a process that has compiled everything."""
    begun = time.process_time()
    ledger = CONTENDERS[label].run(case)
    return outcome(case, ledger, time.process_time() - begun)


def in_turns(cases: Sequence[Case], only: Sequence[str], repeats: int, processes: int) -> list[Measured]:
    """Run everybody on every case so often, in turns."""
    runs: dict[tuple[int, str], list[Outcome]] = {
        (place, label): []
        for place, case in enumerate(cases)
        for label, one in CONTENDERS.items()
        if one.takes(case) and (not only or label in only)
    }
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context, initializer=warm_all) as pool:
        for turn in range(repeats):
            short = [key for key, done in runs.items() if not done or done[0].whole_run_s <= LONG_S]
            asked = {key: pool.submit(measured, cases[key[0]], key[1]) for key in short}
            for (place, label), future in asked.items():
                runs[place, label].append(future.result())
                spent = runs[place, label][-1].whole_run_s
                sys.stderr.write(f"turn {turn + 1}/{repeats}  {cases[place].name}, {label}: {spent:.1f} CPU s\n")
    return [
        Measured(cases[place].name, label, cases[place].nodes, cases[place].counted, done)
        for (place, label), done in runs.items()
    ]


SINCE_S: Final = 556 * 3600
"""The hour measured on larger machines begins so long after the first submission: full, about 20 wait, 15 come an hour.

That is the load of an ordinary hour of this trace when the machine is full, at 20 o'clock, when all cores are desired.
"""
SPAN_S: Final = 3600
CYCLES: Final = 6
WAITING: Final = round(TABLE_5_1["rules-fcfs"][1] * 365 / TABLE_5_1["rules-fcfs"][0])
"""Jobs that waited at any time under the thesis's RB-FCFS on average: its total wait over its makespan."""


def lead(options: argparse.Namespace) -> str:
    """What was run, in a paragraph."""
    return (
        f"CPU of deciding alone, in virtual time, {options.repeats} runs in turns. Jobs, deadlines, units and desired "
        f"profile are those of section 5.5 (scripts/lab/run thesis_5). Larger machines: the hour "
        f"from {SINCE_S // 3600} h after the first submission on, each job as often as the machine is larger, within "
        "half an hour of its time; the machine begins as EASY left it. Plain: the thesis's text in plain Python."
    )


def main() -> int:
    """Print the page, and write it beside table and plot."""
    parser = parser_of("decision_time", __doc__, TRACE, processes=2)
    parser.add_argument(
        "--nodes", type=counts, default=[300, 1000, 5000, 50_000], help="machines (300,1000,5000,50000)"
    )
    parser.add_argument("--stress-jobs", type=count, default=1000, help="first jobs of the whole slice (1000)")
    parser.add_argument("--repeats", type=count, default=3, help="turns (3)")
    parser.add_argument("--only", nargs="+", choices=list(CONTENDERS), default=[], help="only these")
    options = prepared(parser, parser.parse_args())
    path, out = options.traces / TRACE, options.out
    partition = case_of_trace(f"partition {PARTITION}", path, partition=PARTITION)
    stress = case_of_trace(f"whole slice, first {options.stress_jobs} jobs", path, most=options.stress_jobs)
    at_300 = [partition, stress, queue_case(path, WAITING, CYCLES)]
    since = partition.jobs[0].submit + SINCE_S
    cases = [*at_300, *(larger(partition, size, since, SPAN_S) for size in options.nodes)]
    found = in_turns(cases, options.only, options.repeats, options.processes)
    names = {case.name for case in at_300}
    table, by_nodes = ([one for one in found if (one.case in names) is which] for which in (True, False))
    text = page(lead(options), table, by_nodes)
    write_figures(out / "decision_time.csv", found)
    draw(out / "decision_time", curves(by_nodes), headlines(by_nodes))
    publish(out / "decision_time.md", text)
    return 0
