"""Caps of a live service: what is permitted, journal, and the same starts as in the simulator."""

from __future__ import annotations

import json
import random

import pytest

from dardis.live.live_decisions import (
    SEED,
    SETTINGS,
    Instant,
    InstantEvents,
    JobStart,
    LiveDecider,
    RunningJob,
    SchedulingRequest,
    local_hosts,
    replay,
)
from dardis.live.power_cap import Cap
from dardis.model.addresses import JobId
from dardis.model.errors import InputError
from dardis.model.job import ActualJob, Job
from dardis.model.platform import NodeGroup, NodePower, Platform
from dardis.model.target import Target
from dardis.registry import find_dispatcher
from dardis.runs.play import play

POWER = NodePower(idle_w=100, core_w=10)
PLATFORM = Platform("m", (NodeGroup("n", 6, {"cores": 4}, POWER),))
BOUNDS = (0, 6)
NOW = 1_000


def capped(cap, bounds=BOUNDS):
    return LiveDecider(PLATFORM, bounds, local_hosts(PLATFORM, bounds), cap)


def asks(number, *, nodes=1, cores=1, walltime=100, submit=NOW, node_mw=None, **more):
    takes = None if node_mw is None else (cores, node_mw)
    return SchedulingRequest(JobId(number), submit, walltime, nodes, (cores,), takes=takes, **more)


def power(*steps, hard=True):
    return Cap("power", hard, steps)


def test_unit_of_any_power_starts_as_soon_as_the_sum_permits():
    decider = capped(power((0, 900)))
    starts, refused = decider.decide(InstantEvents(NOW, submitted=(asks(1, node_mw=200_000), asks(2, node_mw=150_000))))
    assert [start.job for start in starts] == [1]
    assert not refused
    starts, _ = decider.decide(InstantEvents(NOW + 10, ended=(JobId(1),)))
    assert [start.job for start in starts] == [2]


def test_steps_of_a_time():
    cap = power((NOW - 5, 1), (NOW, 2), (NOW + 5, 3), (NOW + 100, 4))
    assert list(cap.steps_between(NOW, NOW + 100)) == [(NOW + 5, 3)]
    assert list(cap.steps_between(NOW + 100, NOW + 200)) == []


def test_no_job_starts_that_would_exceed_a_cap_that_falls_later():
    decider = capped(power((0, 800), (NOW + 50, 620)))
    long, short = asks(1, walltime=100, node_mw=100_000), asks(2, walltime=40, node_mw=100_000)
    starts, _ = decider.decide(InstantEvents(NOW, submitted=(long, short)))
    assert [start.job for start in starts] == [2]


def test_running_jobs_continue_under_a_fallen_cap_and_nothing_starts():
    decider = capped(power((0, 650)))
    runs = tuple(RunningJob(asks(number, cores=4, node_mw=40_000), (number,), 100) for number in (1, 2))
    starts, _ = decider.decide(InstantEvents(NOW, runs=runs, submitted=(asks(3, node_mw=1_000),), is_new_decider=True))
    assert starts == []
    starts, _ = decider.decide(InstantEvents(NOW + 1, ended=(JobId(1),)))
    assert [start.job for start in starts] == [3]


@pytest.mark.parametrize(("cap", "first", "node_mw", "then"), [
    (power((0, 700)), {"others": (0, 80_000)}, 50_000, {"others": (0, 0)}),
    (power((0, 650), (NOW + 9_000, 900)), {}, 60_000, {"others": (0, -100_000)}),  # waits for a later step
    (power((0, 650)), {"closed": (5,)}, 60_000, {"others": (0, -100_000)}),
    (power((0, 700), hard=False), {"others": (0, 80_000)}, 50_000, {"others": (0, 50_000)}),
])  # fmt: skip
def test_job_beyond_the_cap_waits_until_others_take_less(cap, first, node_mw, then):
    decider = capped(cap)
    assert decider.decide(InstantEvents(NOW, submitted=(asks(1, node_mw=node_mw),), **first)) == ([], {})
    beyond = () if cap.is_hard else (asks(2, node_mw=200_000),)  # which a soft cap never permits, so that it starts
    starts, _ = decider.decide(InstantEvents(NOW + 1, submitted=beyond, **then))
    assert [start.job for start in starts] == [1, *(one.job for one in beyond)]


def test_withdrawn_job_beyond_the_cap_is_forgotten():
    decider = capped(power((0, 700)))
    decider.decide(InstantEvents(NOW, submitted=(asks(1, node_mw=200_000),)))
    decider.decide(InstantEvents(NOW + 1, withdrawn=(JobId(1),)))
    starts, _ = decider.decide(InstantEvents(NOW + 2, others=(0, -200_000)))
    assert starts == []


@pytest.mark.parametrize(("hard", "started"), [(True, []), (False, [1])])
def test_job_exceeds_a_soft_cap_to_keep_its_deadline(hard, started):
    decider = capped(power((0, 700), hard=hard))
    runs = (RunningJob(asks(2, node_mw=90_000), (0,), 500),)
    late = asks(1, node_mw=50_000, latest=NOW + 20)
    starts, _ = decider.decide(InstantEvents(NOW, runs=runs, submitted=(late,), is_new_decider=True))
    assert [start.job for start in starts] == started


def some_jobs(rng, count):
    submit = NOW
    for number in range(1, count + 1):
        submit += rng.choice([0, 1, 30, 200])
        walltime = rng.choice([10, 60, 300, 900])
        request = asks(
            number, nodes=rng.choice([1, 1, 2, 3]), cores=rng.randint(1, 4), walltime=walltime, submit=submit,
            node_mw=rng.choice([5_000, 40_000, 90_000]),
        )  # fmt: skip
        yield request, max(1, int(walltime * rng.choice([0.1, 0.5, 1.0])))


def some_cap(rng):
    kind = rng.choice(["power", "cores"])
    times = [0, *sorted(rng.sample(range(NOW + 1, NOW + 3_000), 3))]
    values = [rng.randint(870, 1200) if kind == "power" else rng.randint(12, 24) for _ in times]
    return Cap(kind, True, tuple(zip(times, values, strict=True)))


def live_starts(jobs, cap, bounds):
    """Starts of a decider that is told what happens, as the service tells it, and the text of its journal."""
    decider, ends, waiting, starts, texts = capped(cap, bounds), {}, list(jobs), {}, []
    seconds = {request.job: runs for request, runs in jobs}
    while waiting or ends or decider._waiting:
        now = min([*ends.values(), decider.wake(), *(waiting[0][0].submit for _ in waiting[:1])])
        ended = tuple(sorted(number for number, end in ends.items() if end == now))
        submitted = tuple(request for request, _ in waiting if request.submit == now)
        waiting = [one for one in waiting if one[0].submit > now]
        happened = InstantEvents(now, ended, submitted=submitted, is_new_decider=not texts)
        begun, _ = decider.decide(happened)
        machine = () if texts else (PLATFORM, bounds, cap)
        texts.append(Instant(happened, tuple(begun), *machine).text())
        ends = {number: end for number, end in ends.items() if number not in ended}
        for start in begun:
            starts[start.job] = now, start.nodes
            ends[start.job] = now + seconds[start.job]
    return starts, texts


@pytest.mark.parametrize("bounds", [BOUNDS, (0, 2, 6)])
def test_live_starts_equal_simulated_and_replayed_starts(bounds):
    waited = 0
    for seed in range(6):
        rng = random.Random(seed)  # noqa: S311 (a seed is to say it all)
        jobs, cap = list(some_jobs(rng, 40)), some_cap(rng)
        starts, texts = live_starts(jobs, cap, bounds)
        again = replay(texts)
        assert (again.differs, again.starts) == ("", len(jobs))
        actual = [
            ActualJob(
                Job(one.job, one.submit, one.submit, None, one.walltime, one.nodes, one.request, PLATFORM.all_groups,
                    takes=one.takes), runs
            )
            for one, runs in jobs
        ]  # fmt: skip
        late = find_dispatcher("dardis-late").with_settings([*SETTINGS, *cap.settings])
        run = play(PLATFORM, actual, late, Target(cap.desired(PLATFORM)), SEED)
        for place, job in enumerate(actual):
            nodes = tuple(sorted(run.recorder.nodes_of(place).tolist()))
            assert starts[job.number] == (int(run.recorder.start[place]), nodes)
            waited += starts[job.number][0] > job.submit
    assert waited > 60


def test_instant_is_read_back():
    events = InstantEvents(
        NOW, runs=(RunningJob(asks(1, node_mw=0), (0, 2), 5),), others=(1, 2), is_new_decider=True,
        submitted=(asks(2), asks(3, queue="q"), asks(4, latest=7), asks(5, latest=0, node_mw=3)),
    )  # fmt: skip
    for cap in (None, power((0, 700), (5, 800), hard=False)):
        instant = Instant(events, (JobStart(JobId(2), (1,)),), PLATFORM, BOUNDS, cap)
        read = Instant.from_text(instant.text())
        assert (read.events, read.starts, read.bounds, read.cap) == (events, instant.starts, BOUNDS, cap)


@pytest.mark.parametrize(("change", "found"), [
    ({"kind": "gpu"}, "cap.kind: 'gpu'; expected power or cores"),
    ({"hard": 1}, "cap.hard: 1; expected true or false"),
    ({"source": 5}, "cap.source: is no short text"),
    ({"steps": []}, "cap.steps: no list; expected 1 to"),
    ({"steps": [[0, 1.5]]}, "cap.steps: [0, 1.5]; expected [Unix seconds, value]"),
    ({"steps": [[-1, 5]]}, "cap.steps: [-1, 5]; expected Unix seconds, and a value from 0"),
    ({"steps": [[5, 1], [5, 2]]}, "cap.steps: 5 s after 5 s; expected steps in order of time"),
])  # fmt: skip
def test_malformed_cap_is_rejected(change, found):
    with pytest.raises(InputError) as error:
        Cap.from_dict({"kind": "power", "hard": True, "steps": [[0, 5]]} | change)
    assert found in str(error.value)


def test_cap_is_read_back():
    cap = power((5, 700), (9, 800))
    assert Cap.from_text(json.dumps(cap.as_dict())) == Cap.from_text(cap.text()) == cap
    assert Cap.from_text("") is None
    assert [cap.at(time) for time in (4, 5, 8, 9, 99)] == [None, 700, 700, 800, 800]


@pytest.mark.parametrize(
    ("now", "steps"),
    [(0, [(5, 1), (9, 2), (20, 3)]), (5, [(5, 1), (9, 2), (20, 3)]), (12, [(9, 2), (20, 3)]), (40, [(20, 3)])],
)
def test_new_cap_begins_after_the_present_one_and_past_steps_are_forgotten(now, steps):
    assert power((20, 3)).after(power((5, 1), (9, 2), (30, 9)), now).steps == tuple(steps)
    assert power((20, 3)).after(None, now).steps == ((20, 3),)
    assert power((0, 3)).after(power((5, 1)), now).steps == ((0, 3),)
