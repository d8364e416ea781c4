"""Methods of forecasting: replays are replays, bands and ranges hold what they say, a weekly rhythm is found."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st
from kit.effort import examples
from kit.past_jobs import DAY, HOUR, trace_of, traces

from dardis.model.errors import InputError
from offline.forecast import scenarios
from offline.forecast.backtest import backtest
from offline.forecast.donors import METHODS, WEEK, credibility, donors, hour_strength, seasonal, weekday_strength
from offline.forecast.forecast import Forecast, forecast
from offline.forecast.past import by_hour, in_use, look_back
from offline.forecast.ranges import on_its_weekday, range_of
from offline.site.calendar import Calendar

CALENDAR = Calendar(0, 0)


def made_by(trace, day, hours, method, seed=1) -> Forecast:
    try:
        return forecast(trace, CALENDAR, day, hours, method, seed)
    except InputError:
        reject()


@examples(0.6)
@given(traces(), st.integers(2, 8), st.sampled_from(list(METHODS)), st.sampled_from([24, 48]), st.integers(0, 99))
def test_a_forecast_keeps_its_promises(trace, day, method, hours, seed):
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
    past = look_back(trace, day * DAY, hours).jobs
    shapes = set(zip(past.procs, past.walltime, past.runtime, past.user, past.submit % HOUR, strict=True))
    assert set(zip(jobs.procs, jobs.walltime, jobs.runtime, jobs.user, jobs.submit % HOUR, strict=True)) <= shapes
    again = made_by(trace, day, hours, method, seed)
    assert np.array_equal(again.trace.submit, jobs.submit)
    assert np.array_equal(again.demand.in_use.high, made.demand.in_use.high)


@examples(0.6)
@given(traces(), st.integers(1, 8), st.sampled_from([24, 48]))
def test_the_previous_day_comes_again_as_it_was(trace, day, hours):
    made = made_by(trace, day, hours, "previous-day")
    past = look_back(trace, day * DAY, hours).jobs
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


def steady(days, per_hour=2, seed=5):
    """Jobs at every hour, of sizes by chance."""
    rng = np.random.default_rng(seed)
    submit = np.repeat(np.arange(days * 24), per_hour) * HOUR + rng.integers(0, HOUR, days * 24 * per_hour)
    submit[0] = 0
    return trace_of(submit, rng.integers(60, 4 * HOUR, len(submit)), rng.integers(1, 9, len(submit)), wait=0 * submit)


def test_the_previous_week_is_the_namesakes_and_needs_a_week():
    trace = steady(11)
    made = forecast(trace, CALENDAR, 10, 48, "previous-week")
    namesakes = trace.take((trace.submit >= 3 * DAY) & (trace.submit < 5 * DAY))
    assert (made.trace.submit - 7 * DAY).tolist() == namesakes.submit.tolist()
    assert made.notes == ()
    early = forecast(trace, CALENDAR, 5, 24, "previous-week")
    assert early.notes[0].startswith("previous-week: less than a week of history (days: 5)")
    assert early.trace.submit.tolist() == forecast(trace, CALENDAR, 5, 24, "previous-day").trace.submit.tolist()


def test_the_mean_is_of_the_last_seven_days():
    trace = steady(12)
    made = forecast(trace, CALENDAR, 10, 24, "mean")
    days = [by_hour(trace, day * DAY, 24, 24) for day in range(3, 10)]
    # One job of the last hours may be unfinished at midnight; the hours that it can touch are left out.
    assert np.allclose(made.demand.submitted.mean[:20], np.mean([day.work for day in days], axis=0)[:20])
    assert np.allclose(made.demand.in_use.mean[:20], np.mean([in_use(day.load) for day in days], axis=0)[:20])
    assert made.notes == ()
    assert forecast(trace, CALENDAR, 4, 24, "mean").notes == ("mean: less than a week of history (days: 4)",)


def test_another_seed_gives_other_jobs_but_the_same_expectation():
    trace = steady(20)
    assert forecast(steady(3), CALENDAR, 6).notes[0] == "no job in the 3 days before the forecast"
    one, other = (forecast(trace, CALENDAR, 18, 24, seed=seed) for seed in (1, 2))
    assert one.trace.submit.tolist() != other.trace.submit.tolist()
    assert np.array_equal(one.demand.in_use.mean, other.demand.in_use.mean)


@pytest.mark.parametrize("method", ["mean", "seasonal"])
def test_scenarios_have_the_expected_demand_on_average(method, monkeypatch):
    monkeypatch.setattr(scenarios, "SCENARIOS", 10_000)
    past = look_back(steady(20), 18 * DAY, 48)
    chosen = donors(past, method, 2)
    drawn = scenarios.draw(past, chosen, seed=3)
    used, work = scenarios.expected(past, chosen)
    assert np.allclose(in_use(past.hourly.load[drawn]).mean(axis=0), used, rtol=0.02)
    assert np.allclose(past.hourly.work[drawn].mean(axis=0), work, rtol=0.04)


def test_the_made_up_jobs_are_the_scenario_nearest_to_the_mean():
    past = look_back(steady(20), 18 * DAY, 24)
    chosen = donors(past, "seasonal", 1)
    drawn = scenarios.draw(past, chosen, seed=3)
    demand, _ = scenarios.bands(past, chosen, drawn)
    used = in_use(past.hourly.load[drawn])
    jobs = scenarios.jobs_of(past, scenarios.nearest(past, demand, drawn))
    mine = in_use(by_hour(jobs, 18 * DAY, 24, 24).load)
    distances = np.abs(used - demand.in_use.mean).sum(axis=1)
    assert np.abs(mine - demand.in_use.mean).sum() == pytest.approx(distances.min())


def test_a_burst_stays_whole():
    submit = np.concatenate([np.arange(20) * DAY, np.full(40, 17 * DAY + 5 * HOUR)])
    user = ["slow"] * 20 + ["burst"] * 40
    trace = trace_of(submit, np.full(60, 1800), np.ones(60), np.full(60, 3600), np.zeros(60), user)
    seen = set()
    past = look_back(trace, 18 * DAY, 24)
    for row in scenarios.draw(past, donors(past, "seasonal", 1), seed=1):
        jobs = scenarios.jobs_of(past, row)
        seen |= set(np.unique(jobs.submit[jobs.user == "burst"], return_counts=True)[1].tolist())
    assert seen == {40}


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


def test_weekdays_count_as_far_as_they_differ():
    past = look_back(weekly(8, 1), 35 * DAY, 48)
    namesakes = np.arange(35, 0, -1) % 7 == 0
    chosen = seasonal(past, 2)
    assert chosen.weights.sum(axis=1) == pytest.approx([1, 1])
    assert chosen.weights[0, namesakes].sum() > 0.8
    assert chosen.weights[1, np.roll(namesakes, 1)].sum() > 0.8
    flat = seasonal(look_back(steady(40), 35 * DAY, 24), 1)
    assert flat.weights[0, namesakes].sum() < 0.4
    few = seasonal(look_back(steady(40), 14 * DAY, 24), 1)
    assert "weekdays are not told apart" in few.notes[0]


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


def test_a_replay_is_judged_by_its_own_past_errors():
    # One job an hour, of d cores on day d: yesterday is always one core short, a week ago seven.
    trace = trace_of(
        np.arange(10 * 24) * HOUR, np.full(240, HOUR), 1 + np.arange(240) // 24, np.full(240, 2 * HOUR), np.zeros(240)
    )
    for method, short in (("previous-day", 1), ("previous-week", 7)):
        band = forecast(trace, CALENDAR, 9, 24, method).demand.in_use
        assert np.allclose(band.low, band.mean)
        assert np.allclose(band.high - band.mean, short)
    alone = forecast(trace, CALENDAR, 1, 24, "previous-day")
    assert alone.notes == ("no past day to judge this replay by: its bands have no width",)


@pytest.mark.parametrize("lead_h", [0, 9, 15, 24])
def test_a_plan_before_a_weekend_expects_a_weekend(lead_h):
    """Days of 48 jobs, two of seven of 12; the moment of planning moves no day's range."""
    counts = [12 if day % 7 in {5, 6} else 48 for day in range(35)]
    submit = [day * DAY + place * DAY // count for day, count in enumerate(counts) for place in range(count)]
    trace = trace_of(submit, [600] * len(submit), [1] * len(submit))
    for day, count in ((33, 12), (34, 12), (35, 48)):
        jobs = forecast(trace, CALENDAR, day, lead_s=lead_h * HOUR).jobs
        assert jobs.low == pytest.approx(count, rel=0.1)
        assert jobs.high == pytest.approx(count, rel=0.1)


# In hundredths: values that differ by less would be equal once they are moved, and then stand in another order.
values_seen = st.integers(-(10**8), 10**8).map(lambda hundredths: hundredths / 100)
days = st.lists(st.tuples(values_seen, st.floats(0.01, 1.0)), min_size=1, max_size=40)


@given(days, st.floats(0.1, 10), st.floats(-100, 100))
def test_a_range_holds_its_mean_and_no_more_than_was_seen(told, scale, shift):
    values, weights = np.array(told).T
    found = range_of(values, weights)
    assert found.low <= found.mean <= found.high
    least, most = values.min(), values.max()
    assert least - 1e-6 <= found.low <= found.high <= most + 1e-6
    moved = range_of(scale * values + shift, 7 * weights)
    np.testing.assert_allclose(moved, [scale * end + shift for end in found], rtol=1e-6, atol=1e-2)


def test_eight_of_ten_days_of_one_kind_are_within():
    rng = np.random.default_rng(5)
    inside = []
    for _ in range(400):
        past = rng.lognormal(3, 1, 21)
        found = range_of(past[:-1], np.ones(20))
        inside.append(found.low <= past[-1] <= found.high)
    assert 0.76 < np.mean(inside) < 0.9


def test_days_that_say_more_weigh_more():
    values = np.array([1.0, 1.0, 1.0, 9.0, 9.0, 9.0])
    assert range_of(values, np.array([1.0, 1, 1, 9, 9, 9])).mean > range_of(values, np.ones(6)).mean


@pytest.mark.parametrize(("weeks", "ahead"), [(3, 0), (3, 1), (4, 2), (8, 6)])
def test_three_weeks_tell_weekdays_apart(weeks: int, ahead: int) -> None:
    """A quiet Saturday after busy weekdays is quiet, and a working day after a weekend busy."""
    rng = np.random.default_rng(weeks)
    mean = np.array([200.0, 200, 200, 200, 200, 70, 70])
    weekday = np.arange(WEEK * weeks) % WEEK
    for first in [*range(WEEK)] * 5:
        came = rng.poisson(mean[(first + weekday) % WEEK]).astype(float)
        coming = mean[(first + ahead) % WEEK]
        found = range_of(on_its_weekday(came, ahead), np.ones(len(came)))
        assert 0.7 * coming < found.low < 1.1 * coming
        assert 0.9 * coming < found.high < 1.4 * coming


@given(days)
def test_less_than_three_weeks_move_nothing(told):
    values = np.abs(np.array(told).T[0][: 3 * WEEK - 1])
    assert on_its_weekday(values) is values


@given(st.integers(0, 1000), st.integers(21, 56))
def test_days_without_a_weekly_rhythm_hardly_move(seed, count):
    """What chance makes of weekdays is trusted little: the whole range stays where it is, within a third."""
    values = np.random.default_rng(seed).poisson(100.0, count).astype(float)
    moved = on_its_weekday(values)
    np.testing.assert_allclose(moved, values, atol=35)
    assert (moved >= 0).all()
