"""Classes of jobs by width and walltime: every job that ran is in one of each, and nothing of it is lost."""

import csv

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.schedules import INSTANCES, schedule_of

from dardis.metrics.classes import WALLTIME, WIDTH, JobClass, added, job_classes, write_classes
from dardis.metrics.jobs import bounded_slowdown
from dardis.model.job import Status

HOUR = 3600


def job(cores, walltime, wait, run=100, **more):
    return {"request": [cores], "walltime": walltime, "start": wait, "finish": wait + run, "placed": {0: 1}, **more}


def test_classes_of_hand_made_jobs():
    classes = job_classes(
        schedule_of(
            ("cores",),
            [
                job(1, 600, 0),
                job(2, 601, 100),
                job(1, HOUR, 300, placed={0: 1, 2: 2}),  # three units of a core
                job(4, 86400, 500),
                job(5, 86401, 700),
                job(9, 10, 0, status=Status.REJECTED, placed={}),
            ],
        )
    )
    wide = [(one.name, one.jobs, one.mean_wait_s) for one in classes if one.by == WIDTH]
    assert wide == [("1", 1, 0), ("2", 1, 100), ("3–4", 2, 400), ("5–8", 1, 700)]
    long = [(one.name, one.jobs, one.mean_wait_s) for one in classes if one.by == WALLTIME]
    assert long == [("≤ 10 min", 1, 0), ("10 min–1 h", 2, 200), ("12 h–1 d", 1, 500), ("> 1 d", 1, 700)]
    # (wait + run) / run of runs of 100 s: 1, 2, 4, 6, 8.
    assert [one.mean_bounded_slowdown for one in classes if one.by == WIDTH] == [1, 2, 5, 8]
    # One of the two of 3–4 cores is on nodes 0 and 2.
    apart = [(one.mean_fragmentation, one.mean_spread) for one in classes if one.by == WIDTH]
    assert apart == [(1, 1), (1, 1), (1.5, 1.25), (1, 1)]


@given(st.data())
def test_nothing_is_lost(data):
    _, schedule = data.draw(INSTANCES)
    ran = schedule.ran
    wait = (schedule.start - schedule.submit)[ran]
    slowdown = bounded_slowdown(wait, (schedule.finish - schedule.start)[ran])
    for by in (WIDTH, WALLTIME):
        mine = [one for one in job_classes(schedule) if one.by == by]
        assert sum(one.jobs for one in mine) == ran.sum()
        assert sum(one.wait_s for one in mine) == wait.sum()
        assert sum(one.slowdown for one in mine) == pytest.approx(slowdown.sum())
        assert [one.place for one in mine] == sorted({one.place for one in mine})


def test_classes_of_several_runs_add_up():
    runs = [
        [JobClass(WIDTH, 0, 2, 10, 2.0, 3, 2.5), JobClass(WALLTIME, 1, 2, 10, 2.0, 3, 2.5)],
        [JobClass(WIDTH, 0, 1, 5, 4.0, 3, 2.0), JobClass(WIDTH, 3, 1, 7, 1.0, 1, 1.0)],
    ]
    together = added(runs)
    assert together == [
        JobClass(WIDTH, 0, 3, 15, 6.0, 6, 4.5), JobClass(WIDTH, 3, 1, 7, 1.0, 1, 1.0),
        JobClass(WALLTIME, 1, 2, 10, 2.0, 3, 2.5),
    ]  # fmt: skip
    assert together[0].mean_wait_s == 5
    assert together[0].mean_bounded_slowdown == 2
    assert (together[0].mean_fragmentation, together[0].mean_spread) == (2, 1.5)


def test_the_file(tmp_path):
    write_classes(tmp_path / "w.csv", [("t", "easy, sjbf", 2, [JobClass(WIDTH, 2, 4, 10, 6.0, 5, 7.0)])])
    rows = list(csv.DictReader((tmp_path / "w.csv").read_text().splitlines()))
    assert rows == [
        {"trace": "t", "dispatcher": "easy, sjbf", "runs": "2", "by": "width", "class": "3–4", "jobs": "4",
         "mean_wait_s": "2.5", "mean_bounded_slowdown": "1.5", "mean_fragmentation": "1.25", "mean_spread": "1.75"},
    ]  # fmt: skip
