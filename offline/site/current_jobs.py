"""Site's jobs at a moment, and staleness."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dardis.model.arrays import Ints
from dardis.workload.trace import UNKNOWN, Trace
from offline.site.calendar import DAY_S, HOUR_S, Calendar


@dataclass(frozen=True, slots=True)
class PlanningTime:
    """Planning time, s on the trace's clock, and notes."""

    now: int
    notes: tuple[str, ...] = ()


def last_event(trace: Trace) -> int:
    """Last known submission, start or end."""
    began = trace.submit + np.maximum(trace.wait, 0)
    return int((began + np.maximum(trace.runtime, 0)).max())


def hour_after(trace: Trace, calendar: Calendar) -> int:
    """First full UTC hour from the last event on."""
    unix = calendar.to_unix(last_event(trace))
    return calendar.from_unix(-(-unix // HOUR_S) * HOUR_S)


def complete_times(trace: Trace, now: int) -> Trace:
    """Fill in times of unfinished jobs, consistent with the state at `now`.

    Jobs started by `now` still run then; others begin later. Walltimes: as stated, or the elapsed time if longer;
    missing ones: mean runtime of ended jobs.
    """
    open_ended = ~trace.has_ended
    if not open_ended.any():
        return trace
    start = np.where(trace.wait == UNKNOWN, np.maximum(trace.submit, now) + 1, trace.submit + trace.wait)
    ended = trace.has_ended & (trace.submit + np.maximum(trace.wait, 0) + trace.runtime <= now)
    ran = np.minimum(trace.runtime, trace.walltime)[ended]
    typical = int(ran.mean()) if ended.any() else HOUR_S
    least = np.maximum(now - start, 0) + 1
    walltime = np.where(trace.no_walltime, np.maximum(typical, 2 * least), np.maximum(trace.walltime, least))
    return replace(
        trace,
        wait=np.where(open_ended, start - trace.submit, trace.wait),
        runtime=np.where(open_ended, walltime, trace.runtime),
        walltime=np.where(open_ended, walltime, trace.walltime),
    )


LEAST_DAYS = 14
MEMORY_DAYS = 26 * 7
RARE = 0.03
"""Largest share of rare days without jobs."""
LEAST_JOBS = 30
"""Fewest jobs for a meaningful silence."""
SILENT_DAYS = 3
"""A weekend is no silence."""
FEW = 5
"""Last weeks below 1/5 of the weakest earlier week are unusual."""


@dataclass(frozen=True, slots=True)
class Freshness:
    """Reason for a `stale` history, and `note` on a short history."""

    stale: str = ""
    note: str = ""


def freshness(submits: Ints, now: int, since: int = 0) -> Freshness:
    """Check a history's submission times from `since` to `now`."""
    known = submits[(submits >= since) & (submits < now)]
    days = (now - int(known.min())) // DAY_S if len(known) else 0
    if len(known) >= LEAST_JOBS:
        silent_s, active_s = now - int(known.max()), int(known.max() - known.min())
        if silent_s >= SILENT_DAYS * DAY_S and silent_s > active_s:
            came = f"{len(known)} jobs in {-(-active_s // DAY_S)} days"
            return Freshness(f"no job was submitted for {silent_s // DAY_S} days after {came}")
    if days < LEAST_DAYS:
        return Freshness(note=f"{days} days of history are too few to detect an early end")
    silent = (now - int(known.max())) // DAY_S
    days = min(days, MEMORY_DAYS + silent)
    arrivals = np.histogram(known, now - DAY_S * np.arange(days, -1, -1))[0]
    if not arrivals[-1]:
        before = np.trim_zeros(arrivals, "b")
        such = np.count_nonzero(before == 0)
        if such <= RARE * len(before):
            long = "a day" if silent == 1 else f"{silent} days"
            some = (
                f"{such} of {len(before)} days before had none"
                if such
                else f"each of {len(before)} days before had some"
            )
            return Freshness(f"no job was submitted for {long}, and {some}")
    weeks = arrivals[: days // 7 * -7 - 1 : -1].reshape(-1, 7).sum(axis=1)
    last, least = int(weeks[0]), int(weeks[1:].min())
    if FEW * last < least:
        return Freshness(f"{last} jobs were submitted in the last week, but at least {least} in each earlier week")
    return Freshness()
