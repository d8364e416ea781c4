"""What scripts/lab/run cp_2019 and cp_2020 make of runs: classes of jobs, claims, contenders, and pages."""

from types import SimpleNamespace

import numpy as np
import pytest

from dardis.dispatch.cp.decision_problem import Decision
from dardis.registry import find_dispatcher
from scripts.lab.cp_2019 import __main__ as kit_2019
from scripts.lab.cp_2019 import request_sums
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


@pytest.mark.parametrize(
    ("own", "verdict"), [(60, "holds"), (70, "holds in direction"), (99.5, "does not hold"), (120, "does not hold")]
)
def test_relative_reductions_by_hand(own, verdict):
    claim = ["less", "one", "other", {CPU: 0.4}]
    judge = claims.Judge({"one": {CPU: own}, "other": {CPU: 100}})
    assert judge(claim).verdict == judge(["every", claim, claim]).verdict == verdict
    held = ["close", ["one"], [CPU], 0.1]
    assert judge(["every", claim, held]).verdict == (claims.HOLDS if verdict == claims.HOLDS else claims.IN_DIRECTION)
    assert claims.Judge({"one": {CPU: own}})(claim) == claims.UNKNOWN


def test_tables_of_the_papers_agree_with_their_text():
    paper = read_spec(kit_2019.__file__, "claims")
    rows = {label: row for label, row in paper["printed"].items() if row}
    figures = {label: {CPU: row["total_s"], VARIABLES: row["intervals"]} for label, row in rows.items()}
    verdicts = [claims.Judge(figures)(claim).verdict for claim in paper["claims"].values()]
    assert [one for one in verdicts if one != "not known"] == ["holds"] * 8
    papers = read_spec(kit_2020.__file__, "claims")
    for paper, of_time in ((papers["kit"], 2), (papers["eurora"], 6)):
        figures = {label: {CPU_A_DECISION: row[0]} for label, row in paper["printed"].items() if row}
        verdicts = [claims.Judge(figures)(claim).verdict for claim in paper["claims"].values()]
        assert [one for one in verdicts if one != "not known"] == ["holds"] * of_time


def test_all_contenders_are_dispatchers_with_such_settings():
    of_2019, of_2020 = read_spec(kit_2019.__file__)["dispatchers"], read_spec(kit_2020.__file__)
    for of in (of_2019, of_2020["kit"]["dispatchers"], of_2020["eurora"]["dispatchers"]):
        for name, *settings in of.values():
            find_dispatcher(name, settings)
    # What the two kits have in common is one run.
    assert all(of_2019[label] == of_2020["eurora"]["dispatchers"][label] for label in ("PCP3-D", "HCP3-R"))
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
    return constraint.Outcome({"all": served, "medium": served}, decisions, metrics, 0.4)


@pytest.mark.parametrize(("version", "sums"), [(0, [5, 1]), (1, [2, 1])])
def test_requests_are_those_of_the_jobs_in_the_model(version, sums):
    waiting = [SimpleNamespace(amounts=amounts) for amounts in ((2, 1), (3, 0))]
    found, model = [], SimpleNamespace(decide=lambda *_: Decision({0: 7}, 1.0, variables=2 - version))
    request_sums.Summing(model, version, found).decide(SimpleNamespace(waiting=waiting), 1)
    assert [one.tolist() for one in found] == [sums]


def test_the_page_of_2019_has_theirs_beside_ours():
    log = {"all": outcome(slowdown=8.0).service["all"]}
    text = kit_2019.page("Lead.", {"PCP-W": outcome(), "PCP3-D": outcome(1.5), "PCP1-W": outcome()}, log)
    assert "| PCP-W | did not end | – | – | – | 7 | 1 | 1.5 | 0.50 | 2 | 0 | 0 | 0 | 0.0 | 100 |" in text
    assert "| PCP3-D | 701 | 262,764 | 289 | 115 | 7 |" in text
    assert "| PCP3-D | 40 | 10 | 25.8% | 10.0% | 53.7% | 90.0% | 50.0% | 40.0% |" in text
    assert "| PBS (the log) | 8 ± 1 | 60 ± 5 | – | – | – | – |" in text
    assert "| PCP3-D has smaller problems than PCP1-W | variables −0.0 % | does not hold |" in text
    group = constraint.FigureGroup({"PCP3-D": outcome(1.5)}, log, {"PCP3-D": ["701"]})
    told = constraint.figure_table("t", "jobs", {"3000": group}, constraint.PRINTED_COLUMNS[:1])
    assert told.rows[0] == ["3000", "PCP3-D", "701", "1", "1.5", "100", "0", "2", "0", "1.5", "1", "60", "5"]
    assert [len(row) for row in told.rows] == [len(told.head)] * 2
    assert "| HCP3-D and HCP3-R are better than PBS | – | not known |" in text


def test_the_page_of_2020_has_systems_and_instances():
    both = {"D": some_instances((solver(10.0, 100), solver(15.0, 25)), (solver(10.0, 100), solver(10.0, 25)))}
    kit = {"HCP'19-R": outcome(mean_ms=1.0), "PCP'20-R": outcome(mean_ms=4.0), "PCP'19-R": outcome()}
    text = kit_2020.page("Lead.", kit, {"replan-D": outcome()}, {"all": outcome().service["all"]}, both)
    assert "| PCP'19-R | did not end | did not end | 7 |" in text
    assert "| HCP'19 is faster than PCP'20 on the KIT machine with R | CPU a decision −75.0 % | holds |" in text
    assert "| D | 2 | 0 | 0.25, 0.25, 0.25 | 0.0% |" in text
    assert "| – | – | 50.0% | 50.0% |" in text
