"""Days under the loop put together, jobs that are held for cheap hours, and past days played again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.actual import actual, asking
from kit.effort import examples
from kit.small_site import DAY_S, HOUR_S, hourly, loaded, table

from dardis.metrics.audit import audit
from dardis.model.platform import NodeGroup, NodePower, Platform
from dardis.model.step_function import StepFunction
from dardis.model.target import Switching
from dardis.power.conditions import Tariff
from offline.loop.loop import join_switching
from offline.loop.past_day import PlayedDay, arrivals_of, play_day
from offline.loop.shift import shift_jobs
from offline.site.history import PastSchedule, predictor_of, replay_easy

DAYS = (7, 8)


def functions(draw, day):
    """What a day wishes: numbers from its midnight on, before that all 9 nodes, afterwards whatever it likes."""
    hours = sorted(draw(st.sets(st.integers(1, 30), max_size=5)))
    steps = [(day * DAY_S + HOUR_S * hour, draw(st.integers(0, 9))) for hour in (0, *hours)]
    return StepFunction.from_steps(9, steps)


@given(st.data(), st.integers(1, 4), st.sampled_from(("spares", "floors")))
def test_each_day_follows_its_own_switching(data, count, name):
    days = [
        Switching(**{name: {group: functions(data.draw, day) for group in (0, 2)}}, idle_s=600) for day in range(count)
    ]
    whole = join_switching(days)
    assert whole.idle_s == 600
    for group in (0, 2):
        together = getattr(whole, name)[group]
        assert int(together.at(-1)) == 9
        for day, alone in enumerate(days):
            last = (day + 3 if day == count - 1 else day + 1) * DAY_S
            moments = np.arange(day * DAY_S, last, HOUR_S // 2)
            assert (together.at(moments) == getattr(alone, name)[group].at(moments)).all()
    assert getattr(whole, {"spares": "floors", "floors": "spares"}[name]) == {}


@pytest.fixture(scope="module")
def site(small_site):
    return loaded(small_site)


@pytest.fixture(scope="module")
def past(site):
    return replay_easy(site.jobs, site.platform)


@pytest.mark.parametrize("hours", [0.5, 48])
def test_held_jobs_start_never_earlier_and_never_later_than_allowed(site, past, hours):
    held = shift_jobs(site, site.jobs, past, DAYS, hours)
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
    held = shift_jobs(here, site.jobs, past, DAYS, 24)
    assert shift_jobs(replace(clean_by_noon, tariff=Tariff()), site.jobs, past, DAYS, 24) == site.jobs, (
        "CO2 has no price"
    )
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


POWER = NodePower(idle_w=100.0, off_w=10.0, boot_s=300, shutdown_s=60)
PLATFORM = Platform("six", (NodeGroup("n", 4, {"cores": 2}, POWER), NodeGroup("m", 2, {"cores": 4}, POWER)))
HOUR = 3_600


@st.composite
def pasts(draw) -> PastSchedule:
    """Two and a half days of jobs on whole nodes or on shares of them, with walltimes near or far above runtimes."""
    rows = draw(
        st.lists(
            st.tuples(st.integers(0, 60 * HOUR), st.integers(60, draw(st.sampled_from([12, 30])) * HOUR),
                      st.sampled_from([0, HOUR, 4 * HOUR, 90 * HOUR]), st.integers(1, 6), st.sampled_from([1, 2]),
                      st.integers(1, 3)),
            min_size=1, max_size=30,
        )
    )  # fmt: skip
    jobs = [
        actual(n, submit, submit, None, runtime + more, min(units, 6 if groups == 3 else 4), (cores,), groups,
               runtime=runtime)
        for n, (submit, runtime, more, units, cores, groups) in enumerate(sorted(rows), 1)
    ]  # fmt: skip
    return PastSchedule(replay_easy(jobs, PLATFORM), jobs, "")


def legal(day: PlayedDay, *, switched: bool = False) -> None:
    schedule = day.schedule
    numbers = [job.number for job in day.past.jobs]
    downtime = day.downtime if switched else None
    assert audit(schedule, day.machine, expected=numbers, downtime=downtime) == []
    assert schedule.ran.all()


def running(known: dict[int, tuple[int, int]], now: int) -> set[int]:
    return {number for number, (begun, ended) in known.items() if begun < now < ended}


def moments(past: PastSchedule) -> dict[int, tuple[int, int]]:
    schedule = past.schedule
    times = zip(schedule.number.tolist(), schedule.start.tolist(), schedule.finish.tolist(), strict=True)
    return {number: (start, finish) for number, start, finish in times}


@given(pasts())
@examples(2)
def test_consecutive_days_continue_from_each_other(past):
    before, start = past, int(past.schedule.submit.min())
    for _ in range(3):
        start += DAY_S
        day = play_day(before, arrivals_of(past, start), PLATFORM, start)
        legal(day)
        told, known = moments(day.past), moments(before)
        arrived = {job.number for job in arrivals_of(past, start)}
        assert {n: told[n][1] for n in running(known, start)} == {n: known[n][1] for n in running(known, start)}
        waiting = {number for number, (begun, _) in known.items() if begun >= start}
        assert arrived <= set(told) <= arrived | waiting | running(known, start)
        assert set(np.flatnonzero(day.is_of_day).tolist()) == {
            place for place, job in enumerate(day.past.jobs) if job.number in arrived
        }
        assert (day.schedule.start >= start).all()
        before = day.past


def test_a_walltime_that_reaches_a_window_is_no_hindrance():
    lengths = {1: 2 * DAY_S, 2: DAY_S + 60}
    jobs = [actual(number, 0, 0, None, 2 * DAY_S, 1, (1,), 2, runtime=length) for number, length in lengths.items()]
    past = PastSchedule(replay_easy(jobs, PLATFORM), jobs, "")
    (node,) = {past.schedule.placed.of(place)[0].tolist()[0] for place in range(2)}
    day = play_day(past, [], PLATFORM, DAY_S, closed=[(DAY_S + HOUR, DAY_S + 2 * HOUR, node)])
    legal(day)
    assert moments(day.past) == {number: (DAY_S, length) for number, length in lengths.items()}


def test_held_jobs_use_expected_runtimes_instead_of_walltimes(site, past):
    predictor = predictor_of(past)
    longer = [asking(job, walltime=4 * job.walltime) for job in site.jobs]
    one, two = (shift_jobs(site, jobs, past, DAYS, 12) for jobs in (site.jobs, longer))
    moved = 0
    for stated, job, now, other in zip(site.jobs, longer, one, two, strict=True):
        first, second = (predictor.runtime(each.user, each.walltime, each.submit) for each in (stated, job))
        if first == second < stated.walltime:
            assert now.earliest == other.earliest
            moved += now.earliest > stated.earliest
    assert moved > 5
