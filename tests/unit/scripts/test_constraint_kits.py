"""What scripts/lab/run cp_2019 and cp_2020 make of runs: classes of jobs, claims, contenders, and pages."""

from types import SimpleNamespace

import numpy as np
import pytest

from dardis.dispatch.cp.decision_problem import Decision
from dardis.registry import find_dispatcher
from scripts.lab.cp_2019 import __main__ as kit_2019
from scripts.lab.cp_2020 import __main__ as kit_2020
from scripts.lab.cp_2020 import instances
from scripts.lab.kit import claims, constraint
from scripts.lab.kit.compared import read_spec
from scripts.lab.kit.constraint import CPU, CPU_A_DECISION, VARIABLES


def test_service_classes_depend_on_runtimes():
    wait = np.array([0, 10, 3600, 40_000])
    run = np.array([0, 3599, 3600, 18_000])
    found = constraint.services(wait, run)
    assert {name: one.jobs for name, one in found.items()} == {"all": 4, "short": 2, "medium": 1, "long": 1}
    # A run of 0 s counts as 1 s: slowdowns 1 and 3609 / 3599.
    assert found["short"].slowdown.mean == pytest.approx((1 + 3609 / 3599) / 2)
    assert found["medium"].slowdown == constraint.Scatter(2.0, 0.0)
    assert found["all"].wait.deviation == pytest.approx(np.std([0, 10, 3600, 40_000]))
    assert str(constraint.Scatter(1234.4, 0.1234)) == "1,234 ± 0.123"


@pytest.mark.parametrize(("own", "verdict"), [(60, "yes"), (70, "in part"), (99.5, "no"), (120, "no")])
def test_relative_reductions_by_hand(own, verdict):
    claim = ["less", "one", "other", {CPU: 0.4}]
    figures = {"one": {CPU: own}, "other": {CPU: 100}}
    assert claims.Judge(figures)(claim).verdict == verdict
    assert claims.Judge({"one": {CPU: own}})(claim) == claims.UNKNOWN


def test_tables_of_the_papers_agree_with_their_text():
    paper = read_spec(kit_2019.__file__, "claims")
    rows = {label: row for label, row in paper["printed"].items() if row}
    figures = {label: {CPU: row["total_s"], VARIABLES: row["intervals"]} for label, row in rows.items()}
    verdicts = [claims.Judge(figures)(claim).verdict for claim in paper["claims"].values()]
    assert verdicts[:6] == ["yes"] * 6
    assert set(verdicts[6:]) == {"not known"}
    papers = read_spec(kit_2020.__file__, "claims")
    for paper, of_time in ((papers["kit"], 2), (papers["eurora"], 5)):
        figures = {label: {CPU_A_DECISION: row[0]} for label, row in paper["printed"].items() if row}
        verdicts = [claims.Judge(figures)(claim).verdict for claim in paper["claims"].values()]
        assert verdicts == ["yes"] * of_time + ["not known"] * (len(paper["claims"]) - of_time)


def test_all_contenders_are_dispatchers_with_such_settings():
    of_2019, of_2020 = read_spec(kit_2019.__file__)["dispatchers"], read_spec(kit_2020.__file__)
    for of in (of_2019, of_2020["kit"]["dispatchers"], of_2020["eurora"]["dispatchers"]):
        for name, *settings in of.values():
            find_dispatcher(name, settings)
    # What the two kits have in common is one run.
    for label in ("PCP3-D", "HCP3-R"):
        assert of_2019[label] == of_2020["eurora"]["dispatchers"][label]
    assert [kit_2020.shown(label, of_2020["shown"]) for label in ("HCP3-R", "HCP19-R")] == ["HCP'19-R"] * 2
    assert kit_2020.shown("replan-L2", of_2020["shown"]) == "replan-L2"


def solver(objective, variables, **more):
    """A model that always answers the same."""
    answer = Decision({}, objective, variables=variables, **more)
    return SimpleNamespace(decide=lambda _problem, _seed: answer)


def some_instances(*models):
    rows = []
    for first, second in models:
        both = instances.Beside(first, second)
        assert both.decide(None, 1) is first.decide(None, 1)
        rows += both.rows
    return instances.Instances(**instances.of_rows(rows))


def outcome(slowdown=2.0, mean_ms=1.0, variables=100.0):
    served = constraint.Service(3, constraint.Scatter(slowdown, 1.0), constraint.Scatter(60.0, 5.0))
    metrics = {"expected_mae_s": 600.0, "expected_under_share": 0.1, "expected_over_share": 0.9}
    decisions = constraint.Decisions(7, mean_ms, mean_ms, 0.5, problems=2, variables=variables)
    return constraint.Outcome({"all": served, "medium": served}, decisions, metrics)


def test_the_page_of_2019_has_theirs_beside_ours():
    log = {"all": outcome(slowdown=8.0).service["all"]}
    text = kit_2019.page("Lead.", {"PCP-W": outcome(), "PCP3-D": outcome(1.5), "PCP1-W": outcome()}, log)
    assert "| PCP-W | did not end | – | – | – | 7 | 1 | 1.5 | 0.50 | 2 | 0 | 0 | 0 | 0.0 | 100 |" in text
    assert "| PCP3-D | 701 | 262,764 | 289 | 115 | 7 |" in text
    assert "| PCP3-D | 40 | 10 | 25.8% | 10.0% | 53.7% | 90.0% |" in text
    assert "| PBS (the log) | 8 ± 1 | 60 ± 5 | – | – | – | – |" in text
    assert "| problems are smaller in PCP3-D than in PCP1-W | variables −0.0 % | no |" in text
    assert "| HCP3-D is better than PBS | – | not known |" in text


def test_the_page_of_2020_has_systems_and_instances():
    both = {"D": some_instances((solver(10.0, 100), solver(15.0, 25)), (solver(10.0, 100), solver(10.0, 25)))}
    kit = {"HCP'19-R": outcome(mean_ms=1.0), "PCP'20-R": outcome(mean_ms=4.0), "PCP'19-R": outcome()}
    text = kit_2020.page("Lead.", kit, {"replan-D": outcome()}, {"all": outcome().service["all"]}, both)
    assert "| PCP'19-R | did not end | did not end | 7 |" in text
    assert "| HCP'19-R is faster than PCP'20-R by 59 % | CPU a decision −75.0 % | yes |" in text
    assert "| D | 2 | 0 | 0.25, 0.25, 0.25 | 0.0% |" in text
    assert "| – | – | 50.0% | 50.0% |" in text
