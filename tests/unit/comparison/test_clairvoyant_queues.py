"""The best of many queues is legal with known durations, and no queue waits less."""

from dataclasses import replace
from unittest.mock import patch

from hypothesis import assume, event, given
from hypothesis import strategies as st
from kit.effort import examples
from kit.machine import jobs, platforms

from dardis.clairvoyant.clairvoyant_schedule import ImprovingSchedule
from dardis.comparison import clairvoyant_queues
from dardis.comparison.clairvoyant_queues import QUEUES, best_queue
from dardis.model.capacity import could_hold
from dardis.model.target import Target
from dardis.registry import find_dispatcher
from dardis.runs.play import play


def starts_of(platform, listed, queue):
    name, *settings = queue.split(":")
    exact = [replace(job, job=replace(job.job, walltime=job.duration)) for job in listed]
    return int(play(platform, exact, find_dispatcher(name, settings), Target(), 1).schedule.start.sum())


@given(platforms(), st.data(), st.booleans())
@examples(0.5)
def test_no_queue_waits_less_than_the_best(platform, data, always_open):
    listed = data.draw(jobs(platform))
    if always_open:
        platform = replace(platform, maintenance=())
        listed = [replace(job, job=replace(job.job, earliest=job.submit)) for job in listed]
    listed = [job for job in listed if could_hold(job.job, platform.sets, distinct=False) >= job.units]
    assume(listed)
    with patch.object(clairvoyant_queues, "play", side_effect=play) as played:
        start, placed = best_queue(platform, listed, 1)
    event("by events" if played.called else "compiled")
    assert ImprovingSchedule(listed, platform, start, placed).start.tolist() == start.tolist()  # legal
    assert all(begin >= job.earliest for begin, job in zip(start.tolist(), listed, strict=True))
    tried = [
        name for name, order in QUEUES.items() if isinstance(order, str) and not (played.called and "rules" in name)
    ]
    assert start.sum() <= min(starts_of(platform, listed, name) for name in tried)
    if always_open:
        assert not played.called
        named = {name: QUEUES[name] for name in tried}
        with patch.object(clairvoyant_queues, "QUEUES", named):
            again, _ = best_queue(platform, listed, 1)
        assert again.sum() == min(starts_of(platform, listed, name) for name in tried) >= start.sum()
