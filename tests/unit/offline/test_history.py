from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from kit.machine import jobs, platforms

from dardis.metrics.audit import audit
from dardis.model.job import NO_TIME
from offline.baseline import rule_based, rule_setups
from offline.history import plan_jobs, predictor_of, replayed, state_at
from offline.planner.problem import Running


@st.composite
def days(draw):
    """A machine, jobs without deadlines, and a moment among them."""
    platform = draw(platforms())
    many = [replace(job, latest=None) for job in draw(jobs(platform))]
    return platform, many, draw(st.integers(0, 120))


@settings(max_examples=60, deadline=None)
@given(days())
def test_every_job_of_the_past_has_ended_or_runs_or_waits_and_the_future_does_not_count(day):
    platform, many, now = day
    schedule = replayed(many, platform)
    state = state_at(schedule, many, platform, now, predictor_of(schedule))
    past = {job.number for job in many if job.submit < now}
    ended = {
        number
        for number, ran, finish in zip(schedule.number.tolist(), schedule.ran, schedule.finish, strict=True)
        if not ran or (finish <= now and finish != NO_TIME)
    }
    assert set(state.running.number.tolist()) | {job.number for job in state.waiting} == past - ended
    assert (state.running.start < now).all()
    assert (state.running.finish > now).all()
    longer = [job if job.submit < now else replace(job, runtime=1, walltime=1) for job in many]
    told = [
        job if number in ended or number not in past else replace(job, runtime=job.walltime)
        for number, job in zip((job.number for job in longer), longer, strict=True)
    ]
    again = replayed(told, platform)
    other = state_at(again, told, platform, now, predictor_of(again))
    assert other.running.number.tolist() == state.running.number.tolist()
    assert other.running.finish.tolist() == state.running.finish.tolist()
    assert [job.runtime for job in other.waiting] == [job.runtime for job in state.waiting]


@settings(max_examples=60, deadline=None)
@given(days(), st.sampled_from(sorted(rule_setups())))
def test_rules_go_on_beside_what_runs(day, name):
    platform, many, now = day
    schedule = replayed(many, platform)
    state = state_at(schedule, many, platform, now, predictor_of(schedule))
    rows = plan_jobs(state.waiting, platform, now)
    assert (rows.earliest >= now).all()
    after = rule_based(state.waiting, state.running, platform, rule_setups()[name], now)
    both = joined(after, state.running)
    assert audit(both, platform, reserved=False) == []
    assert sorted(after.number.tolist()) == sorted(rows.number.tolist())


def joined(schedule, running: Running):
    """The schedule with what runs beside it."""
    count = len(running.number)
    first = np.concatenate([running.offsets[:-1], running.offsets[-1] + schedule.offsets])
    units = np.array(
        [running.node_units[a:b].sum() for a, b in zip(running.offsets, running.offsets[1:], strict=False)]
    )
    length = running.finish - running.start
    return replace(
        schedule,
        number=np.concatenate([running.number, schedule.number]),
        submit=np.concatenate([running.submit, schedule.submit]),
        earliest=np.concatenate([running.submit, schedule.earliest]),
        latest=np.concatenate([np.full(count, NO_TIME), schedule.latest]),
        walltime=np.concatenate([length, schedule.walltime]),
        units=np.concatenate([units.astype(np.int64), schedule.units]),
        request=np.concatenate([running.request, schedule.request]),
        status=np.concatenate([np.zeros(count, np.int8), schedule.status]),
        start=np.concatenate([running.start, schedule.start]),
        finish=np.concatenate([running.finish, schedule.finish]),
        attempts=np.concatenate([np.ones(count, np.int64), schedule.attempts]),
        offsets=first.astype(np.int64),
        nodes=np.concatenate([running.nodes, schedule.nodes]),
        node_units=np.concatenate([running.node_units, schedule.node_units]),
        queue=[""] * count + schedule.queue,
        user=[""] * count + schedule.user,
    )
