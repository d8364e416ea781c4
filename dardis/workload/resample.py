"""Traces drawn anew from one, so that a difference can be told from chance: its weeks, or when sessions begin.

A session is what a user submits without a pause of more than an hour. It is told by submissions alone, however long
jobs run (Zakay and Feitelson, On Identifying User Session Boundaries in Parallel Workload Logs, JSSPP 2012), and stays
whole; so do the hours of the day and the days of the week at which it begins, where weeks are drawn (their Workload
resampling for performance evaluation of parallel job schedulers, 2014, draws users, too; here all who were there in a
week come with it). Where a job has no user it is a session by itself.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from dardis.model.arrays import Ints
from dardis.model.errors import InputError
from dardis.model.randomness import stream
from dardis.model.resampling import How, Resampling
from dardis.workload.trace import UNKNOWN, Trace
from dardis.workload.transform import resubmitted

PAUSE_S: Final = 3600
"""Who submits nothing for longer begins another session."""
WEEK_S: Final = 7 * 86_400
LEAST_WEEKS: Final = 4
"""Of fewer weeks draws would hardly differ."""
ALMOST_S: Final = 86_400
"""What the last week may lack: traces seldom end at the second at which they began."""


def resampled(trace: Trace, by: Resampling, seed: int, name: str, draw: int) -> Trace:
    """Draw number `draw` of a trace of that name; the same four give the same trace.

    Raises InputError for a trace that is too short.
    """
    rng = stream(seed, "resample", str(by), name, draw)
    session = sessions(trace)
    if by.how is How.SHAKE:
        delays = rng.integers(0, by.width_s + 1, size=int(session.max()) + 1)
        return resubmitted(trace, trace.submit + delays[session])
    weeks = whole_weeks(trace)
    return _of_weeks(trace, session, rng.integers(0, weeks, size=weeks))


def whole_weeks(trace: Trace) -> int:
    """Weeks from the first submission on that are there whole. Raises InputError where they are too few."""
    weeks = int(trace.submit.max() - trace.submit.min() + ALMOST_S) // WEEK_S
    if weeks < LEAST_WEEKS:
        found = f"weeks of a trace that has {weeks} whole ones"
        raise InputError("--resample", found, f"a trace of at least {LEAST_WEEKS} weeks, or shake")
    return weeks


def sessions(trace: Trace) -> Ints:
    """The number of each job's session, from 0; shape (jobs,)."""
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
    """The sessions that begin in the weeks `drawn`, week after week; jobs are numbered anew."""
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
