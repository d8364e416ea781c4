"""Selects, scales and resamples traces."""

from __future__ import annotations

from dataclasses import replace
from math import ceil, inf
from typing import Final

import numpy as np

from dardis.model.arrays import Bools, Ints
from dardis.model.choices import Resampling, ResamplingMethod
from dardis.model.errors import InputError
from dardis.model.job import NO_TIME
from dardis.model.platform import Platform
from dardis.model.randomness import stream
from dardis.workload.trace import LARGEST, UNKNOWN, Trace


def in_partition(trace: Trace, names: list[str]) -> Trace:
    """Jobs of the named partitions."""
    return _keep(trace, np.isin(trace.partition.astype(str), names), f"partition {', '.join(names)}")


def in_queue(trace: Trace, names: list[str]) -> Trace:
    """Jobs of the named queues."""
    return _keep(trace, np.isin(trace.queue.astype(str), names), f"queue {', '.join(names)}")


def submitted(trace: Trace, start: int | None, end: int | None) -> Trace:
    """Jobs submitted in `[start, end)`, s of the trace's clock."""
    rows = np.ones(len(trace), dtype=bool)
    if start is not None:
        rows &= trace.submit >= start
    if end is not None:
        rows &= trace.submit < end
    first, last = trace.submit[0], trace.submit[-1]
    span = f"from {first if start is None else start} " + ("on" if end is None else f"to {end}")
    return _keep(trace, rows, f"submit times {span} (the trace's are from {first} to {last})")


def of_width(trace: Trace, least: int, most: int | None) -> Trace:
    """Jobs of `least` to `most` processors."""
    rows = (trace.procs >= least) & (trace.procs <= (LARGEST if most is None else most))
    return _keep(trace, rows, f"widths from {least} to {most}")


def first_jobs(trace: Trace, count: int) -> Trace:
    """First jobs by (submit, job number)."""
    return _keep(trace, np.arange(len(trace)) < count, f"the first {count} jobs")


def thinned(trace: Trace, share: float, seed: int) -> Trace:
    """Random share of jobs."""
    if not 0 < share <= 1:
        raise InputError("thinning", f"{share}", "a share of the jobs above 0, at most 1")
    drawn = stream(seed, "thin").permutation(len(trace))[: max(round(share * len(trace)), 1)]
    return trace.take(np.sort(drawn))


def with_estimates(trace: Trace, factor: float) -> Trace:
    """Set missing walltimes to `factor` times the runtime."""

    def estimated(runtime: int) -> int:
        return min(ceil(runtime * factor), LARGEST)

    rows = trace.no_walltime & trace.has_ended
    walltime = trace.walltime.copy()
    walltime[rows] = [estimated(runtime) for runtime in trace.runtime[rows].tolist()]
    numbers = {*trace.number[rows].tolist()}
    requests = {
        number: tuple(replace(one, walltime=estimated(one.runtime)) if number in numbers else one for one in asked)
        for number, asked in trace.requests.items()
    }
    return replace(trace, walltime=walltime, requests=requests)


def extended(trace: Trace) -> Trace:
    """Extend walltimes to runtimes, so no job is killed."""
    requests = {
        number: tuple(replace(one, walltime=max(one.walltime, one.runtime)) for one in asked)
        for number, asked in trace.requests.items()
    }
    return replace(trace, walltime=np.maximum(trace.walltime, trace.runtime), requests=requests)


LEAST_FACTOR, MOST_FACTOR = 1e-3, 1e3
"""Divisor's limits."""


def scale_load(trace: Trace, factor: float) -> Trace:
    """Divide times since the first submit by `factor`; runtimes and windows stay."""
    if not LEAST_FACTOR <= factor <= MOST_FACTOR:
        raise InputError("load factor", f"{factor}", "0.001 to 1000")
    first = int(trace.submit.min())
    moved = first + np.floor((trace.submit - first) / factor).astype(np.int64)
    return resubmitted(trace, moved)


def resubmitted(trace: Trace, submit: Ints) -> Trace:
    """Set submit times (jobs,); windows move along."""
    change = submit - trace.submit
    lst = np.where(trace.lst == NO_TIME, NO_TIME, trace.lst + change)
    moved = replace(trace, submit=submit, est=trace.est + change, lst=lst)
    return moved.take(np.lexsort((moved.number, moved.submit)))


def offered_load(trace: Trace, platform: Platform) -> float | None:
    """Work (cut at walltimes) over core capacity between first and last submit.

    None if all are submitted at once. Ignores jobs that have not ended.
    """
    trace = trace if trace.has_ended.all() else trace.take(trace.has_ended)
    if not len(trace):
        return None
    span = int(trace.submit.max() - trace.submit.min())
    work = float((trace.procs.astype(float) * np.minimum(trace.runtime, trace.walltime)).sum())
    return work / (platform.cores * span) if span else None


def with_load(trace: Trace, platform: Platform, target: float) -> Trace:
    """Scale interarrival times to a target load."""
    if not 0 < target < inf:
        raise InputError("--target-load", f"{target}", "a load above 0, as from `dardis trace info`")
    load = offered_load(trace, platform)
    if not load:
        raise InputError("--target-load", f"{target}: this trace has no load", "jobs with cores, submitted over time")
    if not LEAST_FACTOR <= target / load <= MOST_FACTOR:
        reach = f"{LEAST_FACTOR * load:.3g} to {MOST_FACTOR * load:.3g}, since the load of the trace is {load:.3g}"
        raise InputError("--target-load", f"{target:g}", reach)
    scaled = scale_load(trace, target / load)
    found = offered_load(scaled, platform)
    if found is None or abs(found / target - 1) > 0.05:
        expected = "a load that is possible with submissions at whole seconds"
        raise InputError("--target-load", f"{target:g}: the trace would be submitted within seconds", expected)
    return scaled


def _keep(trace: Trace, rows: Bools, what: str) -> Trace:
    if not rows.any():
        raise InputError(what, f"no job of the {len(trace)} in the trace", "a filter with at least one job")
    return trace.take(rows)


PAUSE_S: Final = 3600
"""Longer pauses of a user start new sessions."""
WEEK_S: Final = 7 * 86_400
LEAST_WEEKS: Final = 4
"""With fewer weeks, draws hardly differ."""
ALMOST_S: Final = 86_400
"""Tolerance for an incomplete last week."""


def resampled(trace: Trace, by: Resampling, seed: int, name: str, draw: int) -> Trace:
    """Draw `draw` of the trace `name`; equal arguments give equal traces. Raises InputError for short traces."""
    rng = stream(seed, "resample", str(by), name, draw)
    session = sessions(trace)
    if by.method is ResamplingMethod.SHAKE:
        delays = rng.integers(0, by.width_s + 1, size=int(session.max()) + 1)
        return resubmitted(trace, trace.submit + delays[session])
    weeks = whole_weeks(trace)
    return _of_weeks(trace, session, rng.integers(0, weeks, size=weeks))


def whole_weeks(trace: Trace) -> int:
    """Whole weeks since the first submission. Raises InputError if too few."""
    weeks = int(trace.submit.max() - trace.submit.min() + ALMOST_S) // WEEK_S
    if weeks < LEAST_WEEKS:
        found = f"weeks of a trace with {weeks} complete weeks"
        raise InputError("--resample", found, f"a trace of at least {LEAST_WEEKS} weeks, or shake")
    return weeks


def sessions(trace: Trace) -> Ints:
    """Session of each job, from 0; (jobs,)."""
    users, user = np.unique(trace.user.astype(str), return_inverse=True)
    order = np.lexsort((trace.number, trace.submit, user))
    nobody = np.flatnonzero(users == "")
    begins = np.ones(len(trace), dtype=bool)
    same = user[order][1:] == user[order][:-1]
    begins[1:] = ~same | (np.diff(trace.submit[order]) > PAUSE_S) | np.isin(user[order][1:], nobody)
    found = np.empty(len(trace), dtype=np.int64)
    found[order] = np.cumsum(begins) - 1
    return found


def _of_weeks(trace: Trace, session: Ints, drawn: Ints) -> Trace:
    first = int(trace.submit.min())
    begins = np.full(int(session.max()) + 1, np.iinfo(np.int64).max)
    np.minimum.at(begins, session, trace.submit)
    week = (begins[session] - first) // WEEK_S
    rows = [np.flatnonzero(week == one) for one in drawn.tolist()]
    place = np.repeat(np.arange(len(drawn)), [len(some) for some in rows])
    row = np.concatenate(rows)
    submit = trace.submit[row] + (place - drawn[place]) * WEEK_S
    order = np.lexsort((place, trace.number[row], submit))
    row, place, submit = row[order], place[order], submit[order]
    old, number = trace.number[row], np.arange(1, len(row) + 1)
    copies = dict(zip(zip(place.tolist(), old.tolist(), strict=True), number.tolist(), strict=True))
    after = [copies.get(key, UNKNOWN) for key in zip(place.tolist(), trace.after[row].tolist(), strict=True)]
    requests = {
        copy: trace.requests[job]
        for job, copy in zip(old.tolist(), number.tolist(), strict=True)
        if job in trace.requests
    }
    drawn_trace = replace(trace.take(row), number=number, after=np.array(after, dtype=np.int64), requests=requests)
    return resubmitted(drawn_trace, submit)
