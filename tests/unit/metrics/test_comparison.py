"""Mean and spread over seeds against figures computed by hand; failed runs stay in sight."""

import csv
from pathlib import Path

import pytest

from dardis.metrics.comparison import (
    Figure,
    RunResult,
    best,
    by_trace,
    comparable,
    lines_of,
    same_rejections,
)
from dardis.metrics.comparison_tables import write_runs, write_table


def run(label, seed, trace="t", error="", **metrics):
    return RunResult(trace, label, "easy", ("order=sjbf",), seed, Path(), None if error else metrics, error)


THREE = [
    run("a", 1, mean_wait_s=1.0, utilisation=0.5, renegotiations=30, jobs=10, late_jobs=2, dissimilarity=None),
    run("a", 2, mean_wait_s=2.0, utilisation=0.5, renegotiations=10, jobs=10, late_jobs=4, dissimilarity=0.25),
    run("a", 3, mean_wait_s=6.0, utilisation=0.5, renegotiations=20, jobs=10, late_jobs=6, dissimilarity=None),
]


def test_mean_and_sample_deviation_by_hand():
    (line,) = lines_of(THREE)
    # Deviations from 3 are -2, -1, 3: (4 + 1 + 9) / 2 = 7.
    assert line.figure("mean_wait_s") == Figure(3.0, pytest.approx(7**0.5))
    assert line.figure("late_jobs") == Figure(4.0, 2.0)
    assert line.figure("utilisation") == Figure(0.5, 0.0)
    assert line.figure("renegotiations_per_job") == Figure(2.0, 1.0)
    assert line.figure("dissimilarity") == Figure(0.25, None)
    assert line.figure("makespan_s") is None


def test_lines_keep_the_order_and_the_failed():
    lines = lines_of([run("b", 1, makespan_s=5), run("a", 1, error="no room"), run("b", 2, error="killed by SIGKILL")])
    assert [(line.label, len(line.done), [r.error for r in line.failed]) for line in lines] == [
        ("b", 1, ["killed by SIGKILL"]),
        ("a", 0, ["no room"]),
    ]
    assert lines[0].figure("makespan_s") == Figure(5, None)
    assert lines[1].figure("makespan_s") is None


def test_the_best_of_each_trace():
    lines = lines_of(
        [
            run("a", 1, "t", mean_wait_s=5, utilisation=0.5, rejected=0),
            run("b", 1, "t", mean_wait_s=4, utilisation=0.6, rejected=0),
            run("c", 1, "t", mean_wait_s=4, utilisation=0.4, rejected=0),
            run("d", 1, "t", error="failed"),
            run("a", 1, "u", mean_wait_s=1),
        ]
    )
    traces = by_trace(lines)
    assert best(traces["t"], "mean_wait_s") == {"b", "c"}
    assert best(traces["t"], "utilisation") == {"b"}
    assert best(traces["t"], "rejected") == frozenset(), "where all are alike nobody is best"
    assert best(traces["u"], "mean_wait_s") == frozenset()


def test_lateness_against_different_deadlines_has_no_best():
    runs = [
        RunResult("t", label, "easy", (), 1, Path(), {"late_jobs": late, "mean_wait_s": late}, deadlines=rule)
        for label, late, rule in (("a", 0, "none"), ("b", 5, "factor:1"))
    ]
    lines = lines_of(runs)
    assert best(lines, "late_jobs") == frozenset()
    assert best(lines, "mean_wait_s") == {"a"}
    assert not comparable(lines, "late_jobs")
    assert comparable(lines[:1], "late_jobs")


def test_who_rejected_less_or_more_is_nobody_to_compare_with():
    figures = {"a": (5, 0, 3), "b": (4, 2, 3)}
    lines = lines_of(
        [
            run(label, seed, trace, mean_wait_s=wait, rejected=rejected)
            for label, (wait, *counts) in figures.items()
            for seed, trace, rejected in ((1, "t", counts[0]), (1, "u", counts[1]), (2, "u", counts[1]))
        ]
    )
    traces = by_trace(lines)
    assert not same_rejections(traces["t"])
    assert best(traces["t"], "mean_wait_s") == best(traces["t"], "rejected") == frozenset()
    assert same_rejections(traces["u"])
    assert best(traces["u"], "mean_wait_s") == {"b"}


def test_deciding_centrally_is_not_compared_with_deciding_together():
    def of(label, central, cpu, asked):
        metrics = {"decision_mean_s": cpu, "renegotiations": asked, "jobs": 10, "mean_wait_s": cpu}
        return RunResult("t", label, label, (), 1, Path(), metrics, central=central)

    lines = lines_of([of("a", True, 1.0, 0), of("b", False, 2.0, 20), of("c", False, 3.0, 5)])
    assert [line.figure("renegotiations_per_job") for line in lines] == [None, Figure(2.0, None), Figure(0.5, None)]
    for key in ("decision_mean_s", "renegotiations_per_job"):
        assert best(lines, key) == frozenset()
        assert best(lines[1:], key) == {"b" if key == "decision_mean_s" else "c"}
    assert best(lines, "mean_wait_s") == {"a"}


def test_the_files(tmp_path):
    results = [*THREE, run("b", 1, error="no, room")]
    write_runs(tmp_path / "c.csv", results)
    rows = list(csv.DictReader((tmp_path / "c.csv").read_text().splitlines()))
    assert [(row["dispatcher"], row["seed"], row["status"], row["error"]) for row in rows] == [
        ("a", "1", "done", ""), ("a", "2", "done", ""), ("a", "3", "done", ""), ("b", "1", "failed", "no, room"),
    ]  # fmt: skip
    assert [row["mean_wait_s"] for row in rows] == ["1.0", "2.0", "6.0", ""]
    assert rows[0]["dissimilarity"] == ""
    write_table(tmp_path / "t.csv", lines_of(results))
    first, second = csv.DictReader((tmp_path / "t.csv").read_text().splitlines())
    assert (first["runs"], first["failed"], second["runs"], second["failed"]) == ("3", "0", "0", "1")
    assert float(first["mean_wait_s_mean"]) == 3.0
    assert float(first["mean_wait_s_sd"]) == pytest.approx(7**0.5)
    assert first["dissimilarity_sd"] == second["mean_wait_s_mean"] == ""
