"""Planning a small trace day by day, what a search falls back to, and what the thesis's table says of itself."""

import numpy as np
import pytest

from scripts.thesis_6 import cases, figures, paper, roll, runs, searches

DAY_S = 86_400


@pytest.fixture
def case(tmp_path):
    """Two whole-machine jobs of 18 h on the first day, one core for an hour on the second."""
    jobs = [(1, 0, 18 * 3600, 9600), (2, 3600, 18 * 3600, 9600), (3, DAY_S + 60, 3600, 1)]
    lines = [
        f"{n} {submit} 0 {run} {cores} -1 -1 {cores} {run} -1 1 1 1 -1 1 4 -1 -1" for n, submit, run, cores in jobs
    ]
    (tmp_path / "low.swf").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return cases.load(tmp_path, cases.LOW)


def rolled(case, name):
    scenario = cases.SCENARIOS[0]
    search = searches.search_of(name, searches.Bounds(delays=3, groups=5))
    found = roll.roll(case, scenario, search, lambda _day, _jobs: None)
    roll.judge(roll.whole_schedule(case, scenario, found), case, name, whole=True)
    return found


def test_wished_starts_give_way_to_capacity(case):
    nobody = roll._Book(case).running(0)
    problem = roll.problem_of(case, cases.SCENARIOS[0], np.arange(2), nobody, 0)
    assert searches.placed(problem, np.array([7200, 3600]), "x").start.tolist() == [22 * 3600 - 3 * 3600, 3600]


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
    assert days.use[0] == 1
    records = figures.records([found], "multi-search")
    assert records.last_use.tolist() == [1.0] * 4  # the second day, in each scenario
    assert records.hybrid.tolist() == [False, False, True, True]


def test_table_6_2_says_what_the_text_does():
    delay = paper.COLUMNS.index(searches.DELAY)
    higher = {
        (plant, workload)
        for (plant, _, workload, _), row in paper.TABLE_6_2.items()
        if row[delay] > row[paper.BEST_RULE]
    }
    assert higher == {("hybrid", "high")}
