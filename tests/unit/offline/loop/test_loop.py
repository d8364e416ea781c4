"""Days under the loop put together: each day's switching on its day, and jobs that are held for cheap hours."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.actual import asking
from kit.small_site import DAY_S, HOUR_S, START, hourly, table

from dardis.model.profile import StepFunction
from dardis.model.target import Switching
from dardis.power.tariff import Tariff
from offline.loop.loop import joined
from offline.loop.shift import shifted
from offline.site.history import predictor_of, replayed
from offline.site.site import SiteRequest, load_site

DAYS = (7, 8)


def functions(draw, day):
    """What a day wishes: numbers from its midnight on, before that all 9 nodes, afterwards whatever it likes."""
    hours = sorted(draw(st.sets(st.integers(1, 30), max_size=5)))
    steps = [(day * DAY_S + HOUR_S * hour, draw(st.integers(0, 9))) for hour in (0, *hours)]
    return StepFunction.from_steps(9, steps)


@given(st.data(), st.integers(1, 4), st.sampled_from(("spares", "floors")))
def test_each_day_is_as_its_own_switching_says(data, count, name):
    days = [
        Switching(**{name: {group: functions(data.draw, day) for group in (0, 2)}}, idle_s=600) for day in range(count)
    ]
    whole = joined(days)
    assert whole.idle_s == 600
    for group in (0, 2):
        together = getattr(whole, name)[group]
        assert int(together.at(-1)) == 9
        for day, alone in enumerate(days):
            last = (day + 3 if day == count - 1 else day + 1) * DAY_S
            moments = np.arange(day * DAY_S, last, HOUR_S // 2)
            assert (together.at(moments) == getattr(alone, name)[group].at(moments)).all()
    assert getattr(whole, {"spares": "floors", "floors": "spares"}[name]) == {}


def test_days_without_switching():
    assert joined([None, None]) is None
    with pytest.raises(ValueError, match="with and without"):
        joined([None, Switching()])


@pytest.fixture(scope="module")
def site(small_site):
    files = (small_site / name for name in ("trace.swf", "small.toml", "weather.csv", "prices.csv"))
    return load_site(SiteRequest(*files, calendar_start=START))


@pytest.fixture(scope="module")
def past(site):
    return replayed(site.jobs, site.platform)


@pytest.mark.parametrize("hours", [0.5, 6, 48])
def test_held_jobs_start_never_earlier_and_never_later_than_allowed(site, past, hours):
    held = shifted(site, site.jobs, past, DAYS, hours)
    start, end = DAYS[0] * DAY_S, (DAYS[1] + 1) * DAY_S
    assert [job.number for job in held] == [job.number for job in site.jobs]
    moved = 0
    for job, now in zip(site.jobs, held, strict=True):
        assert asking(now, earliest=job.earliest) == job
        assert job.earliest <= now.earliest <= job.earliest + 3600 * hours
        moved += now.earliest > job.earliest
        if not start <= job.submit < end:
            assert now == job
    assert moved > 5


def test_deadlines_stay(site, past):
    jobs = [asking(job, latest=job.earliest + 1800) for job in site.jobs]
    held = shifted(site, jobs, past, DAYS, 12)
    assert any(now.earliest > job.earliest for job, now in zip(jobs, held, strict=True))
    assert all(now.earliest <= now.latest for now in held)


def test_nobody_asks_how_long_a_job_will_run(site, past):
    # What has not ended when the days begin ends long after them: how late, and true runtimes, change nothing.
    first = DAYS[0] * DAY_S
    later = [
        replace(past, finish=np.where(past.finish <= first, past.finish, first + days * DAY_S)) for days in (9, 40)
    ]
    assert (later[0].finish != past.finish).any()
    shorter = [replace(job, runtime=max(job.runtime // 3, 1)) for job in site.jobs]
    one, two = (
        [job.earliest for job in shifted(site, jobs, known, DAYS, 12)]
        for jobs, known in ((site.jobs, later[0]), (shorter, later[1]))
    )
    assert one == two


def test_jobs_are_held_for_as_long_as_they_are_expected_to_run_whatever_walltime_is_stated(site, past):
    predictor = predictor_of(past)
    longer = [asking(job, walltime=4 * job.walltime) for job in site.jobs]
    one, two = (shifted(site, jobs, past, DAYS, 12) for jobs in (site.jobs, longer))
    moved = 0
    for stated, job, now, other in zip(site.jobs, longer, one, two, strict=True):
        first, second = (predictor.runtime(each.user, each.walltime, each.submit) for each in (stated, job))
        if first == second < stated.walltime:
            assert now.earliest == other.earliest
            moved += now.earliest > stated.earliest
    assert moved > 5


@pytest.fixture(scope="module")
def clean_by_noon(site, tmp_path_factory):
    """The same site where energy costs the same at any hour, and CO2 most by night."""
    carbon = tmp_path_factory.mktemp("carbon") / "carbon.csv"
    by_hour = [100 + 60 * abs(hour % 24 - 12) for hour in range(24 * (DAYS[1] + 4))]
    carbon.write_text(table("gco2_per_kwh", hourly(by_hour)))
    around = replace(site.around, weather=15.0, prices=0.1, carbon=str(carbon))
    return replace(site, around=around, tariff=Tariff(co2_per_t=400.0))


@pytest.mark.parametrize("charged", ["price_per_kwh", "gco2_per_kwh"])
def test_a_job_is_held_where_that_is_cheapest_of_all(site, clean_by_noon, past, charged):
    here = site if charged == "price_per_kwh" else clean_by_noon
    held = shifted(here, site.jobs, past, DAYS, 24)
    predictor = predictor_of(past)
    conditions = here.conditions(7, 3)
    moved = 0
    for job, now in zip(site.jobs, held, strict=True):
        if now.earliest == job.earliest or job.submit >= 8 * DAY_S:
            continue
        length = predictor.runtime(job.user, job.walltime, job.submit)

        def mean_of(start, length=length):
            seconds = np.arange(start, start + length, 60)
            return getattr(conditions, charged)[np.searchsorted(conditions.edges, seconds, side="right") - 1].mean()

        assert mean_of(now.earliest) < mean_of(job.earliest)
        moved += 1
    assert moved


def test_co2_without_a_price_holds_nobody(site, clean_by_noon, past):
    assert shifted(replace(clean_by_noon, tariff=Tariff()), site.jobs, past, DAYS, 24) == site.jobs
