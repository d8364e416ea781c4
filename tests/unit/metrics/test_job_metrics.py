"""The jobs' figures against values worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from kit.schedules import schedule_of

from dardis.metrics.job_metrics import job_metrics, queue_metrics
from dardis.model.job import Status
from dardis.model.platform import NodeGroup, Platform
from dardis.model.queues import Queue
from dardis.model.schedule import Schedule

PLATFORM = Platform("p", (NodeGroup("n", 4, {"cores": 2}),))

WITH_QUEUES = replace(PLATFORM, queues=(Queue("a", longest_wait_s=8), Queue("b", longest_wait_s=40), Queue("c")))


@pytest.fixture
def schedule() -> Schedule:
    """Four jobs that ran, waiting 0, 10, 20 and 100 s, and one rejected."""
    return schedule_of(  # type: ignore[no-any-return]
        ("cores",),
        [
            {"submit": 100, "start": 100, "finish": 120, "placed": {0: 1}, "queue": "a", "latest": 100},
            {"submit": 100, "start": 110, "finish": 115, "placed": {0: 2}, "queue": "b", "latest": 105},
            {"submit": 100, "start": 120, "finish": 140, "placed": {1: 2}, "queue": "a"},
            {"submit": 110, "start": 210, "finish": 220, "placed": {1: 1, 2: 1}, "queue": "b", "latest": 150,
             "status": Status.KILLED},
            {"submit": 90, "status": Status.REJECTED, "queue": "c", "latest": 91},
        ],
    )  # fmt: skip


def test_job_metrics_by_hand(schedule: Schedule) -> None:
    assert job_metrics(schedule, np.arange(5)) == {
        "jobs": 5, "completed": 3, "killed": 1, "rejected": 1,
        "makespan_s": 120,  # from the first submission of a job that ran
        "total_wait_s": 130, "mean_wait_s": 32.5, "median_wait_s": 15.0,
        "p95_wait_s": pytest.approx(20 + 0.85 * 80),  # linear between the third and the fourth, at 0.95 * 3 = 2.85
        "p99_wait_s": pytest.approx(20 + 0.97 * 80),
        "max_wait_s": 100,
        "sd_wait_s": pytest.approx(((32.5**2 + 22.5**2 + 12.5**2 + 67.5**2) / 4) ** 0.5),
        "mean_slowdown": (20 / 20 + 15 / 5 + 40 / 20 + 110 / 10) / 4,
        "mean_bounded_slowdown": (1 + 1.5 + 2 + 11) / 4, "median_bounded_slowdown": 1.75,
        "p99_bounded_slowdown": pytest.approx(2 + 0.97 * 9), "mean_user_bounded_slowdown": None,
        "weighted_queue_time": 0 / 1 + 10 / 5 + 100 / 40,
        "tardiness_s": 5 + 60, "weighted_tardiness": 5 / 5 + 60 / 40, "late_jobs": 2,
    }  # fmt: skip


def test_a_job_is_weighed_by_its_window_and_one_without_a_deadline_not_at_all() -> None:
    rows = [
        {"submit": 0, "earliest": 10, "latest": 30, "start": 25, "placed": {0: 1}},
        {"submit": 0, "earliest": 0, "latest": 0, "start": 7, "placed": {1: 1}},  # no window: counts as one of 1 s
        {"submit": 0, "start": 1000, "placed": {2: 1}},
    ]
    figures = job_metrics(schedule_of(("cores",), rows), np.arange(3))
    assert (figures["weighted_queue_time"], figures["weighted_tardiness"]) == (25 / 20 + 7 / 1, 0 / 20 + 7 / 1)
    without = job_metrics(schedule_of(("cores",), rows), np.array([2]))
    assert (without["weighted_queue_time"], without["weighted_tardiness"], without["tardiness_s"]) == (None, None, 0)


def test_waits_are_weighed_by_the_longest_of_their_queues(schedule: Schedule) -> None:
    assert queue_metrics(schedule, WITH_QUEUES, np.arange(5)) == {
        "queue_weighted_wait": 0 / 8 + 10 / 40 + 20 / 8 + 100 / 40,
        "queue_late_jobs": 2,
        "queue_tardiness_s": 12 + 60,
        "queue_weighted_tardiness": 12 / 8 + 60 / 40,
    }
    on_time = queue_metrics(schedule, WITH_QUEUES, np.array([0, 1]))
    assert (on_time["queue_weighted_wait"], on_time["queue_weighted_tardiness"]) == (0.25, 0.0)
    as_long = replace(PLATFORM, queues=(Queue("a", longest_wait_s=20), Queue("b", longest_wait_s=99)))
    found = queue_metrics(schedule, as_long, np.arange(5))
    assert (found["queue_late_jobs"], found["queue_tardiness_s"]) == (1, 1)
