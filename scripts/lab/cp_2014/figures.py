"""Who is run on a batch, and the thesis's figures of what came of it: queue times, use, and curves over minutes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from dardis.config.platform_file import load_platform
from dardis.metrics.audit import audit
from dardis.metrics.jobs_csv import read_jobs
from dardis.model.arrays import Floats, Ints
from dardis.model.resources import CORES
from scripts.lab.cp_2014 import paper
from scripts.lab.cp_2014.batches import FRAME_S, GPU, MIC, Batch
from scripts.lab.kit.command import EURORA_PLATFORM

DispatcherSettings = tuple[str, ...]
"""A dispatcher, and what is set."""
_AIMS: Final = {"MKS": "makespan", "NL": "late", "WT": "tardiness"}
BY_QUEUE: Final = "rules, by queue"
"""Stands for PBS: who can't start is passed over; the order is that of arrival plus the queue's mean wait."""
RULES: Final[dict[str, DispatcherSettings]] = {
    BY_QUEUE: ("rules-df", "ordering=relaxed"),
    "rules, first come": ("rules-fcfs", "ordering=relaxed"),
    "rules, shortest first": ("rules-wt", "ordering=relaxed"),
    "EASY": ("easy",),
}
DELTAS: Final = (1.5, 4.0)
"""Tried beside 1; the thesis prints none."""


POOLS: Final = f"{paper.BEST}, pools"
"""The thesis's best model, with pools of nodes where it is too large."""


def label_of(model: str, delta: float = 1.0) -> str:
    """What tables call a model with this bound."""
    return model if delta == 1 else f"{model}, δ {delta:g}"


def _model(model: str, most_places: int, delta: float = 1.0) -> DispatcherSettings:
    """A model of the thesis by its name there; a composite names after a blank what it bounds."""
    aim, _, bounded = model.partition(" ")
    settings = [f"objective={_AIMS[aim]}", f"composite={'on' if bounded else 'off'}", f"most_places={most_places}"]
    return ("pcp14", *settings, *([f"delta_0={delta:g}", f"delta_1={delta:g}"] if bounded else []))


def contenders(batch: str, most_places: int) -> dict[str, DispatcherSettings]:
    """Who is run on a batch, by label: all six models on the thesis's first, its best on the others."""
    models = paper.MODELS if batch == next(iter(paper.TABLE_3_6)) else (paper.BEST,)
    asked = {label: _model(label, most_places) for label in models}
    asked |= {label_of(paper.BEST, delta): _model(paper.BEST, most_places, delta) for delta in DELTAS}
    return asked | {POOLS: (*_model(paper.BEST, most_places), "pools=on")} | RULES


@dataclass(frozen=True)
class BatchResult:
    """What came of a batch: `start` and `finish` of its jobs (jobs,), s, in their order; metrics.json; violations."""

    start: Ints
    finish: Ints
    metrics: Mapping[str, Any]
    violations: Sequence[str] = ()


def recorded(batch: Batch) -> BatchResult:
    """What PBS did, as the trace says."""
    return BatchResult(batch.recorded, batch.recorded + batch.trace.runtime, {})


def load(batch: Batch, folder: Path, metrics: Mapping[str, Any]) -> BatchResult:
    """Read a run and judge it."""
    schedule = read_jobs(folder / "jobs.csv")
    numbers = batch.trace.number
    found = audit(schedule, load_platform(EURORA_PLATFORM), expected=numbers.tolist())
    order = np.argsort(schedule.number)
    place = order[np.searchsorted(schedule.number[order], numbers)]
    return BatchResult(schedule.start[place], schedule.finish[place], metrics, [str(one) for one in found])


MACHINE_CORES: Final = 1024
TIMES_EXPECTED: Final = (0.0, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0, np.inf)
"""Edges of the histogram of waits over expected waits; who starts at once is in none."""


@dataclass(frozen=True)
class QueueTimes:
    """Waits of those who wait or come, s.

    `mean` of all, and the part that each of the thesis's queues has in it (its waits over all jobs). `in_frame`: only
    what is waited before the frame ends, since no later job competes with ours afterwards as some did under PBS.
    `late`: who waits for longer than expected.
    """

    mean: float
    parts: tuple[float, ...]
    in_frame: float
    late: int


def queue_times(batch: Batch, done: BatchResult) -> QueueTimes:
    """As table 3.4 has them."""
    counted = ~batch.running
    submit, start = batch.trace.submit[counted], done.start[counted]
    wait, queue = start - submit, batch.trace.queue[counted].astype(str)
    parts = tuple(float(wait[np.isin(queue, names)].sum() / len(wait)) for names in paper.QUEUES.values())
    inside = np.minimum(start, batch.end) - submit
    late = int((wait > batch.expected[counted]).sum())
    return QueueTimes(float(wait.mean()), parts, float(inside.mean()), late)


@dataclass(frozen=True)
class Use:
    """Means over the frame: cores, GPUs and MICs in use, and jobs that run."""

    cores: float
    gpus: float
    mics: float
    jobs: float

    @property
    def share(self) -> float:
        """Cores in use, %."""
        return 100 * self.cores / MACHINE_CORES


def use(batch: Batch, done: BatchResult) -> Use:
    """As table 3.5 has it, of all who ran in the frame."""
    inside = np.minimum(done.finish, batch.end) - np.maximum(done.start, batch.begin)
    share = np.maximum(inside, 0) / FRAME_S
    asked = [batch.trace.units * batch.trace.request[kind] for kind in (CORES, GPU, MIC)]
    cores, gpus, mics = (float((amounts * share).sum()) for amounts in asked)
    return Use(cores, gpus, mics, float(share.sum()))


@dataclass(frozen=True)
class Curves:
    """Every minute of the frame (minutes,): jobs that run, cores in use, and jobs that wait."""

    minutes: Ints
    jobs: Ints
    cores: Ints
    waiting: Ints


def curves(batch: Batch, done: BatchResult) -> Curves:
    """As figures 3.1, 3.2a and their likes draw them."""
    at = np.arange(batch.begin, batch.end + 1, 60)[:, None]
    runs = (done.start <= at) & (at < done.finish)
    waits = (batch.trace.submit <= at) & (at < done.start)
    cores = batch.trace.units * batch.trace.request[CORES]
    return Curves((at[:, 0] - batch.begin) // 60, runs.sum(axis=1), runs @ cores, waits.sum(axis=1))


def times_expected(batch: Batch, done: BatchResult) -> Ints:
    """Who waits, by wait over expected wait: how many lie in each span of `TIMES_EXPECTED` (as figure 3.2b)."""
    counted = ~batch.running
    wait = done.start[counted] - batch.trace.submit[counted]
    relative: Floats = (wait / batch.expected[counted])[wait > 0]
    inner = np.array(TIMES_EXPECTED[1:-1])
    return np.bincount(np.searchsorted(inner, relative), minlength=len(inner) + 1)
