"""What a site knows of its jobs at one moment: those that run or wait are its state, told apart from what has ended."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dardis.workload.trace import UNKNOWN, Trace
from offline.site.calendar import HOUR_S, Calendar


@dataclass(frozen=True, slots=True)
class Moment:
    """When a plan is made, s on the trace's clock, and what people should know of it."""

    now: int
    notes: tuple[str, ...] = ()


def last_event(trace: Trace) -> int:
    """When something is last known to have happened: a submission, a start or an end."""
    began = trace.submit + np.maximum(trace.wait, 0)
    return int((began + np.maximum(trace.runtime, 0)).max())


def hour_after(trace: Trace, calendar: Calendar) -> int:
    """The first whole UTC hour that is not before the last event: when a history was written that does not say so."""
    unix = calendar.to_unix(last_event(trace))
    return calendar.from_unix(-(-unix // HOUR_S) * HOUR_S)


def as_known(trace: Trace, now: int) -> Trace:
    """The trace with times for the jobs that had not ended when it was written, none of which may be looked at.

    What began by `now` still runs then, what has no start begins after it: whoever asks for nothing later than `now`
    finds the state of the machine, as he would in the records of all that happened afterwards. Walltimes are as stated,
    or the time that a job has run if that is longer; where none is, as long as what had ended by `now` took.
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
