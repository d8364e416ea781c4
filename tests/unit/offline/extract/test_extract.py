"""What is learned of the past: algorithm 8, trees and their rules, spares."""

from __future__ import annotations

from operator import ge, gt, le, lt

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from kit.node_schedules import DEFAULTS, machine, schedule_of

from dardis.model.platform import NodeGroup, Platform
from dardis.model.series import Series
from dardis.model.step_function import StepFunction
from offline.extract.spares import learn_reserve
from offline.extract.target_tree import desired_cores, floor_switching, learn_target
from offline.extract.trees import HourTable, Shape, hour_table, rules_of
from offline.onoff.reserve_replay import PastDemand, demands_of

DAY, HOUR = 86_400, 3_600
HOURS = DAY + HOUR * np.arange(24)


def used(share: float) -> StepFunction:
    """The day before, on 1,000 cores."""
    return StepFunction.from_steps(0, [(0, round(1000 * share)), (DAY, 0)])


HOURLY = st.integers(0, 1000).flatmap(lambda most: st.lists(st.integers(0, most), min_size=24, max_size=24))


@given(HOURLY, HOURLY, st.floats(0, 1))
@example([840] * 24, [0] * 24, 0.7)
@example([841] * 24, [0] * 24, 0.5)
def test_target_includes_a_share_of_unused_cores_and_all_above_84_percent(by_hour, planned, offset) -> None:
    def steps(first: int, numbers: list[int]) -> StepFunction:
        return StepFunction.from_steps(0, [*((first + HOUR * h, n) for h, n in enumerate(numbers)), (first + DAY, 0)])

    found = desired_cores(steps(0, by_hour), 1000, DAY, offset, steps(DAY, planned))
    for hour, wished in enumerate(found.at(HOURS).tolist()):
        mean = (sum(planned[:hour]) + sum(by_hour[hour:])) / 24_000
        share = 1.0 if max(mean, sum(by_hour) / 24_000) > 0.84 + 1e-12 else mean + (1 - mean) * offset
        assert 1000 * share - 1e-3 <= wished < 1000 * share + 1
    assert found.at(np.array([DAY - 1, 2 * DAY])).tolist() == [1000, 1000]
    assert len(set(desired_cores(steps(0, by_hour), 1000, DAY, offset).at(HOURS).tolist())) == 1


def test_nodes_stay_on_in_proportion_and_those_always_on_have_no_floor() -> None:
    groups = (
        NodeGroup("a", 10, {"cores": 60}), NodeGroup("b", 5, {"cores": 60}),
        NodeGroup("c", 5, {"cores": 20}, always_on=True),
    )  # fmt: skip
    platform = Platform("two", groups)
    cores = desired_cores(used(0.4), 1000, DAY, 0.7)
    floors = floor_switching(cores, platform, idle_s=337).floors
    assert {group: int(floor.at(DAY)) for group, floor in floors.items()} == {0: 9, 1: 5}


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
def test_each_row_matches_exactly_one_rule_with_the_class_of_the_tree(seed: int, leaves: int) -> None:
    values = rows(seed)
    labels = np.random.default_rng(seed + 1).integers(0, 4, 200)
    tree = Shape(leaves, 5).classifier(values, labels)
    said = [str(tree.classes_[k]) for k in tree.tree_.value[:, 0].argmax(axis=1)]
    rules = rules_of(tree, NAMES, values, lambda leaf: said[leaf])
    for row, predicted in zip(values, tree.predict(values), strict=True):
        met = [rule for rule in rules if holds(rule, row)]
        assert len(met) == 1
        assert met[0].endswith(f"→ {predicted}")


def table(days: int, used: StepFunction, submits: list[int]):
    edges = HOUR * np.arange(24 * (days + 2) + 1)
    temp = Series(edges, 20.0 + np.arange(len(edges) - 1) % 24)
    return hour_table(DAY, days, 3, used, 100, np.array(sorted(submits)), {"temperature": temp})


def test_target_tree_predicts_planned_targets() -> None:
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


COUNT = 40


def bursts(days: int) -> list[tuple[int, int, tuple[int, ...]]]:
    """Every day at nine 20 jobs a minute apart, two hours long; else one an hour."""
    jobs = []
    for day in range(days):
        for hour in range(24):
            begin = day * DAY + hour * HOUR + 600
            if hour == 9:
                jobs += [(begin + 5 * k, begin + 5 * k + 2 * HOUR, (k,)) for k in range(20)]
            jobs.append((begin, begin + 900, (COUNT - 1,)))
    return sorted(jobs)


def known(days: int) -> HourTable:
    return hour_table(0, days, 0, StepFunction.from_steps(0, []), COUNT, np.zeros(0, dtype=np.int64), {})


def learn(days: int, jobs=None, platform=None):
    platform = platform or machine(COUNT, DEFAULTS)
    return learn_reserve(demands_of(schedule_of(jobs or bursts(days)), platform), known(days), platform)


def test_idle_reserve_is_kept_in_the_hours_that_need_it() -> None:
    rule = learn(10)
    spares = rule.predict(known(10).rows(0, 24))[0].at(HOUR * np.arange(24))
    assert spares[9] >= 10
    assert spares[[*range(6), *range(12, 24)]].max() <= 2
    assert any("hour" in text and "spare node" in text for text in rule.rules())
    assert rule.cv_error is not None
    assert rule.cv_error < spares[9]
    assert not rule.notes


def test_rules_are_repeatable_and_independent_of_later_jobs() -> None:
    later = bursts(8) + [(8 * DAY + k, 9 * DAY, (k,)) for k in range(COUNT)]
    assert learn(8).rules() == learn(8).rules() == learn(8, later).rules()


def test_demand_before_a_time_is_all_that_a_rule_of_that_time_needs() -> None:
    demand = demands_of(schedule_of(bursts(8)), machine(COUNT, DEFAULTS))[0]
    platform = machine(COUNT, DEFAULTS)
    cut = learn_reserve({0: demand.before(6 * DAY)}, known(6), platform)
    assert cut.rules() == learn_reserve({0: demand}, known(6), platform).rules()


def test_a_price_of_waits_takes_the_place_of_the_aims() -> None:
    demands, table = demands_of(schedule_of(bursts(10)), machine(COUNT, DEFAULTS)), known(10)
    past, kept = PastDemand(demands[0], DEFAULTS, 337, table.edges), []
    for wait_j in (1e-6, 1e-3, 10.0, 100.0, 1e4, 1e6):

        def paid(spares, wait_j=wait_j) -> float:
            """Energy that no spares would have saved, and waits, J."""
            replay = past.replay(spares)
            return float(past.replay(0).saved_j.sum() - replay.saved_j.sum() + wait_j * replay.delay.sum())

        rule = learn_reserve(demands, table, machine(COUNT, DEFAULTS), wait_j=wait_j)
        learned = rule.predict(table)[0].at(table.edges[:-1])
        assert paid(learned) <= 1.05 * min(paid(number) for number in range(COUNT + 1))
        kept.append(learned.sum())
    assert kept == sorted(kept)
    assert kept[0] == 0
    assert kept[-1] > 0


def test_rows_use_only_data_before_their_midnight() -> None:
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
