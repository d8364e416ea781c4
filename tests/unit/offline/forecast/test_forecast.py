"""Methods of forecasting: replays are replays, bands and ranges hold what they say, a weekly rhythm is found."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st
from kit.effort import examples
from kit.past_jobs import DAY, HOUR, trace_of, traces

from dardis.model.errors import InputError
from offline.forecast.backtest import backtest
from offline.forecast.forecast import Forecast, adjust_to_weekday, forecast, range_of
from offline.forecast.scenarios import METHODS, WEEK, credibility, hour_strength, weekday_strength
from offline.forecast.submission_history import by_hour, history_before, in_use
from offline.site.calendar import Calendar

CALENDAR = Calendar(0, 0)


def made_by(trace, day, hours, method, seed=1) -> Forecast:
    try:
        return forecast(trace, CALENDAR, day, hours, method, seed)
    except InputError:
        reject()


@examples(0.6)
@given(traces(), st.integers(2, 8), st.sampled_from(list(METHODS)), st.sampled_from([24, 48]), st.integers(0, 99))
def test_forecast_satisfies_its_bands_and_ranges(trace, day, method, hours, seed):
    made = made_by(trace, day, hours, method, seed)
    assert made.edges.tolist() == list(range(day * DAY, day * DAY + hours * HOUR + 1, HOUR))
    for band in (made.demand.in_use, made.demand.submitted):
        assert band.low.shape == band.mean.shape == band.high.shape == (hours,)
        assert (band.low >= 0).all()
        assert (band.low <= band.mean).all()
        assert (band.mean <= band.high).all()
    jobs = made.trace
    assert (np.diff(jobs.submit) >= 0).all()
    assert ((jobs.submit >= made.edges[0]) & (jobs.submit < made.edges[-1])).all()
    assert len(set(jobs.number.tolist())) == len(jobs)
    assert not set(jobs.number.tolist()) & set(trace.number[trace.submit < day * DAY].tolist())
    past = history_before(trace, day * DAY, hours).jobs
    shapes = set(zip(past.procs, past.walltime, past.runtime, past.user, past.submit % HOUR, strict=True))
    assert set(zip(jobs.procs, jobs.walltime, jobs.runtime, jobs.user, jobs.submit % HOUR, strict=True)) <= shapes
    again = made_by(trace, day, hours, method, seed)
    assert np.array_equal(again.trace.submit, jobs.submit)
    assert np.array_equal(again.demand.in_use.high, made.demand.in_use.high)


@examples(0.6)
@given(traces(), st.integers(1, 8), st.sampled_from([24, 48]))
def test_previous_day_forecast_repeats_the_day(trace, day, hours):
    made = made_by(trace, day, hours, "previous-day")
    past = history_before(trace, day * DAY, hours).jobs
    last = past.take(past.submit >= (day - 1) * DAY)
    for ahead in range(hours // 24):
        start = (day + ahead) * DAY
        now = made.trace.take((made.trace.submit >= start) & (made.trace.submit < start + DAY))
        assert (now.submit - DAY * (ahead + 1)).tolist() == last.submit.tolist()
        assert (now.est - DAY * (ahead + 1)).tolist() == last.est.tolist()
        for column in ("procs", "runtime", "walltime", "user"):
            assert getattr(now, column).tolist() == getattr(last, column).tolist()
    work = (last.procs * last.runtime).sum() * (hours // 24)
    assert made.demand.submitted.mean.sum() * HOUR == pytest.approx(work)
    truth = by_hour(made.trace, day * DAY, hours, hours)
    assert np.allclose(in_use(truth.load), made.demand.in_use.mean)


def weekly(weeks, seed):
    """Busy working days from 8 to 18 h, a tenth at other times and weekends, and sizes by chance."""
    rng = np.random.default_rng(seed)
    hours = np.arange(weeks * 7 * 24)
    busy = (hours // 24 % 7 < 5) & (hours % 24 >= 8) & (hours % 24 < 18)
    submit = np.repeat(hours, rng.poisson(np.where(busy, 20, 2))) * HOUR
    submit = np.concatenate([[0], submit + rng.integers(0, HOUR, len(submit))])
    count = len(submit)
    run = rng.integers(300, 2 * HOUR, count)
    return trace_of(submit, run, rng.integers(1, 17, count), 2 * run, rng.integers(0, 60, count))


def test_seasonal_beats_the_naive_ones_on_a_weekly_rhythm():
    for seed in range(2):
        trace = weekly(8, seed)
        result = backtest(trace, CALENDAR, range(35, 49), 24)
        of = {score.method: score for score in result.scores}
        for naive in ("previous-day", "previous-week", "mean"):
            assert of["seasonal"].mae < 0.9 * of[naive].mae
            assert of["seasonal"].rmse < 0.9 * of[naive].rmse
        assert 0.65 < of["seasonal"].inside < 0.95


def test_the_strength_of_rhythms_is_the_ratio_of_variances():
    rng = np.random.default_rng(0)
    weekday = np.array([0, 1, 2, 3, 4, 5, 6.0])
    noise = rng.normal(0, 1, (28, 24))
    both = np.tile(weekday, 4)[:, None] + noise
    # Over pairs of different weekdays, half the mean squared difference is the variance with n − 1.
    assert weekday_strength(both) == pytest.approx(weekday.var(ddof=1), rel=0.2)
    assert weekday_strength(noise) < 0.1
    assert weekday_strength(both[:14]) == 0
    assert weekday_strength(np.ones((28, 24))) == 0
    assert np.isinf(weekday_strength(np.tile(weekday, 4)[:, None] + np.zeros(24)))
    hour = np.arange(24.0) / 4
    assert hour_strength(hour + noise) == pytest.approx(hour.var(ddof=1), rel=0.2)
    assert hour_strength(noise) < 0.1
    assert hour_strength(noise[:1]) == 0
    assert [credibility(*case) for case in ((0, 10), (0.5, 2), (float("inf"), 1))] == [0, 0.5, 1]


# In hundredths: values that differ by less would be equal once they are moved, and then stand in another order.
values_seen = st.integers(-(10**8), 10**8).map(lambda hundredths: hundredths / 100)
days = st.lists(st.tuples(values_seen, st.floats(0.01, 1.0)), min_size=1, max_size=40)


@pytest.mark.parametrize(("weeks", "ahead"), [(3, 0), (3, 1), (4, 2), (8, 6)])
def test_three_weeks_distinguish_weekdays(weeks: int, ahead: int) -> None:
    rng = np.random.default_rng(weeks)
    mean = np.array([200.0, 200, 200, 200, 200, 70, 70])
    weekday = np.arange(WEEK * weeks) % WEEK
    for first in [*range(WEEK)] * 5:
        came = rng.poisson(mean[(first + weekday) % WEEK]).astype(float)
        coming = mean[(first + ahead) % WEEK]
        found = range_of(adjust_to_weekday(came, ahead), np.ones(len(came)))
        assert 0.7 * coming < found.low < 1.1 * coming
        assert 0.9 * coming < found.high < 1.4 * coming
