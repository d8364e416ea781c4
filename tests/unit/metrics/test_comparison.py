"""Comparing runs, by class of job too."""

from pathlib import Path

from kit.schedules import schedule_of

from dardis.metrics.comparison_rows import RunResult, best_labels, by_trace, has_equal_rejections, result_rows
from dardis.metrics.job_classes import WALLTIME, WIDTH, job_classes
from dardis.model.job import Status


def run(label, seed, trace="t", error="", **metrics):
    return RunResult(trace, label, "easy", ("order=sjbf",), seed, Path(), None if error else metrics, error)


def test_best_result_of_each_trace_is_found():
    lines = result_rows(
        [
            run("a", 1, "t", mean_wait_s=5, utilisation=0.5, rejected=0),
            run("b", 1, "t", mean_wait_s=4, utilisation=0.6, rejected=0),
            run("c", 1, "t", mean_wait_s=4, utilisation=0.4, rejected=0),
            run("d", 1, "t", error="failed"),
            run("a", 1, "u", mean_wait_s=1),
        ]
    )
    traces = by_trace(lines)
    assert best_labels(traces["t"], "mean_wait_s") == {"b", "c"}
    assert best_labels(traces["t"], "utilisation") == {"b"}
    assert best_labels(traces["t"], "rejected") == frozenset(), "where all are alike nobody is best"
    assert best_labels(traces["u"], "mean_wait_s") == frozenset()


def test_results_with_different_rejections_are_not_compared():
    figures = {"a": (5, 0, 3), "b": (4, 2, 3)}
    lines = result_rows(
        [
            run(label, seed, trace, mean_wait_s=wait, rejected=rejected)
            for label, (wait, *counts) in figures.items()
            for seed, trace, rejected in ((1, "t", counts[0]), (1, "u", counts[1]), (2, "u", counts[1]))
        ]
    )
    traces = by_trace(lines)
    assert not has_equal_rejections(traces["t"])
    assert best_labels(traces["t"], "mean_wait_s") == best_labels(traces["t"], "rejected") == frozenset()
    assert has_equal_rejections(traces["u"])
    assert best_labels(traces["u"], "mean_wait_s") == {"b"}


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
