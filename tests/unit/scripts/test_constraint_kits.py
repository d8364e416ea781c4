"""What scripts/reproduce/cp_2019 and cp_2020 make of runs: classes of jobs, claims, cuts, instances, and pages."""

from types import SimpleNamespace

import numpy as np

from dardis.dispatch.cp.problem import Answer
from dardis.registry import find_dispatcher
from scripts.cp_2019 import cases as cases_2019
from scripts.cp_2019 import paper as paper_2019
from scripts.cp_2020 import cases as cases_2020
from scripts.cp_2020 import instances
from scripts.cp_2020 import paper as paper_2020
from scripts.kit import claims
from scripts.kit.service import CPU, CPU_A_DECISION, VARIABLES


def test_the_papers_tables_say_what_their_texts_say():
    rows = {label: row for label, row in paper_2019.TABLE_2.items() if row.ended}
    figures = {label: {CPU: row.total_s, VARIABLES: row.intervals} for label, row in rows.items()}
    verdicts = [claims.judged(claim, figures).verdict for claim in paper_2019.CLAIMS]
    assert verdicts[:6] == ["yes"] * 6
    assert set(verdicts[6:]) == {"not known"}
    tables = ((paper_2020.TABLE_1, paper_2020.KIT_CLAIMS, 2), (paper_2020.TABLE_2, paper_2020.EURORA_CLAIMS, 5))
    for printed, told_of, of_time in tables:
        figures = {label: {CPU_A_DECISION: row[0]} for label, row in printed.items() if row}
        verdicts = [claims.judged(claim, figures).verdict for claim in told_of]
        assert verdicts == ["yes"] * of_time + ["not known"] * (len(told_of) - of_time)


def test_all_contenders_are_dispatchers_with_such_settings():
    kit = cases_2020.eurora_contenders()
    for one in (*cases_2019.contenders(), *kit):
        find_dispatcher(one.dispatcher, [f"{key}={value}" for key, value in one.settings.items()])
    labels = [one.label for one in cases_2019.contenders()]
    assert len(set(labels)) == len(labels)
    # What the two kits have in common is one run.
    same = {one.label: one for one in cases_2019.contenders()}
    assert same["PCP3-D"] in kit
    assert same["HCP3-R"] in kit
    assert cases_2020.shown("HCP3-R") == cases_2020.shown("HCP19-R") == "HCP'19-R"
    assert cases_2020.shown("replan-L2") == "replan-L2"


def told(objective, variables, **more):
    """A model that always answers the same."""
    answer = Answer({}, objective, variables=variables, **more)
    return SimpleNamespace(answer=lambda _problem, _seed: answer)


def some_instances(*models):
    rows = []
    for first, second in models:
        both = instances.Beside(first, second)
        assert both.answer(None, 1) is first.answer(None, 1)
        rows += both.rows
    return instances.Instances(**instances.of_rows(rows))


def test_instances_keep_what_both_models_say():
    found = some_instances(
        (told(10.0, 100), told(15.0, 5, result="asked")),
        (told(4.0, 0, result="asked"), told(4.0, 2, result="asked", too_large=True)),
        (told(np.inf, 50), told(1.0, 50)),
    )
    assert found.variable_ratio.tolist() == [0.05, 1.0]
    assert found.solved.tolist() == [False, True, False]
    assert found.too_large.tolist() == [[False, False], [False, True], [False, False]]
    every = np.ones(3, dtype=bool)
    assert found.objective_ratio(every).tolist() == [1.5, 1.0]
    assert (found.cpu_s >= 0).all()
