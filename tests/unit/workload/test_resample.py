"""Traces drawn anew: sessions stay whole, weeks keep their days and hours, and the same draw is the same trace."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dardis.model.choices import WEEKS, Resampling, ResamplingMethod, resampling_of
from dardis.workload.trace import UNKNOWN, build_trace
from dardis.workload.transform import WEEK_S, resampled, sessions

SHAKE = Resampling(ResamplingMethod.SHAKE, 500)


def trace_of(rows):
    """Jobs of (submit, user), numbered from 1; each runs as long as its number says, so that it is known again."""
    submit, users = zip(*rows, strict=True)
    number = np.arange(1, len(rows) + 1)
    columns = {"number": number, "submit": np.array(submit), "runtime": number, "procs": np.ones(len(rows), np.int64)}
    columns |= {"user": np.array(users, dtype=object), "after": np.where(number % 2 == 0, number - 1, UNKNOWN)}
    return build_trace(Path("t"), number, columns, [], strict=True)


ROWS = st.lists(st.tuples(st.integers(0, 6 * WEEK_S), st.sampled_from(["ann", "bob", ""])), min_size=1, max_size=40)
LONG = ROWS.map(lambda rows: [*rows, (0, "ann"), (5 * WEEK_S - 1, "bob")])


def by_sessions(trace):
    """Runtimes and distances from their first submission of the jobs of each session."""
    found = {}
    for place, session in enumerate(sessions(trace).tolist()):
        found.setdefault(session, []).append((int(trace.submit[place]), int(trace.runtime[place])))
    return [tuple(sorted((run, at - min(jobs)[0]) for at, run in jobs)) for jobs in found.values()]


@given(LONG, st.integers(1, 50))
@settings(deadline=None)
def test_drawn_weeks_keep_sessions_together(rows, draw):
    trace = trace_of(rows)
    whole = by_sessions(trace)
    drawn = resampled(trace, WEEKS, 1, "t", draw)
    assert drawn.number.tolist() == list(range(1, len(drawn) + 1))
    assert (np.diff(drawn.submit) >= 0).all()
    place = dict(zip(trace.runtime.tolist(), trace.submit.tolist(), strict=True))
    shift = drawn.submit - np.array([place[run] for run in drawn.runtime.tolist()])
    assert (shift % WEEK_S == 0).all()
    # Of a copy of a session all jobs are there, each as often as the others.
    counts = Counter(drawn.runtime.tolist())
    for jobs in whole:
        assert len({counts[run] for run, _ in jobs}) == 1
    same = resampled(trace, WEEKS, 1, "t", draw)
    assert (same.submit == drawn.submit).all()
    known = {int(n): int(run) for n, run in zip(drawn.number, drawn.runtime, strict=True)}
    for run, after in zip(drawn.runtime.tolist(), drawn.after.tolist(), strict=True):
        assert after == UNKNOWN or known[after] == run - 1


@given(ROWS, st.integers(1, 50))
@settings(deadline=None)
def test_shaken_sessions_move_together_within_the_stated_width(rows, draw):
    trace = trace_of(rows)
    shaken = resampled(trace, SHAKE, 1, "t", draw)
    before = dict(zip(trace.number.tolist(), trace.submit.tolist(), strict=True))
    of = dict(zip(trace.number.tolist(), sessions(trace).tolist(), strict=True))
    delays = {}
    for number, at in zip(shaken.number.tolist(), shaken.submit.tolist(), strict=True):
        delays.setdefault(of[number], set()).add(at - before[number])
    assert all(len(each) == 1 and 0 <= min(each) <= 500 for each in delays.values())
    assert sorted(shaken.number.tolist()) == sorted(trace.number.tolist())
    along = resampled(replace(trace, est=trace.submit + 5, lst=trace.submit + 50), SHAKE, 1, "t", draw)
    assert {*(along.est - along.submit).tolist(), *(along.lst - along.submit).tolist()} == {5, 50}


def test_resampling_options_are_parsed():
    assert [str(resampling_of(text)) for text in ("weeks", "shake", "shake:60")] == ["weeks", "shake:86400", "shake:60"]
    for text in ("", "week", "shake:", "shake:0", "shake:x", "weeks:3", "shake:99999999999"):
        with pytest.raises(ValueError, match="expected weeks, shake, or shake:WIDTH_S"):
            resampling_of(text)
