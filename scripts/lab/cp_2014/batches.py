"""Two hours of Eurora's trace: who ran, who waited and who came, with deadlines by each queue's mean wait."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from dardis.model.arrays import Bools, Ints
from dardis.model.resources import CORES, MEMORY
from dardis.workload.trace import Trace
from scripts.lab.cp_2014 import paper

FRAME_S = 7200
STEP_S = 1800
"""Frames that are looked at begin on half hours."""
GPU, MIC = "gpu", "mic"
KINDS = (CORES, GPU, MIC, MEMORY)
"""What the machine has: the trace's predicted power is left out."""


@dataclass(frozen=True)
class Batch:
    """A frame `[begin, begin + FRAME_S)` of the trace.

    `trace` has who ran when it begins (`running`, submitted a second before), who waited then (submitted at its
    beginning: what they had waited is forgotten) and who is submitted in it. `recorded` (jobs,): when each started in
    the trace, s; `expected` (jobs,): the mean wait of its queue in the whole trace, s.
    """

    name: str
    begin: int
    trace: Trace
    running: Bools
    recorded: Ints
    expected: Ints

    @property
    def end(self) -> int:
        """End of the frame."""
        return self.begin + FRAME_S

    @property
    def counted(self) -> Trace:
        """Those who wait or come: the jobs of the thesis's tables."""
        return self.trace.take(~self.running)


def starts_of(trace: Trace) -> Ints:
    """When jobs started, as the trace says (jobs,), s."""
    return trace.submit + np.maximum(trace.wait, 0)


def mean_waits(trace: Trace) -> Ints:
    """The mean wait of each job's queue in the trace (jobs,), s, rounded, at least 1: it is divided by."""
    _, queue_of = np.unique(trace.queue.astype(str), return_inverse=True)
    means = np.bincount(queue_of, np.maximum(trace.wait, 0)) / np.bincount(queue_of)
    return np.maximum(1, np.rint(means)).astype(np.int64)[queue_of]


def cut(trace: Trace, name: str, begin: int) -> Batch:
    """The frame that begins then; who ran at its beginning keeps what is left of runtime and walltime."""
    start, expected = starts_of(trace), mean_waits(trace)
    finish = start + trace.runtime
    rows = (trace.submit < begin + FRAME_S) & ((start >= begin) | (finish > begin))
    trace, start, expected = trace.take(rows), start[rows], expected[rows]
    running = start < begin
    submit = np.where(running, begin - 1, np.maximum(trace.submit, begin))
    passed = np.where(running, submit - start, 0)
    moved = replace(
        trace,
        submit=submit,
        est=submit,
        wait=np.maximum(start - submit, 0),
        runtime=trace.runtime - passed,
        walltime=np.maximum(trace.walltime, trace.runtime) - passed,
        lst=submit + expected,
        request={kind: trace.request[kind] for kind in KINDS if kind in trace.request},
    )
    return Batch(name, begin, moved, running, np.maximum(start, submit), expected)


def thinned(batch: Batch, kind: str, count: int, seed: int) -> Batch:
    """The batch with `count` jobs that ask for a kind, drawn by seed, besides those that run at its beginning."""
    asking = np.flatnonzero((batch.trace.request[kind] > 0) & ~batch.running)
    left = np.ones(len(batch.trace), dtype=np.bool_)
    drawn = np.random.default_rng(seed).choice(asking, min(count, len(asking)), replace=False)
    left[asking], left[drawn] = False, True
    return Batch(
        f"{batch.name}-{count}-{kind}-{seed}", batch.begin, batch.trace.take(left),
        batch.running[left], batch.recorded[left], batch.expected[left],
    )  # fmt: skip


def made_of(trace: Trace) -> tuple[int, ...]:
    """How many jobs there are, by queue, accelerator and cores: the rows of table 3.6."""
    queue = trace.queue.astype(str)
    total = trace.units * trace.request[CORES]
    counts = [len(trace)]
    counts += [int(np.isin(queue, names).sum()) for names in paper.QUEUES.values()]
    counts += [int((trace.request[kind] > 0).sum()) for kind in (GPU, MIC)]
    counts += [int((total == cores).sum()) for cores in paper.CORES]
    return (*counts, int((total > paper.CORES[-1]).sum()))


def distance(ours: tuple[int, ...], theirs: tuple[int, ...]) -> float:
    """How unlike two batches are: jobs that are too many or too few, over all rows, as a share of theirs."""
    return sum(abs(one - other) for one, other in zip(ours, theirs, strict=True)) / theirs[0]


def frames(trace: Trace) -> Iterator[int]:
    """Beginnings of frames within the trace's submissions, s."""
    first, last = int(trace.submit.min()), int(trace.submit.max())
    yield from range(-(-first // STEP_S) * STEP_S, last - FRAME_S + 1, STEP_S)


def alike(trace: Trace) -> list[Batch]:
    """For each batch of table 3.6, in turn, the frame made most like it that overlaps none before it."""
    waiting = {begin: made_of(cut(trace, "", begin).counted) for begin in frames(trace)}
    found: list[Batch] = []
    for name, theirs in paper.TABLE_3_6.items():
        free = [begin for begin in waiting if all(abs(begin - other.begin) >= FRAME_S for other in found)]
        found.append(cut(trace, name, min(free, key=lambda begin: (distance(waiting[begin], theirs), begin))))
    return found
