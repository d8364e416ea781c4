"""Ranks and paired tests: published values, definitions in plain Python, and which values are cases."""

import re
from itertools import permutations, product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dardis.metrics.comparison_rows import RunResult, result_rows
from dardis.metrics.rank_tests import LEAST_CASES, Ranking, holm, metric_tests, pair_tests, rank, rank_tables

# Demsar (JMLR 7, 2006), table 6: AUC of C4.5, with m, with cf, with both, on 14 data sets. The ranks there show that
# the 0.975 of "cf" on "voting" is larger before rounding.
AUC = np.array([
    [763, 768, 771, 798], [599, 591, 590, 569], [954, 971, 968, 967], [628, 661, 654, 657], [882, 888, 886, 898],
    [936, 931, 916, 931], [661, 668, 609, 685], [583, 583, 563, 625], [775, 838, 866, 875], [1000, 1000, 1000, 1000],
    [940, 962, 965, 962], [619, 666, 614, 669], [972, 981, 975.1, 975], [957, 978, 946, 970],
])  # fmt: skip
NAMES = ("C4.5", "m", "cf", "m+cf")


def test_published_ranks_and_critical_difference():
    found = rank(NAMES, -AUC)
    assert found.ranks == pytest.approx([3.143, 2.000, 2.893, 1.964], abs=5e-4)
    assert found.critical == pytest.approx(1.25, abs=0.005)
    # His 9.28 takes no account of ties, for which scipy's statistic is divided by 1 - ties / (N (k³ - k)).
    ties = sum(n**3 - n for row in AUC for n in np.unique(row, return_counts=True)[1].tolist())
    assert found.chi2 * (1 - ties / (14 * 60)) == pytest.approx(9.28, abs=0.005)
    assert found.p < 0.05
    for count, quantile in ((3, 2.343), (5, 2.728), (10, 3.164)):  # table 5
        found = rank("abcdefghij"[:count], np.arange(6.0 * count).reshape(6, count))
        assert found.critical == pytest.approx(quantile * (count * (count + 1) / 36) ** 0.5, rel=3e-4)


def test_published_signed_ranks():
    (found,) = pair_tests(NAMES[:2], -AUC[:, :2])  # table 2: R+ = 93 for m, R- = 12
    assert found.effect == pytest.approx((12 - 93) / 105)
    assert (found.wins, found.losses) == (2, 10)
    assert 0.01 < found.p == found.p_holm < 0.02  # his z is -2.54


@given(st.lists(st.integers(-9, 9), min_size=6, max_size=7))
def test_signed_ranks_by_definition(gains):
    (one,) = pair_tests(("a", "b"), np.array([[0.0, gain] for gain in gains]))
    sizes = np.abs(gains)
    ranks = [(sizes < size).sum() + ((sizes == size).sum() + 1) / 2 for size in sizes]
    score = sum(np.sign(gain) * of for gain, of in zip(gains, ranks, strict=True))
    assert one.effect == pytest.approx(score / sum(ranks))
    assert (one.wins, one.losses) == (sum(gain > 0 for gain in gains), sum(gain < 0 for gain in gains))
    if len({*sizes.tolist()}) == len(gains) and all(gains):  # without ties and zeros, p counts all signs
        all_scores = np.array([*product((-1, 1), repeat=len(gains))]) @ ranks
        assert one.p == pytest.approx(np.mean(np.abs(all_scores) >= abs(score)))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=5))
def test_holm_rejects_stepwise(values):
    found = holm(values)
    steps = [p * (len(values) - step) < 0.05 for step, p in enumerate(sorted(values))]
    assert sum(one < 0.05 for one in found) == [*steps, False].index(False)
    assert sorted(found) == [one for _, one in sorted(zip(values, found, strict=True))]
    assert all(one >= raw and one <= 1 for one, raw in zip(found, values, strict=True))


def test_groups_are_maximal_and_one_if_nothing_is_shown():
    for ranks in permutations([1.0, 2.0, 2.5, 4.0]):
        assert Ranking(NAMES, 9, ranks, 9.0, 0.01, 1.2).groups == [(1.0, 2.0), (2.0, 2.5)]
        assert Ranking(NAMES, 9, ranks, 1.0, 0.20, 1.2).groups == [(1.0, 4.0)]
        assert not Ranking(NAMES, 9, ranks, 9.0, 0.01, 0.4).groups
    assert Ranking(NAMES, 9, (1.5, 1.5, 3.0, 4.0), 9.0, 0.01, 0.4).groups == [(1.5, 1.5)]


def runs(label, values, *, seeds=(1,), seeded=True, draws=True, **more):
    """A run for each value (a draw, or a trace) and seed."""
    return [
        RunResult("t" if draws else f"t{place}", label, "x", (), seed, Path(), {"mean_wait_s": wait + seed} | more,
                  draw=place if draws else 0, seeded=seeded)
        for place, wait in enumerate(values, 1) for seed in (seeds if seeded else seeds[:1])
    ]  # fmt: skip


SIX = [5, 6, 7, 8, 9, 10]
OTHER = [6, 7, 8, 9, 10, 3]


def compared(*groups, key="mean_wait_s"):
    return metric_tests(result_rows([run for group in groups for run in group]), key)


def test_seeds_are_cases_only_if_all_schedules_depend_on_them():
    found = compared(*(runs(label, SIX[place : place + 3], seeds=(1, 2)) for place, label in enumerate("abc")))
    assert (found.cases, found.ranking.cases, found.notes) == (6, 6, ())
    found = compared(runs("a", [1, 2, 3], seeds=(1, 2)), runs("b", [2, 3, 4], seeds=(1, 2), seeded=False))
    assert found.cases == 3
    assert found.notes == (
        "Seeds are averaged, not cases: without effect on b.", f"No tests: 3 cases; tests need {LEAST_CASES}.",
    )  # fmt: skip


def test_more_is_better_where_the_catalogue_says_so():
    a, b = runs("a", SIX, utilisation=0.9, draws=False), runs("b", SIX, utilisation=0.5, draws=False)
    assert [one.effect for one in compared(a, b, key="utilisation").pairs] == [1.0]
    (pair,) = compared(a, runs("b", [value - 1 for value in SIX], draws=False)).pairs
    assert (pair.effect, pair.losses, pair.differs, pair.p) == (-1.0, 6, True, pytest.approx(2 / 2**6))


@pytest.mark.parametrize(
    ("groups", "note", "pairs"),
    [
        ([runs("a", SIX)], "No tests: one dispatcher", 0),
        ([runs("a", SIX[:1]), runs("b", SIX[:1])], "No tests: 1 case; tests need 6", 0),
        ([runs("a", SIX), runs("b", SIX)], "No tests: all figures are equal", 0),
        ([runs("a", SIX), runs("b", OTHER)], "No ranks: two dispatchers; Friedman's test needs three", 1),
        ([runs("a", SIX, rejected=1), runs("b", OTHER, rejected=2)], "t gives no case: .*cover different jobs", 0),
    ],
)  # fmt: skip
def test_what_is_missing_is_stated(groups, note, pairs):
    found = compared(*groups)
    assert any(re.match(note, one) for one in found.notes)
    assert (found.ranking, len(found.pairs)) == (None, pairs)
    ranks, tests = (one.frame() for one in rank_tables([found]))
    assert (len(ranks), len(tests)) == (0, pairs)
