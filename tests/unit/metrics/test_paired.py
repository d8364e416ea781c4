"""Paired differences and ratios: by hand, in so many cases as they say, and of one mind."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dardis.metrics.comparison import RunResult, lines_of
from dardis.metrics.paired import SHARE, mean_of, paired
from dardis.model.randomness import stream

FIGURES = st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 1000)), min_size=2, max_size=12)


def test_a_difference_by_hand():
    found = paired([3.0, 5.0, 10.0], [2.0, 5.0, 8.0])
    # Differences 1, 0, 2: mean 1, deviation 1; Student's quantile of two degrees of freedom is 4.3027.
    assert (found.pairs, found.mean, found.first, found.difference.value) == (3, 6.0, 5.0, 1.0)
    assert found.difference.high == pytest.approx(1 + 4.302653 / math.sqrt(3))
    assert found.difference.low == pytest.approx(1 - 4.302653 / math.sqrt(3))
    assert found.ratio.value == pytest.approx(1.2)
    assert found.may_be_chance


def test_what_is_the_same_on_all_draws_may_be_chance_and_what_never_changes_may_not():
    assert paired([1.0, 7.0], [1.0, 7.0]).may_be_chance
    assert not paired([2.0, 8.0, 3.0], [1.0, 7.0, 2.0]).may_be_chance
    assert paired([1.0], [2.0]) is None
    assert paired([1.0, 2.0], [0.0, 0.0]).ratio is None


@given(FIGURES)
def test_the_ratio_may_be_1_just_where_the_difference_may_be_0(pairs):
    found = paired([x for x, _ in pairs], [y for _, y in pairs])
    if found.ratio is None or math.isinf(found.ratio.low):
        return
    assert found.ratio.low <= found.ratio.value <= found.ratio.high
    if all(abs(end) > 1e-9 for end in (found.difference.low, found.difference.high)):
        assert found.ratio.holds(1.0) == found.may_be_chance


@pytest.mark.parametrize("draws", [3, 10])
def test_intervals_hold_the_truth_in_so_many_cases(draws):
    """Pairs that share the luck of their draw; 2,000 cases have a deviation of 0.5 % in the share."""
    rng, cases, truth = stream(11, "pairs", draws), 2000, 0.8
    held = {"difference": 0, "ratio": 0, "mean": 0}
    for _ in range(cases):
        luck = rng.normal(100, 20, draws)
        first = luck + rng.normal(0, 5, draws)
        other = truth * luck + rng.normal(0, 5, draws)
        found = paired(other.tolist(), first.tolist())
        held["difference"] += found.difference.holds((truth - 1) * 100)
        held["ratio"] += found.ratio.holds(truth)
        held["mean"] += mean_of(first.tolist()).holds(100)
    for share in held.values():
        assert share / cases == pytest.approx(SHARE, abs=0.02)


def run(label, draw, wait, seed=1):
    return RunResult("t", label, "easy", (), seed, None, {"mean_wait_s": wait}, draw=draw)


def test_lines_are_paired_draw_by_draw_and_seeds_are_means():
    runs = [run("a", draw, wait) for draw, wait in ((1, 10), (2, 20), (3, 60))]
    runs += [run("b", draw, wait, seed) for seed in (1, 2) for draw, wait in ((3, 50 + 10 * seed), (1, 9 + seed))]
    first, other = lines_of(runs)
    assert other.by_draw("mean_wait_s") == {3: 65.0, 1: 10.5}
    assert other.beside(first, "mean_wait_s") == paired([65.0, 10.5], [60.0, 10.0])
    assert other.beside(first, "max_wait_s") is None
