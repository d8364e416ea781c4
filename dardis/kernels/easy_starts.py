"""Starts of waiting jobs under EASY backfilling on one pool of cores."""

from __future__ import annotations

import numpy as np

from dardis.kernels.jit import inlined, kernel
from dardis.model.arrays import Ints
from dardis.model.job import FOREVER


@inlined
def insert_end(end: Ints, held: Ints, first: int, last: int, time: int, cores: int) -> None:
    """Insert a job's end into the sorted ends `first` … `last`."""
    place = last
    while place > first and end[place - 1] > time:
        end[place] = end[place - 1]
        held[place] = held[place - 1]
        place -= 1
    end[place] = time
    held[place] = cores


@inlined
def fitting_end(held: Ints, first: int, last: int, missing: int) -> int:
    """First end at which `missing` more cores are free, or `last`."""
    for place in range(first, last):
        missing -= held[place]
        if missing <= 0:
            return place
    return last


@kernel
def simulate_easy(now: int, free: int, running_end: Ints, running_cores: Ints, cores: Ints, span: Ints) -> Ints:
    """Starts (s) of waiting jobs in queue order; FOREVER if wider than the machine.

    `span` is expected runtimes (s, from 1); running jobs end after `now`.
    """
    running, waiting = len(running_end), len(cores)
    end, held = np.empty(running + waiting, dtype=np.int64), np.empty(running + waiting, dtype=np.int64)
    order = np.argsort(running_end, kind="mergesort")
    end[:running], held[:running] = running_end[order], running_cores[order]
    first, last, time = 0, running, now
    start = np.full(waiting, FOREVER, dtype=np.int64)
    queue, queued = np.arange(waiting), waiting
    while queued > 0:
        kept, reserved, extra = 0, -1, 0  # the time of the first blocked job's reservation, and cores it leaves
        for place in range(queued):
            job = queue[place]
            need, finish = cores[job], time + span[job]
            if need <= free and (reserved < 0 or finish <= reserved or need <= extra):
                if reserved >= 0 and finish > reserved:
                    extra -= need
                start[job] = time
                free -= need
                insert_end(end, held, first, last, finish, need)
                last += 1
                continue
            if reserved < 0:
                fits = fitting_end(held, first, last, need - free)
                reserved, extra = FOREVER, 0
                if fits < last:
                    reserved, extra = end[fits], free - need
                    for other in range(first, last):
                        extra += held[other] if end[other] <= reserved else 0
            queue[kept] = job
            kept += 1
        queued = kept
        if first == last:
            break
        time = max(time, end[first])
        while first < last and end[first] <= time:
            free += held[first]
            first += 1
    return start
