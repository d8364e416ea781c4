"""Runs everybody on every case, in turns, each in a process that has compiled what it needs."""

from __future__ import annotations

import multiprocessing
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Final

from scripts.lab.decision_time.contenders import CONTENDERS, warm_all
from scripts.lab.decision_time.figures import Measured, Outcome, outcome
from scripts.lab.decision_time.workloads import Case

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
