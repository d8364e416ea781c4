"""Episodes in which an agent picks jobs: the first job always gives the dispatcher; any pick a legal schedule."""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.effort import examples
from kit.machine import jobs, platforms, with_queues

from dardis.gym.queue_episodes import QueueEpisodes
from dardis.kernels import queue_simulation
from dardis.kernels.queue_decisions import FITS, SHARE, WAIT, WALLTIME, scaled
from dardis.kernels.queue_simulation import NOW
from dardis.metrics.audit import audit
from dardis.metrics.job_metrics import bounded_slowdown
from dardis.model.errors import InputError
from dardis.model.job import NO_TIME
from dardis.model.target import Target
from dardis.registry import find_dispatcher
from dardis.runs.play import play
from dardis.runs.queue_runs import BACKFILLS

HORIZON = np.array([0, 7, 60], dtype=np.int64)


@st.composite
def episodes(draw, *, equal: bool = False, most: int = 20):
    platform = replace(draw(platforms()), maintenance=())
    platform, listed = draw(with_queues(platform, draw(jobs(platform, most=most))))
    if equal:
        platform = replace(platform, queues=tuple(replace(queue, priority=0) for queue in platform.queues))
    listed = [replace(job, job=replace(job.job, earliest=job.submit)) for job in listed]
    backfill = draw(st.sampled_from([*BACKFILLS]))
    try:
        return QueueEpisodes(listed, replace(platform, prime=None), backfill), platform, backfill
    except InputError:
        return draw(st.nothing())


def finish(drawn, pick):
    made, _, _ = drawn
    decisions = made.begin(0, len(made.jobs), 4, HORIZON)
    due = decisions.advance()
    while due:
        due = decisions.advance(pick(decisions))
    return decisions, made.schedule(decisions, 0)


@given(episodes(equal=True), st.integers(1, 5))
@examples(5)
def test_first_job_always_picked_gives_the_dispatcher(drawn, room):
    made, platform, backfill = drawn
    with patch.object(queue_simulation, "STAMPS", room):
        decisions, schedule = finish(drawn, lambda _: 0)
    theirs = play(platform, made.jobs, find_dispatcher(BACKFILLS[backfill]), Target(), 1).schedule
    assert schedule.digest() == theirs.digest()
    waits = schedule.start - schedule.submit
    told = waits.sum(), bounded_slowdown(waits, schedule.finish - schedule.start).sum()
    assert decisions.view.sums == pytest.approx(told)


def waiting_jobs(made, decisions, now):
    """Places of waiting jobs in the order of the queue."""
    level = [made._layout.machine.level_of(job.queue) for job in made.jobs]
    waits = [p for p, job in enumerate(made.jobs) if job.submit <= now and decisions.start[p] == NO_TIME]
    return sorted(waits, key=lambda p: (-level[p], made.jobs[p].submit, made.jobs[p].number))


def check_view(made, decisions):
    view, now = decisions.view, int(decisions._at[NOW])
    waiting = waiting_jobs(made, decisions, now)[: len(view.mask)]
    assert view.mask.sum() == len(waiting)
    amounts = np.array([job.job.amounts for job in made.jobs])
    for row, place in zip(view.jobs, waiting, strict=False):
        job = made.jobs[place]
        assert row[WAIT] == pytest.approx(scaled(now - job.submit))
        assert row[WALLTIME] == pytest.approx(scaled(job.walltime))
        assert row[SHARE] == pytest.approx((amounts[place] / np.maximum(made.total, 1)).max())
    assert not view.jobs[len(waiting) :].any()
    ends = decisions.start + [job.walltime for job in made.jobs]
    runs = (decisions.start != NO_TIME) & (decisions.finish > now)
    for row, ahead in zip(view.free, HORIZON, strict=True):
        held = amounts[runs & (ends > now + ahead)].sum(axis=0)
        assert row == pytest.approx((made.total - held) / np.maximum(made.total, 1))
    return waiting, now


@given(episodes(), st.data())
@examples(5)
def test_any_picks_give_a_legal_schedule_and_fitting_jobs_start_at_once(drawn, data):
    made, platform, backfill = drawn
    decisions = made.begin(0, len(made.jobs), 4, HORIZON)
    due = decisions.advance()
    while due:
        waiting, now = check_view(made, decisions)
        place = data.draw(st.integers(0, len(waiting) - 1))
        fits = bool(decisions.view.jobs[place, FITS])
        due = decisions.advance(place)
        start = decisions.start
        assert (start[waiting[place]] == now) >= fits
        if backfill != "conservative":
            assert (start[waiting[place]] == now) == fits
        if backfill is None:  # nothing starts beside a job that blocks
            assert all(start[other] == NO_TIME for other in waiting if other != waiting[place])
    schedule = made.schedule(decisions, 0)
    assert audit(schedule, platform) == []
    assert (schedule.start != NO_TIME).all()
