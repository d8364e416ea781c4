"""Workloads of the thesis's size: days of a trace, drawn by a seed, with narrower jobs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dardis.model.platform import Platform
from dardis.model.randomness import stream
from dardis.workload.trace import UNKNOWN, Trace
from dardis.workload.transform import offered_load, resubmitted
from offline.site.calendar import DAY_S

_HALVINGS = 40


def draw_days(trace: Trace, jobs: int, days: int, seed: int) -> Trace:
    """Jobs of whole days, drawn with replacement; the first `days` draws follow one another.

    Further draws, until there are `jobs` jobs, fall on random days. Hours of the day stay.
    """
    rng, day = stream(seed, "days"), trace.submit // DAY_S
    whole = np.unique(day)[1:-1]
    rows, submit = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    for draw in range(len(trace) * jobs):
        if sum(map(len, rows)) >= jobs:
            break
        drawn = int(rng.choice(whole))
        place = draw if draw < days else int(rng.integers(days))
        rows.append(np.flatnonzero(day == drawn))
        submit.append(trace.submit[rows[-1]] + (int(whole[0]) + place - drawn) * DAY_S)
    row, moved = np.concatenate(rows)[:jobs], np.concatenate(submit)[:jobs]
    order = np.argsort(moved, kind="stable")
    row, moved = row[order], moved[order]
    number, after = np.arange(1, len(row) + 1), np.full(len(row), UNKNOWN)
    return resubmitted(replace(trace.take(row), number=number, after=after, line=None), moved)


def narrow(trace: Trace, platform: Platform, load: float) -> Trace:
    """Multiply widths by one factor, to at least a processor, so that the platform has this offered load."""
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        factor = (low + high) / 2
        procs = np.clip(np.rint(trace.procs * factor).astype(np.int64), 1, platform.cores)
        narrower = replace(trace, procs=procs)
        if (offered_load(narrower, platform) or 0) < load:
            low = factor
        else:
            high = factor
    return narrower
