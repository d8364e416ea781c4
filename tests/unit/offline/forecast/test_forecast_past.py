"""What a forecast knows: the past by the hour against a count by the second, and nothing of the future."""

from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.effort import examples
from kit.past_jobs import DAY, HOUR, trace_of, traces

from dardis.model.errors import InputError
from dardis.workload.trace import UNKNOWN, Trace
from offline.forecast.donors import METHODS
from offline.forecast.forecast import forecast
from offline.forecast.past import by_hour, in_use, known_jobs, look_back
from offline.site.calendar import Calendar

CALENDAR = Calendar(0, 0)


def same(one, other):
    for field in fields(Trace):
        assert np.array_equal(getattr(one.trace, field.name), getattr(other.trace, field.name)), field.name
    for demand in ("in_use", "submitted"):
        for side in ("low", "mean", "high"):
            ours, theirs = (getattr(getattr(it.demand, demand), side) for it in (one, other))
            assert np.array_equal(ours, theirs)
    assert (one.method, one.notes) == (other.method, other.notes)


@examples(0.6)
@given(traces(), st.integers(1, 8), st.sampled_from(list(METHODS)), st.sampled_from([24, 48]), st.booleans())
def test_the_future_changes_nothing(trace, day, method, hours, stated):
    origin = day * DAY
    if not stated:  # then the runtimes stand in their place
        trace = replace(trace, walltime=trace.runtime)
    start = trace.submit + np.maximum(trace.wait, 0)
    later = trace.submit >= origin
    goes_on = ~later & (start + trace.runtime > origin)
    waits = goes_on & (start > origin)
    rng = np.random.default_rng(day)
    other = rng.integers(1, DAY, len(trace))
    runtime = np.where(later, other, trace.runtime)
    runtime = np.where(goes_on, np.maximum(origin - start, 0) + other, runtime)
    changed = replace(
        trace,
        runtime=runtime,
        wait=np.where(later, 5, np.where(waits, trace.wait + other, trace.wait)),
        walltime=np.where(later, 1, trace.walltime) if stated else runtime,
        procs=np.where(later, 999, trace.procs),
        submit=np.where(later, trace.submit + other, trace.submit),
        number=np.where(later, trace.number + 10_000, trace.number),
    )
    try:
        known = forecast(trace, CALENDAR, day, hours, method)
    except InputError:
        with pytest.raises(InputError):
            forecast(changed, CALENDAR, day, hours, method)
        return
    same(known, forecast(changed, CALENDAR, day, hours, method))
    same(known, forecast(trace.take(~later), CALENDAR, day, hours, method))


@examples(0.6)
@given(traces(), st.integers(1, 8))
def test_what_has_ended_is_known_and_what_has_not_is_expected_to_run_on(trace, day):
    origin = day * DAY
    before = trace.take(trace.submit < origin)
    known = known_jobs(before, origin)
    start = before.submit + np.maximum(before.wait, 0)
    ended = start + before.runtime <= origin
    assert np.array_equal(known.runtime[ended], np.minimum(before.runtime, before.walltime)[ended])
    elapsed = np.maximum(origin - start, 0)
    assert (known.runtime >= 1).all()
    assert (known.runtime <= known.walltime).all()
    assert (known.wait[start > origin] == UNKNOWN).all()
    longer = (known.runtime > elapsed) | (known.runtime == known.walltime)
    assert longer[~ended].all()


def test_a_job_that_runs_is_expected_by_its_users_last_two():
    trace = trace_of(
        [0, 100, DAY - HOUR, DAY - HOUR], [600, 1000, 9999, 9999], [1] * 4, [7200] * 4, [0] * 4, ["a", "a", "a", ""]
    )
    known = known_jobs(trace, DAY - HOUR + 60)
    assert known.runtime.tolist()[:3] == [600, 1000, 800]
    assert known.runtime[3] == int(7200 * 1600 / 14400)  # nobody's: by what all used of their walltimes


@examples(0.4)
@given(traces(days=2, most=12), st.integers(0, 20))
def test_demand_by_hour_is_what_a_count_by_the_minute_finds(trace, skipped):
    minutes = replace(trace, submit=trace.submit // 60 * 60, runtime=trace.runtime // 60 * 60 + 60)
    start, hours = skipped * HOUR, 20
    used, work = np.zeros(hours), np.zeros(hours)
    for submit, run, walltime, procs in zip(
        minutes.submit, minutes.runtime, minutes.walltime // 60 * 60 + 60, minutes.procs, strict=True
    ):
        if not start <= submit < start + hours * HOUR:
            continue
        work[(submit - start) // HOUR] += procs * min(run, walltime) / HOUR
        for minute in range(submit, min(submit + min(run, walltime), start + hours * HOUR), 60):
            used[(minute - start) // HOUR] += procs / 60
    hourly = by_hour(replace(minutes, walltime=minutes.walltime // 60 * 60 + 60), start, hours, hours)
    assert np.allclose(in_use(hourly.load), used)
    assert np.allclose(hourly.work, work)


def test_less_than_a_day_is_refused_in_one_line():
    trace = trace_of([HOUR, 2 * HOUR], [60, 60], [1, 1])
    with pytest.raises(InputError, match=r"2 jobs in the 23\.0 h before that day; expected jobs of one whole day"):
        look_back(trace, DAY, 24)
    with pytest.raises(InputError, match="0 jobs"):
        look_back(trace, HOUR, 24)
    assert look_back(trace, DAY + HOUR, 24).days == 1


def test_a_day_long_after_the_history_is_refused():
    with pytest.raises(InputError, match="no job in the 56 days"):
        look_back(trace_of([0, DAY], [60, 60], [1, 1]), 100 * DAY, 24)


def test_days_before_the_record_begins_are_not_days_without_jobs():
    """Slurm is asked for ten days, and tells of a job that runs since forty."""
    submit = [-30 * DAY, *range(HOUR, 10 * DAY, HOUR)]
    trace = trace_of(submit, [100 * DAY, *[60] * (len(submit) - 1)], None, wait=np.zeros(len(submit)))
    past = look_back(trace, 10 * DAY, 24)
    assert (past.days, len(past.jobs)) == (10, len(submit) - 1)


def test_a_runtime_is_known_from_the_instant_on_in_which_the_job_ends():
    def told(run: int) -> int:
        trace = trace_of([0, DAY - 100], [10, run], [1, 1], walltime=[1000, 1000], wait=[0, 0], user=["a", "a"])
        return int(known_jobs(trace, DAY).runtime[1])

    assert (told(99), told(100)) == (99, 100)
    assert told(101) == told(900) != 101
