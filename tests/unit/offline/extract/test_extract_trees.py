from __future__ import annotations

from operator import ge, gt, le, lt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dardis.model.profile import StepFunction
from dardis.model.series import Series
from offline.extract.hours import hour_table
from offline.extract.target_tree import learn_target
from offline.extract.trees import Shape, branch_of, folds, held_out, rules_of

DAY, HOUR = 86_400, 3_600
MEANS = {"<": lt, "≤": le, ">": gt, "≥": ge}
NAMES = ("hour", "last_use")


def rows(seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.stack([rng.integers(0, 24, 200).astype(float), rng.integers(0, 10, 200) / 10], axis=1)


def holds(rule: str, row: np.ndarray) -> bool:
    """Whether a rule's conditions hold for a row, by reading its text."""
    known = dict(zip(NAMES, row.tolist(), strict=True))
    text, _ = rule.split(" → ")
    if text == "always":
        return True
    words = [term.split() for term in text.split(" and ")]
    pairs = [(word[i], word[i + 1], word[i + 2]) for word in words for i in range(0, len(word) - 2, 2)]
    return all(MEANS[sign](float(known.get(a, a)), float(known.get(b, b))) for a, sign, b in pairs)


@given(st.integers(0, 10_000), st.integers(2, 8))
def test_each_row_meets_the_one_rule_that_says_what_the_tree_says(seed: int, leaves: int) -> None:
    values = rows(seed)
    labels = np.random.default_rng(seed + 1).integers(0, 4, 200)
    tree = Shape(leaves, 5).classifier(values, labels)
    said = [str(tree.classes_[k]) for k in tree.tree_.value[:, 0].argmax(axis=1)]
    rules = rules_of(tree, NAMES, values, lambda leaf: said[leaf])
    for row, predicted in zip(values, tree.predict(values), strict=True):
        met = [rule for rule in rules if holds(rule, row)]
        assert len(met) == 1
        assert met[0].endswith(f"→ {predicted}")


def test_branches_that_say_the_same_are_one_rule() -> None:
    values = rows(1)
    tree = Shape(8, 5).regressor(values, values[:, 0])
    assert rules_of(tree, NAMES, values, lambda _: "stay") == ["always → stay"]


def test_whole_numbers_are_told_as_such() -> None:
    values = rows(2)
    tree = Shape(2, 5).regressor(values, (values[:, 0] >= 8).astype(float))
    rules = rules_of(tree, NAMES, values, lambda leaf: f"{tree.tree_.value[leaf, 0, 0]:.0f}")
    assert rules == ["hour < 8 → 0", "hour ≥ 8 → 1"]


def test_what_is_so_or_not_is_told_in_words() -> None:
    values = np.stack([np.arange(200) % 2, rows(4)[:, 1]], axis=1)
    tree = Shape(2, 5).regressor(values, values[:, 0])
    rules = rules_of(tree, ("hybrid cooling", "last_use"), values, lambda leaf: f"{tree.tree_.value[leaf, 0, 0]:.0f}")
    assert rules == ["no hybrid cooling → 0", "hybrid cooling → 1"]


def test_folds_hold_out_whole_days_and_each_once() -> None:
    day = np.repeat([3, 4, 5, 9, 10, 11, 12], 4)
    held = np.stack(list(folds(day)))
    assert (held.sum(axis=0) == 1).all()
    assert all(len(np.unique(held[:, day == d], axis=1).T) == 1 for d in np.unique(day))


def test_a_days_own_labels_have_no_part_in_what_is_held_out_for_it() -> None:
    values, day = rows(3), np.repeat(np.arange(10), 20)
    labels = values[:, 0] / 24
    changed = np.where(day == 4, 99.0, labels)
    fit = Shape().regressor
    before, after = held_out(fit, values, labels, day), held_out(fit, values, changed, day)
    assert np.array_equal(before[day == 4], after[day == 4])
    with pytest.raises(ValueError, match="days"):
        held_out(fit, values, labels, np.zeros(200, dtype=np.int64))


def table(days: int, used: StepFunction, submits: list[int]):
    edges = HOUR * np.arange(24 * (days + 2) + 1)
    temp = Series(edges, 20.0 + np.arange(len(edges) - 1) % 24)
    return hour_table(DAY, days, 3, used, 100, np.array(sorted(submits)), {"temperature": temp})


def test_rows_know_of_the_past_what_lies_before_their_midnight() -> None:
    used = StepFunction.from_steps(0, [(0, 25), (DAY, 50), (2 * DAY, 75)])
    submits = [20 * HOUR, 23 * HOUR, DAY + 5 * HOUR, DAY + 5 * HOUR + 1]
    known = table(2, used, submits)
    columns = dict(zip(known.names, known.values.T, strict=True))
    assert columns["last day's use"].tolist() == [0.25] * 24 + [0.5] * 24
    assert columns["last hours' arrivals"].tolist() == [2] * 24 + [0] * 24
    assert np.flatnonzero(columns["arrivals at this hour yesterday"]).tolist() == [20, 23, 24 + 5]
    assert columns["weekday"].tolist() == [3] * 24 + [4] * 24
    assert columns["temperature"].tolist() == [20.0 + h for h in range(24)] * 2

    later = table(2, StepFunction.from_steps(0, [(0, 25), (DAY, 99)]), [*submits, DAY + 7 * HOUR])
    assert np.array_equal(later.values[:24], known.values[:24])
    assert not np.array_equal(later.values[24:], known.values[24:])


def test_the_target_tree_finds_what_plans_do() -> None:
    known = table(20, StepFunction.from_steps(50, []), [])
    noise = np.random.default_rng(1).normal(0, 0.01, 480)
    use = np.where(known.values[:, 0] >= 18, 0.9, 0.4) + noise
    tree = learn_target(known, use)
    assert tree.cv_error < 0.02
    assert tree.naive_error > 0.15
    assert tree.predict(known.rows(0, 24)) == pytest.approx(np.where(np.arange(24) >= 18, 0.9, 0.4), abs=0.02)
    assert all("→" in rule and "% of the cores" in rule for rule in tree.rules)
    cores = tree.cores(known.rows(24, 48), 100)
    assert cores.at(np.array([DAY, 2 * DAY, 2 * DAY + 20 * HOUR, 3 * DAY])).tolist() == pytest.approx(
        [100, 40, 90, 100], abs=2
    )


def test_a_drawn_tree_asks_what_the_rules_say():
    values = np.array([[hour] for hour in range(24)] * 4, dtype=float)
    labels = (values[:, 0] >= 8).astype(float) + (values[:, 0] >= 20)
    tree = Shape(max_leaf_nodes=3, min_samples_leaf=2).regressor(values, labels)
    drawn = branch_of(tree, ("hour",), values, lambda leaf: f"{tree.tree_.value[leaf, 0, 0]:.0f}")
    assert (drawn.leaves, drawn.depth) == (3, 2)

    def answer(branch, hour):
        while branch.yes is not None:
            limit = int(branch.said.removeprefix("hour < "))
            branch = branch.yes if hour < limit else branch.no
        return branch.said

    assert [answer(drawn, hour) for hour in (0, 7, 8, 19, 20, 23)] == ["0", "0", "1", "1", "2", "2"]
