"""Filters and scales a trace; job numbers stay, and a filter that leaves no job is an InputError."""

from __future__ import annotations

from dataclasses import replace
from math import ceil, inf

import numpy as np

from dardis.model.arrays import Bools, Ints
from dardis.model.errors import InputError
from dardis.model.job import NO_TIME
from dardis.model.platform import Platform
from dardis.model.randomness import stream
from dardis.workload.trace import LARGEST, Trace


def in_partition(trace: Trace, names: list[str]) -> Trace:
    """Jobs of these partitions."""
    return _keep(trace, np.isin(trace.partition.astype(str), names), f"partition {', '.join(names)}")


def in_queue(trace: Trace, names: list[str]) -> Trace:
    """Jobs of these queues."""
    return _keep(trace, np.isin(trace.queue.astype(str), names), f"queue {', '.join(names)}")


def submitted(trace: Trace, start: int | None, end: int | None) -> Trace:
    """Jobs submitted in `[start, end)`, s on the trace's clock; None leaves that side open."""
    rows = np.ones(len(trace), dtype=bool)
    if start is not None:
        rows &= trace.submit >= start
    if end is not None:
        rows &= trace.submit < end
    first, last = trace.submit[0], trace.submit[-1]
    span = f"from {first if start is None else start} " + ("on" if end is None else f"to {end}")
    return _keep(trace, rows, f"submit times {span} (the trace's are from {first} to {last})")


def of_width(trace: Trace, least: int, most: int | None) -> Trace:
    """Jobs that ask for `least` to `most` processors, both included; None: no limit."""
    rows = (trace.procs >= least) & (trace.procs <= (LARGEST if most is None else most))
    return _keep(trace, rows, f"widths from {least} to {most}")


def first_jobs(trace: Trace, count: int) -> Trace:
    """The first jobs by (submit, job number)."""
    return _keep(trace, np.arange(len(trace)) < count, f"the first {count} jobs")


def thinned(trace: Trace, share: float, seed: int) -> Trace:
    """That share of the jobs, drawn by the seed, each as likely as the others."""
    if not 0 < share <= 1:
        raise InputError("thinning", f"{share}", "a share of the jobs above 0, at most 1")
    drawn = stream(seed, "thin").permutation(len(trace))[: max(round(share * len(trace)), 1)]
    return trace.take(np.sort(drawn))


def with_estimates(trace: Trace, factor: float) -> Trace:
    """The trace with walltimes that are `factor` times the runtimes, rounded up, for jobs that state none."""

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
    """The trace with walltimes of at least the runtimes: nobody is killed, and walltimes tell when those would be."""
    requests = {
        number: tuple(replace(one, walltime=max(one.walltime, one.runtime)) for one in asked)
        for number, asked in trace.requests.items()
    }
    return replace(trace, walltime=np.maximum(trace.walltime, trace.runtime), requests=requests)


LEAST_FACTOR, MOST_FACTOR = 1e-3, 1e3
"""By which times between submits may be divided."""


def scale_load(trace: Trace, factor: float) -> Trace:
    """Divide the time from the first submit by `factor`; the first submit, runtimes and windows stay."""
    if not LEAST_FACTOR <= factor <= MOST_FACTOR:
        raise InputError("load factor", f"{factor}", "0.001 to 1000")
    first = int(trace.submit.min())
    moved = first + np.floor((trace.submit - first) / factor).astype(np.int64)
    return resubmitted(trace, moved)


def resubmitted(trace: Trace, submit: Ints) -> Trace:
    """The trace with other times of submission, shape (jobs,); windows move along."""
    change = submit - trace.submit
    lst = np.where(trace.lst == NO_TIME, NO_TIME, trace.lst + change)
    moved = replace(trace, submit=submit, est=trace.est + change, lst=lst)
    return moved.take(np.lexsort((moved.number, moved.submit)))


def offered_load(trace: Trace, platform: Platform) -> float | None:
    """Work of the jobs, cut at their walltimes, over what the cores could do between first and last submit.

    None: all are submitted at one instant. Jobs that have not ended do not count.
    """
    trace = trace if trace.has_ended.all() else trace.take(trace.has_ended)
    if not len(trace):
        return None
    span = int(trace.submit.max() - trace.submit.min())
    work = float((trace.procs.astype(float) * np.minimum(trace.runtime, trace.walltime)).sum())
    return work / (platform.cores * span) if span else None


def with_load(trace: Trace, platform: Platform, target: float) -> Trace:
    """The trace with the times between submits scaled so that it has this load on the platform."""
    if not 0 < target < inf:
        raise InputError("--target-load", f"{target}", "a load above 0, as `dardis trace info` prints it")
    load = offered_load(trace, platform)
    if not load:
        raise InputError("--target-load", f"{target}: this trace has no load", "jobs with cores, submitted over a time")
    if not LEAST_FACTOR <= target / load <= MOST_FACTOR:
        reach = f"{LEAST_FACTOR * load:.3g} to {MOST_FACTOR * load:.3g}, as the trace has a load of {load:.3g}"
        raise InputError("--target-load", f"{target:g}", reach)
    scaled = scale_load(trace, target / load)
    found = offered_load(scaled, platform)
    if found is None or abs(found / target - 1) > 0.05:
        expected = "a load that submissions at whole seconds can have"
        raise InputError("--target-load", f"{target:g}: the trace would be submitted within seconds", expected)
    return scaled


def _keep(trace: Trace, rows: Bools, what: str) -> Trace:
    if not rows.any():
        raise InputError(what, f"no job of the {len(trace)} in the trace", "a filter that leaves some")
    return trace.take(rows)
