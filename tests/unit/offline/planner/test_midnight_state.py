"""What runs and waits when a day begins, what a record of it says, and rules that go on from there."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from kit.actual import asking
from kit.effort import examples
from kit.machine import jobs, platforms

from dardis.metrics.audit import audit
from dardis.model.job import NO_TIME, ActualJob, Job
from dardis.model.platform import NodeGroup, NodePower, Platform
from dardis.power.account import accounted_jobs
from offline.planner.day_problem import ExpectedJob
from offline.planner.packing import plan_jobs, state_at
from offline.site.history import predictor_of, recorded_schedule, replay_easy


@st.composite
def days(draw):
    """A machine, jobs without deadlines, and a moment among them."""
    platform = draw(platforms())
    many = [asking(job, latest=None) for job in draw(jobs(platform))]
    return platform, many, draw(st.integers(0, 120))


def asked_of(many: list[ActualJob]) -> list[Job]:
    return [job.job for job in many]


@examples(0.6)
@given(days())
def test_earlier_jobs_have_ended_run_or_wait_and_later_jobs_are_ignored(day):
    platform, many, now = day
    schedule = replay_easy(many, platform)
    state = state_at(schedule, asked_of(many), platform, now, predictor_of(schedule))
    past = {job.number for job in many if job.submit < now}
    ended = set(schedule.number[~schedule.ran | ((schedule.finish <= now) & (schedule.finish != NO_TIME))].tolist())
    assert set(state.running.number.tolist()) | {job.job.number for job in state.waiting} == past - ended
    assert (state.running.start < now).all()
    assert (state.running.finish > now).all()
    longer = [job if job.submit < now else replace(asking(job, walltime=1), runtime=1) for job in many]
    told = [replace(job, runtime=job.walltime) if job.number in past - ended else job for job in longer]
    again = replay_easy(told, platform)
    other = state_at(again, asked_of(told), platform, now, predictor_of(again))
    assert other.running.number.tolist() == state.running.number.tolist()
    assert other.running.finish.tolist() == state.running.finish.tolist()
    assert [job.runtime for job in other.waiting] == [job.runtime for job in state.waiting]


@examples(0.6)
@given(days(), st.booleans(), st.data())
def test_running_jobs_draw_the_power_of_the_account(day, stated, data):
    # Groups draw unlike amounts, and with a kind `power` jobs state watts: it is counted as the exact account does.
    platform, many, now = day
    assume(all(job.request[platform.kinds.index("cores")] for job in many))  # watts a core say nothing of who has none
    watts = st.sampled_from((0.0, 3.0, 9.0, 40.0))
    groups = []
    for group in platform.groups:
        devices = {kind: data.draw(watts) for kind in platform.kinds if kind != "cores"}
        power = NodePower(idle_w=data.draw(watts), core_w=data.draw(watts), device_w=devices)
        more = {"power": 500} if stated else {}
        groups.append(replace(group, power=power, resources=group.resources | more))
    powered = replace(platform, groups=tuple(groups))
    place = powered.kinds.index("power") if stated else 0
    if stated:
        kinds = [powered.kinds.index(kind) for kind in platform.kinds]
        requests = [dict(zip(kinds, job.request, strict=True)) for job in many]
        asked = [request | {place: data.draw(st.sampled_from((0, 1, 70)))} for request in requests]
        places = range(len(powered.kinds))
        many = [asking(job, request=tuple(map(one.get, places))) for job, one in zip(many, asked, strict=True)]
    schedule = replay_easy(many, powered)
    running = state_at(schedule, asked_of(many), powered, now, predictor_of(schedule)).running
    units = running.placed.units_of_jobs
    cores = units * running.request[:, powered.kinds.index("cores")]
    work = accounted_jobs(schedule, powered)
    of_number = dict(zip(schedule.number[schedule.ran].tolist(), work.added_w.tolist(), strict=True))
    expected = [of_number[number] for number in running.number.tolist()]
    assert (cores * running.core_w).tolist() == pytest.approx(expected)


def test_waiting_job_draws_its_stated_or_device_power():
    group = NodeGroup("n", 2, {"cores": 4, "power": 90}, NodePower(idle_w=20.0, core_w=9.0))
    platform = Platform("stated", (group,))
    request = {"cores": 2, "power": 30}
    requests = [(number, request | {"power": watts}) for number, watts in ((1, 30), (2, 0), (3, 6))]
    asks = [
        ExpectedJob(Job(number, 0, 0, None, 1, 1, tuple(each[kind] for kind in platform.kinds), 1), 1)
        for number, each in requests
    ]
    # Two cores' share of idle power is 10 W; what a job states less than that adds nothing.
    assert plan_jobs(asks, platform, 0).core_w.tolist() == [10.0, 9.0, 0.0]
    devices = Platform(
        "gpus", (NodeGroup("n", 2, {"cores": 4, "gpu": 2}, NodePower(core_w=9.0, device_w={"gpu": 30})),)
    )
    ask = ExpectedJob(Job(1, 0, 0, None, 1, 1, (2, 1), 1), 1)
    assert plan_jobs([ask], devices, 0).core_w.tolist() == [24.0], "a core has its part of what devices draw"


@st.composite
def records(draw):
    """A machine, what ran on it (under EASY), and a moment."""
    platform = draw(platforms())
    platform = replace(platform, groups=platform.groups[:1], maintenance=())
    many = [asking(job, latest=None, groups=1) for job in draw(jobs(platform))]
    return platform, many, draw(st.integers(1, 150))


@examples(0.6)
@given(records())
def test_recorded_schedule_is_replayed_at_its_own_starts(record):
    platform, many, now = record
    schedule = replay_easy(many, platform)
    ran = [job for job, there in zip(many, schedule.ran, strict=True) if there]
    waits = dict(zip(schedule.number.tolist(), (schedule.start - schedule.submit).tolist(), strict=True))
    found = recorded_schedule(ran, waits, platform, now)
    if found is None:
        return  # best-fit may need other nodes than EASY had; then the record doesn't fit
    past, ordered = found
    assert audit(past, platform, reserved=False) == []
    assert [job.number for job in ordered] == past.number.tolist()
    begun = past.start < now
    own = [waits[number] for number in past.number[begun].tolist()]
    assert (past.start - past.submit)[begun].tolist() == own  # of fewer than 50 none may be late
