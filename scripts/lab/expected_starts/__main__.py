"""Compare expected starts with the recorded ones at random instants of traces, and print the table.

Each instant is asked with what was known then. The errors are of the remaining wait, over all pairs of an instant and a
job that waits at it; beside it, the mean of the instants' own medians.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import numpy as np

from dardis.model.arrays import Floats
from dardis.model.randomness import stream
from dardis.predict.start_estimator import StartEstimator
from dardis.workload.swf import read_swf
from scripts.lab.expected_starts.trace_states import Answer, Replay, draw_instants, recorded_jobs
from scripts.lab.kit.options import count, parser_of, prepared
from scripts.lab.kit.page import markdown, publish, table

MACHINES: Final = {
    "KTH-SP2-1996": 100,
    "HPC2N-2002-2.2-cln": 240,
    "SDSC-BLUE-2000-4.2-cln": 1152,
    "CEA-Curie-2012-slice36k": 93_312,
    "MetaCentrum-Wagap-2013": 2176,
    "Eurora-2014": 1024,
    "NREL-RADDIT-2024": 2229,
}
"""Cores of the traces' machines (NREL: nodes)."""
LATE: Final = "NREL-RADDIT-2024"
"""Holds the jobs that ran in a window: its instants begin with the first start."""
HEAD: Final = ("trace", "pairs", "EASY h", "last two h", "median error h", "ratio", "by instant", "EASY by instant",
               "in range %", "below %", "above %", "median range h")  # fmt: skip


def answers_of(path: Path, capacity: int, instants: int, seed: int, begin_late: bool) -> Iterator[Answer]:
    """Replay a trace; yield the answers at its instants."""
    jobs = recorded_jobs(read_swf(path))
    begin = int((jobs.start if begin_late else jobs.submit).min())
    drawn = draw_instants(jobs, begin, instants, stream(seed, "instants"))
    yield from Replay(jobs, capacity, StartEstimator(seed)).answers(begin, drawn)


def row(name: str, answers: list[Answer]) -> list[str]:
    """Figures of a trace: errors in h, and how often the range held the start."""

    def errors(of: Callable[[Answer], Floats]) -> list[Floats]:
        return [np.abs(of(answer) - answer.truth) / 3600 for answer in answers]

    own = errors(lambda answer: answer.estimates.median)
    easy, recent = errors(lambda answer: answer.by_walltime), errors(lambda answer: answer.by_recent)
    median, base, last = (float(np.median(np.concatenate(some))) for some in (own, easy, recent))
    each, each_base = (float(np.mean([np.median(errs) for errs in some if len(errs)])) for some in (own, easy))
    below = np.mean(np.concatenate([answer.truth < answer.estimates.low for answer in answers]))
    above = np.mean(np.concatenate([answer.truth > answer.estimates.high for answer in answers]))
    width = np.median(np.concatenate([answer.estimates.high - answer.estimates.low for answer in answers])) / 3600
    figures = [f"{base:.1f}", f"{last:.1f}", f"{median:.1f}", f"{median / max(base, 1e-9):.2f}"]
    figures += [f"{each:.1f}", f"{each_base:.1f}", *(f"{100 * part:.1f}" for part in (1 - below - above, below, above))]
    return [name, str(sum(len(errs) for errs in own)), *figures, f"{width:.1f}"]


def main() -> int:
    """Print one line a trace."""
    parser = parser_of("expected_starts", __doc__, "", processes=0)
    parser.add_argument("--names", default=",".join(MACHINES), help="traces, comma between; NAME:CORES for others")
    parser.add_argument("--instants", type=count, default=400)
    parser.add_argument("--seed", type=int, default=1)
    options = prepared(parser, parser.parse_args())
    rows = []
    for text in options.names.split(","):
        name, _, cores = text.partition(":")
        if not cores and name not in MACHINES:
            parser.error(f"--names {text}: expected NAME:CORES, or one of {', '.join(MACHINES)}")
        path = next((path for path in options.traces.glob(f"{name}.swf*")), options.traces / f"{name}.swf")
        answers = answers_of(path, int(cores or MACHINES[name]), options.instants, options.seed, name == LATE)
        rows.append(row(name, list(answers)))
    publish(options.out / "expected_starts.md", markdown([table(HEAD, rows)]))
    return 0
