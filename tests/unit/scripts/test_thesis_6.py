"""Planning a small trace day by day, figures worked out by hand, and what tells days with hybrid cooling apart."""

import numpy as np
import pytest

from dardis.power.cooling import AirPlant, HybridPlant, PueTable
from scripts.lab.thesis_6 import cases, figures, page, runs, searches
from scripts.lab.thesis_6.class_tree import CLASSES, DayRecords, day_above_slope, learn_classes, slope_change

DAY_S = 86_400


@pytest.fixture
def case(tmp_path):
    """Two whole-machine jobs of 18 h on the first day, one core for an hour on the second."""
    jobs = [(1, 0, 18 * 3600, 9600), (2, 3600, 18 * 3600, 9600), (3, DAY_S + 60, 3600, 1)]
    lines = [f"{n} {at} 0 {run} {cores} -1 -1 {cores} {run} -1 1 1 1 -1 1 4 -1 -1" for n, at, run, cores in jobs]
    (tmp_path / "low.swf").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return cases.load(tmp_path, cases.LOW)


def rolled(case, name):
    scenario = cases.SCENARIOS[0]
    search = searches.search_of(name, searches.Bounds(delays=3, groups=5))
    found = runs.roll(case, scenario, search, lambda _day, _jobs: None)
    runs.judge(runs.whole_schedule(case, scenario, found), case, name, whole=True)
    return found


@pytest.mark.parametrize("search", ["multi-search", "delay search", "ours"])
def test_runs_over_midnight_keep_their_nodes_and_times(case, search):
    found = rolled(case, search)
    # The second job begins on the first day and runs into the second, whose own job waits for it.
    assert found.start.tolist()[:2] == [0, 18 * 3600]
    # Ours may leave it until a cooler hour, for waiting costs nothing.
    assert found.start[2] == 36 * 3600 or (search == "ours" and found.start[2] > 36 * 3600)
    assert found.jobs_a_day.tolist() == [2, 1]


def test_figures_of_a_schedule_worked_out_by_hand(case):
    scenario = cases.SCENARIOS[0]
    found = figures.Found(case, runs.rules(case), {"multi-search": {scenario: rolled(case, "multi-search")}})
    assert found.makespan_d("multi-search", scenario) == 37 / 24
    assert found.use("multi-search", scenario) == 1  # full until the last submission
    assert found.most_use() == 1
    watts = 9600 * case.told.core_w[:2]
    cell = found.cell("multi-search", scenario, "expensive")
    hours = np.array([18, (DAY_S + 60) / 3600 - 18])
    it_eur = (watts * hours).sum() / 1000 * 0.13
    assert cell.profit == pytest.approx(0.10 * 9600 * hours.sum() - it_eur - (cell.pue - 1) * it_eur, rel=1e-2)
    days = found.days("multi-search", scenario)
    assert (days.use[0], days.jobs.tolist()) == (1, [2, 2])
    records = figures.records([found], "multi-search")
    assert records.last_use.tolist() == [1.0] * 4  # the second day, in each scenario
    assert records.hybrid.tolist() == [False, False, True, True]


def test_table_6_2_agrees_with_the_text():
    delay = page.COLUMNS.index(searches.DELAY)
    higher = {(key[0], key[2]) for key, row in page.TABLE_6_2.items() if row[delay] > row[page.BEST_RULE]}
    assert higher == {("hybrid", "high")}


TEMPS = np.array([10.0, 20.0])
LOADS = np.array([1000.0, 2000.0, 3000.0, 4000.0])
TABLE = PueTable(TEMPS, LOADS, np.array([[1.10, 1.11, 1.12, 1.30], [1.20, 1.40, 1.41, 1.42]]))
HOUR = np.array([3600])


def test_the_slope_change_is_the_load_before_the_largest_increment():
    assert slope_change(TABLE, TEMPS[:1], HOUR, 4000.0) == pytest.approx((3000.0, 1.12))
    assert slope_change(TABLE, TEMPS[1:], HOUR, 4000.0) == pytest.approx((1000.0, 1.20))


def test_the_modelled_plants_sort_the_thesis_cases_of_table_6_2():
    hours = np.arange(24)
    summer, winter = (mean + swing * np.cos((hours - 15) / 12 * np.pi) for mean, swing in ((24.5, 6.5), (3.5, 3.5)))
    for plant, temps, high_w, above in (
        (AirPlant(), summer, 85_000.0, False),
        (AirPlant(), winter, 85_000.0, False),
        (HybridPlant(), summer, 85_000.0, True),
        (HybridPlant(), summer, 35_000.0, False),
        (HybridPlant(), winter, 35_000.0, False),
    ):
        day = day_above_slope(plant, temps, np.full(24, high_w), np.full(24, 3600), 107_000.0)
        assert (day > 0) == above


def test_thesis_rule_is_reproduced():
    """Air is never beyond the slope change, hybrid above 84.82 % of use."""
    use, hybrid = np.repeat(np.random.default_rng(1).uniform(0.3, 1.0, 269), 2), np.tile([False, True], 269)
    above = np.where(hybrid & (use > 0.8482), 0.01, -0.01)
    tree = learn_classes(DayRecords(hybrid, use, above, np.repeat(np.arange(269), 2)))
    assert tree.accuracy > 0.99
    assert tree.cv_accuracy > 0.96
    assert tree.predict(hybrid=True, last_use=0.95) == CLASSES[1]
    assert tree.predict(hybrid=True, last_use=0.5) == tree.predict(hybrid=False, last_use=0.95) == CLASSES[0]
    (maximise,) = [rule for rule in tree.rules if rule.endswith(CLASSES[1])]
    assert "last day's use > 0.84" in maximise
    assert "hybrid cooling" in maximise
    assert "no hybrid" not in maximise
    assert "of 538 days right" in tree.summary()
    assert "thesis: 96.28 % of 538" in tree.summary()
