"""Paired differences and ratios: by hand, in so many cases as they say, and of one mind."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dardis.metrics.comparison_rows import SHARE, RunResult, best_labels, compare_pairs, mean_of, result_rows
from dardis.metrics.comparison_tables import differences_table
from dardis.model.choices import WEEKS
from dardis.model.randomness import stream
from dardis.report import chart
from dardis.report.compare_charts import sweeps
from dardis.report.compare_table import full_table
from dardis.report.ratio_chart import ratios
from dardis.workload.trace import build_trace
from dardis.workload.transform import WEEK_S, resampled


def test_a_difference_by_hand():
    found = compare_pairs([3.0, 5.0, 10.0], [2.0, 5.0, 8.0])
    # Differences 1, 0, 2: mean 1, deviation 1; Student's quantile of two degrees of freedom is 4.3027.
    assert (found.pairs, found.mean, found.first, found.difference.value) == (3, 6.0, 5.0, 1.0)
    assert found.difference.high == pytest.approx(1 + 4.302653 / math.sqrt(3))
    assert found.difference.low == pytest.approx(1 - 4.302653 / math.sqrt(3))
    assert found.ratio.value == pytest.approx(1.2)
    assert found.may_be_chance


def test_zero_difference_may_be_chance_and_constant_difference_may_not():
    assert compare_pairs([1.0, 7.0], [1.0, 7.0]).may_be_chance
    assert not compare_pairs([2.0, 8.0, 3.0], [1.0, 7.0, 2.0]).may_be_chance
    assert compare_pairs([1.0], [2.0]) is None
    assert compare_pairs([1.0, 2.0], [0.0, 0.0]).ratio is None


@pytest.mark.parametrize("draws", [3, 20])
def test_intervals_over_drawn_weeks_hold_the_truth_of_all_months(draws):
    weeks, cases = 4, 200
    submit = np.sort(np.concatenate([np.arange(weeks) * WEEK_S, np.arange(1, weeks + 1) * WEEK_S - 1]))
    number = np.arange(1, len(submit) + 1)
    columns = {"number": number, "submit": submit, "runtime": number, "procs": np.ones_like(number)}
    trace = build_trace(Path("t"), number, columns, [], strict=True)
    rng, held = stream(3, "weeks", draws), {"difference": 0, "ratio": 0, "mean": 0}
    for case in range(cases):
        drawn = [(resampled(trace, WEEKS, 1, f"{case}", draw).runtime - 1) // 2 for draw in range(draws)]
        luck = rng.normal(100, 20, weeks)
        first, other = luck + rng.normal(0, 5, weeks), 0.8 * luck + rng.normal(0, 5, weeks)
        xs, ys = ([float(of[one].mean()) for one in drawn] for of in (other, first))
        found = compare_pairs(xs, ys, weeks)
        held["difference"] += found.difference.contains(-20)
        held["ratio"] += found.ratio.contains(0.8)
        held["mean"] += mean_of(ys, weeks).contains(100)
    for count in held.values():
        assert 0.90 <= count / cases <= 0.995


@pytest.mark.parametrize("draws", [3, 10])
def test_intervals_over_shakes_hold_the_mean_of_all_shakes_in_so_many_cases(draws):
    rng, cases, truth = stream(11, "pairs", draws), 2000, 0.8
    held = {"difference": 0, "ratio": 0, "mean": 0}
    for _ in range(cases):
        luck = rng.normal(100, 20, draws)
        first = luck + rng.normal(0, 5, draws)
        other = truth * luck + rng.normal(0, 5, draws)
        found = compare_pairs(other.tolist(), first.tolist())
        held["difference"] += found.difference.contains((truth - 1) * 100)
        held["ratio"] += found.ratio.contains(truth)
        held["mean"] += mean_of(first.tolist()).contains(100)
    for share in held.values():
        assert share / cases == pytest.approx(SHARE, abs=0.02)


def run(label, draw, wait, seed=1, weeks=0, **more):
    metrics = {"mean_wait_s": wait, "rejected": 0, **more}
    return RunResult("t", label, "easy", (), seed, None, metrics, draw=draw, weeks=weeks)


def compared(*, weeks=0, others=(21.0, 12.0, 33.0), rejected=0, failed=()):
    runs = [run("a", draw, wait, weeks=weeks, decision_mean_s=1.0) for draw, wait in enumerate((20.0, 10.0, 30.0), 1)]
    runs += [
        replace(
            run("b", draw, wait, weeks=weeks, rejected=rejected, decision_mean_s=2.0),
            family="b",
            grid=(("order", "sjbf"),),
            **({"metrics": None, "error": "ended"} if draw in failed else {}),
        )
        for draw, wait in enumerate(others, 1)
    ]
    return result_rows(runs)


def differences(lines):
    frame = differences_table(lines).frame()
    return frame.set_index("figure").to_dict("index")


def drawn(lines):
    with chart.style():
        return ratios(lines, "Ratios"), *sweeps(lines)


def test_weeks_widen_what_tables_and_charts_say():
    shaken, weekly = compared(), compared(weeks=5)
    for lines, weeks in ((shaken, 0), (weekly, 5)):
        found = compare_pairs([21, 12, 33], [20, 10, 30], weeks).difference
        row = differences(lines)["mean_wait_s"]
        assert float(row["difference_high"]) == pytest.approx(found.high)
        ratio, sweep = drawn(lines)
        told = (
            "3 draws of the trace's 5 weeks"
            if weeks
            else "3 draws of the trace, shaken (without information about other"
        )
        assert told in ratio.caption
        assert told in sweep.caption
        assert any(told in note for note in full_table(lines).notes)


def test_captions_count_the_draws_that_both_ended():
    ratio, sweep = drawn(compared(failed=(2,)))
    assert "over 2 draws" in ratio.caption
    assert "over 2 draws" in sweep.caption
    assert any(note.startswith("Failed: t, b, draw 2, seed 1: ") for note in full_table(compared(failed=(2,))).notes)


def test_uncertain_leads_are_not_marked_and_decision_times_not_tested():
    lines = compared(others=(21.0, 9.0, 33.0))
    assert lines[1].compare_with(lines[0], "mean_wait_s").may_be_chance
    assert best_labels(lines, "mean_wait_s") == frozenset()
    assert best_labels(compared(others=(22.0, 12.0, 32.0)), "mean_wait_s") == {"a"}
    assert best_labels(lines, "decision_mean_s") == {"a"}
    assert "decision_mean_s" not in differences(lines)


def test_a_dot_is_filled_where_the_difference_is_sure_though_the_ratio_has_no_bounds(monkeypatch):
    ours, theirs = [0.0, 5.0, 900.0, 10.0, 2.0], [20.0, 24.0, 921.0, 31.0, 22.0]
    beside = compare_pairs(theirs, ours)
    assert (beside.may_be_chance, beside.ratio.is_bounded) == (False, False)
    runs = [run(label, *one) for label, waits in (("a", ours), ("b", theirs)) for one in enumerate(waits, 1)]
    with chart.style():
        found = ratios(result_rows(runs), "Ratios")
    assert "A dot without a line has no bounds: a itself may have 0 on average." in found.caption
    monkeypatch.setattr(chart, "finish", lambda drawing, *_: drawing)
    dots = [dot for dot in ratios(result_rows(runs), "").axes[0].lines if dot.get_marker() == "o"]
    assert [dot.get_markerfacecolor() for dot in dots] == [chart.BLUE]
