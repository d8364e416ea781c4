"""Platforms, their queues and prime time, and the jobs that they take."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.actual import actual

from dardis.config.platform_record import platform_from_dict
from dardis.model.job import FOREVER, Job, Part, Request
from dardis.model.platform import Maintenance, NodeGroup, NodePower, Platform, platform_to_dict
from dardis.model.queues import Hours, PermittedStarts, PrimeTime, Queue

EURORA = Platform(
    "eurora",
    (NodeGroup("g", 2, {"cores": 16, "gpu": 2}), NodeGroup("m", 3, {"memory": 8, "cores": 12, "mic": 1})),
    partitions={"gpus": (0,)},
    maintenance=(Maintenance((1, 4), 10, 20),),
)


def test_every_field_survives_json():
    queue = Queue("q", 5, 6, -1, (0,), 3, 60, {"cores": 4}, Hours.NON_PRIME, ((1, 2), (5, 9)))
    full = Platform(
        "p", (NodeGroup("n", 1, {"cores": 1}, NodePower(1.0, 2.0, 3.0, 4, 5.0, 6, 7.0), always_on=True),),
        EURORA.partitions, EURORA.maintenance, "CHF", 0.5, queues=(queue, Queue("r")),
        prime=PrimeTime(60, 120, (0, 6), "Europe/Rome", 77, 5),
    )  # fmt: skip
    assert platform_from_dict(json.loads(json.dumps(platform_to_dict(full)))) == full


def test_invalid_platform_is_refused():
    for data in ({}, {"groups": 3}, {"groups": [{"power": 7}]}):
        with pytest.raises(ValueError, match="platform"):
            platform_from_dict(data)


GOOD = {
    "number": 1, "submit": 5, "earliest": 5, "latest": None, "walltime": 10, "runtime": 4, "units": 1,
    "request": (1, 0), "groups": 1,
}  # fmt: skip


PART = Part(2, (1, 0), 1)


@pytest.mark.parametrize("senseless", [
    lambda: actual(**GOOD | {"units": 0}), lambda: actual(**GOOD | {"walltime": 0}),
    lambda: actual(**GOOD | {"runtime": 0}), lambda: actual(**GOOD | {"earliest": 4}),
    lambda: actual(**GOOD | {"request": (0, 0)}), lambda: actual(**GOOD | {"request": (2, -1)}),
    lambda: Part(0, (1,), 1), lambda: Part(2, (1,), 1, 3), lambda: Part(2, (1,), 1, -1), lambda: Part(2, (0, 0), 1),
    lambda: Part(2, (1, -1), 1), lambda: Request((), 10), lambda: Request((PART,), 0),
    lambda: actual(**GOOD | {"units": 2, "walltime": 11}, requests=(Request((PART,), 10),)),
    lambda: actual(**GOOD | {"units": 1}, requests=(Request((PART,), 10),)),
    lambda: replace(actual(**GOOD), runtimes=(4, 0)),
])  # fmt: skip
def test_invalid_jobs_and_requests_are_refused(senseless):
    with pytest.raises(ValueError, match=r"at least|must request|needs|differ from|before the submission"):
        senseless()


ROME = ZoneInfo("Europe/Rome")
WORKING_DAYS = (0, 1, 2, 3, 4)
SPANS = st.lists(st.tuples(st.integers(0, 50), st.integers(1, 20)).map(lambda s: (s[0], s[0] + s[1])), max_size=5)


@given(SPANS, st.integers(-5, 80))
def test_a_queue_opens_at_the_first_instant_in_no_span(spans, time):
    starts = PermittedStarts(spans)

    def is_open(now):
        return not any(start <= now < end for start, end in spans)

    assert starts.opens(time) == next(now for now in range(time, 100) if is_open(now))
    later = [now for now in range(time + 1, 100) if is_open(now) != is_open(now - 1)]
    assert starts.changes(time) == (later[0] if later else FOREVER)


def on_clock(begin: datetime, prime: PrimeTime) -> PrimeTime:
    zero = int(begin.timestamp()) - 100
    return Platform("p", (), prime=prime).on_clock(zero, 100).prime


@pytest.mark.parametrize("hours", [Hours.PRIME, Hours.NON_PRIME])
@pytest.mark.parametrize(("first", "last"), [(8, 18), (20, 4)])
@pytest.mark.parametrize("since", [2, 15])
def test_prime_time_is_what_the_clocks_there_show(hours, first, last, since):
    begin = datetime(2023, 3, 10, since, 30, tzinfo=ROME)
    prime = on_clock(begin, PrimeTime(first * 3600, last * 3600, WORKING_DAYS, "Europe/Rome"))
    starts = PermittedStarts(prime.closed(hours))
    for hour in range(40 * 24):
        moment = datetime.fromtimestamp(prime.unix_start + 100 + hour * 3600, ROME)
        by_day = first <= moment.hour < last and moment.weekday() in WORKING_DAYS
        evening = moment.hour >= first and moment.weekday() in WORKING_DAYS
        morning = moment.hour < last and (moment.weekday() - 1) % 7 in WORKING_DAYS
        is_prime = by_day if first < last else evening or morning
        now = 100 + hour * 3600
        assert (starts.opens(now) == now) == (is_prime == (hours is Hours.PRIME)), moment


def test_prime_time_without_a_calendar_is_refused():
    prime = PrimeTime(0, 3600)
    queue = Queue("q", hours=Hours.PRIME)
    platform = Platform("p", (NodeGroup("n", 1, {"cores": 1}),), queues=(queue,), prime=prime)
    assert platform.needs_calendar
    with pytest.raises(ValueError, match="without a start date"):
        _ = platform.hours
    dated = platform.on_clock(0, 0)
    assert not dated.needs_calendar
    assert dated.starts_of("q").opens(3600) == 86_400
    assert dated.starts_of("").opens(3600) == 3600


@pytest.mark.parametrize(("limits", "said"), [
    ({"max_units": 4}, ""),
    ({"max_units": 3}, "requests 4 units; queue q allows at most 3"),
    ({"max_walltime_s": 59}, "requests 60 s; queue q allows at most 59 s"),
    ({"max_job": {"cores": 32, "gpu": 7}}, "requests 8 gpu; queue q allows at most 7 gpu"),
    ({"max_job": {"cores": 32, "gpu": 8, "mic": 0}}, ""),
    ({"max_job": {"cores": 31}}, "requests 32 cores; queue q allows at most 31 cores"),
])  # fmt: skip
def test_a_queue_takes_what_is_within_its_limits(limits, said):
    job = Job(1, 0, 0, None, 60, 4, (8, 2, 0), 1, queue="q")
    queue = Queue("q", **limits)
    assert queue.refusal(job, ("cores", "gpu", "mic")) == said
    kinds = {"cores": 8, "gpu": 2, "mic": 0}
    platform = Platform("p", (NodeGroup("n", 9, kinds),), queues=(queue, Queue("other", max_units=1)))
    assert platform.refusal(job) == said


def test_levels_count_the_lower_priorities():
    queues = tuple(Queue(name, priority=priority) for name, priority in (("a", 7), ("b", -2), ("c", 0), ("d", 7)))
    platform = Platform("p", (NodeGroup("n", 1, {"cores": 1}),), queues=queues)
    assert [platform.level_of(name) for name in ("a", "b", "c", "d", "", "nobody's")] == [2, 0, 1, 2, 1, 1]


def test_prime_time_in_an_hour_that_clocks_leave_out_is_none():
    begin = datetime(2023, 3, 20, 0, 0, tzinfo=ROME)
    edges = PermittedStarts(
        on_clock(begin, PrimeTime(9000, 10_800, timezone="Europe/Rome")).closed(Hours.NON_PRIME)
    ).edges
    assert edges == sorted(edges)
    assert len(edges) == len(set(edges))
