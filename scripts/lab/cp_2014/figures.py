"""Turns starts and ends into the thesis's figures: queue times, use over the frame, and curves over its minutes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from dardis.model.arrays import Floats, Ints
from dardis.model.resources import CORES
from scripts.lab.cp_2014 import paper
from scripts.lab.cp_2014.batches import FRAME_S, GPU, MIC, Batch
from scripts.lab.cp_2014.runs import Done

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


def queue_times(batch: Batch, done: Done) -> QueueTimes:
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


def use(batch: Batch, done: Done) -> Use:
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


def curves(batch: Batch, done: Done) -> Curves:
    """As figures 3.1, 3.2a and their likes draw them."""
    at = np.arange(batch.begin, batch.end + 1, 60)[:, None]
    runs = (done.start <= at) & (at < done.finish)
    waits = (batch.trace.submit <= at) & (at < done.start)
    cores = batch.trace.units * batch.trace.request[CORES]
    return Curves((at[:, 0] - batch.begin) // 60, runs.sum(axis=1), runs @ cores, waits.sum(axis=1))


def times_expected(batch: Batch, done: Done) -> Ints:
    """Who waits, by wait over expected wait: how many lie in each span of `TIMES_EXPECTED` (as figure 3.2b)."""
    counted = ~batch.running
    wait = done.start[counted] - batch.trace.submit[counted]
    relative: Floats = (wait / batch.expected[counted])[wait > 0]
    inner = np.array(TIMES_EXPECTED[1:-1])
    return np.bincount(np.searchsorted(inner, relative), minlength=len(inner) + 1)
