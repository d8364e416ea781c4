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


@pytest.mark.parametrize("search", ["multi-search", "delay search", "ours"])
def test_what_runs_over_midnight_stays(case, search):
    found = rolled(case, search)
    # The second job begins on the first day and runs into the second, whose own job waits for it.
    assert found.start.tolist()[:2] == [0, 18 * 3600]
    # Ours may leave it until a cooler hour, for waiting costs nothing.
    assert found.start[2] == 36 * 3600 or (search == "ours" and found.start[2] > 36 * 3600)
    assert found.jobs_a_day.tolist() == [2, 1]


def test_what_is_not_begun_is_planned_again(tmp_path):
    lines = [f"{n} 0 0 {20 * 3600} 9600 -1 -1 9600 {20 * 3600} -1 1 1 1 -1 1 4 -1 -1" for n in (1, 2, 3)]
    (tmp_path / "low.swf").write_text("\n".join(lines) + "\n", encoding="utf-8")
    case = cases.load(tmp_path, cases.LOW)
    found = rolled(case, "multi-search")
    assert sorted(found.start.tolist()) == [0, 20 * 3600, 40 * 3600]
    assert found.jobs_a_day.tolist() == [3, 1]


def test_a_solver_that_finds_nothing_leaves_the_heuristic(case, monkeypatch):
    nothing = searches.Found(None, None, None, "done")
    monkeypatch.setattr(searches, "default_search", lambda *_, **__: nothing)
    monkeypatch.setattr(searches, "relaxation_search", lambda *_, **__: nothing)
    for name in searches.BY_SOLVER:
        found = rolled(case, name)
        assert found.own.tolist() == [0, 0]
        assert found.start.tolist() == [0, 18 * 3600, 36 * 3600]


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
