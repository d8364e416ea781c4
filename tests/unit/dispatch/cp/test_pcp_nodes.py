"""PCP'14 and PCP'19: versions, sizes and composites, on instances whose answers are argued here."""

from __future__ import annotations

from dataclasses import replace
from math import inf

import numpy as np
import pytest

from dardis.dispatch.cp.decision_problem import DecisionProblem, RunningJobPart, WaitingJob
from dardis.dispatch.cp.node_model import Subproblem
from dardis.dispatch.cp.pcp_nodes import Aim, NodeModelLimits, Pcp14, Pcp19
from dardis.model.errors import InputError
from dardis.model.job import Job
from dardis.model.platform import NodeGroup, Platform
from dardis.solver.result import EndReason, SolverStatus

NOW = 1000
ONE = Platform("one", (NodeGroup("n", 1, {"cores": 4}),))
TWO = Platform("two", (NodeGroup("n", 2, {"cores": 4}),))
MIXED = Platform("mixed", (NodeGroup("a", 2, {"cores": 4, "gpu": 2}), NodeGroup("b", 3, {"cores": 8})))


def wait(
    number: int, duration: int, units: int, *request: int, submit: int = NOW, window: int | None = 50
) -> WaitingJob:
    latest = None if window is None else submit + window
    return WaitingJob(Job(number, submit, submit, latest, duration, units, request, 3), duration)


def run(number: int, end: int, node: int, cores: int, foreseen: int | None = None) -> RunningJobPart:
    job = Job(number, 0, 0, None, 9999, 1, (cores,), 1)
    return RunningJobPart(job, end, end if foreseen is None else foreseen, np.array([node]), np.array([1]))


def test_jobs_that_do_not_fit_now_are_excluded_from_version_1_on():
    problem = DecisionProblem(TWO, NOW, (run(9, NOW + 7, 0, 2),), (wait(0, 10, 2, 3), wait(1, 5, 1, 3)))
    assert sorted(Pcp19(0).decide(problem, 1).starts) == [0, 1]
    for version in (1, 2, 3):
        assert list(Pcp19(version).decide(problem, 1).starts) == [1]


def test_overrunning_job_postpones_all_starts_only_in_version_1():
    problem = DecisionProblem(
        TWO, NOW, (run(9, NOW + 1, 0, 2, foreseen=NOW - 30),), (wait(0, 10, 2, 2), wait(1, 5, 1, 2))
    )
    for version in (0, 1):
        answer = Pcp19(version).decide(problem, 1)
        assert answer.starts == {}
        assert answer.objective == inf
        assert answer.result is not None
        assert (answer.result.status, answer.result.ended) == (SolverStatus.INFEASIBLE, EndReason.PROVEN)
    for version in (2, 3):
        assert set(Pcp19(version).decide(problem, 1).starts.values()) == {NOW}


def test_no_job_starts_on_nodes_of_an_overrunning_job():
    running = (run(9, NOW + 1, 0, 4, foreseen=NOW - 1), run(8, NOW + 50, 1, 3))
    problem = DecisionProblem(TWO, NOW, running, (wait(0, 10, 1, 1), wait(1, 10, 1, 1)))
    answer = Pcp19(1).decide(problem, 1)
    assert answer.where is not None
    assert [nodes.tolist() for _, ((nodes, _),) in answer.where.values()] == [[1]]


def test_a_model_that_is_too_large_is_not_built():
    jobs = (wait(0, 30, 1, 4, window=1), wait(1, 10, 1, 4, window=1), wait(2, 10, 1, 4, window=1))
    problem = DecisionProblem(TWO, NOW, (), jobs)
    # Equal nodes: the first job has one to choose from, the others two.
    assert Subproblem(problem, (0, 1, 2), (), 50).node_candidates(4) is None
    assert Pcp19(2, NodeModelLimits(most_places=5)).decide(problem, 1).result is not None
    large = Pcp19(2, NodeModelLimits(most_places=4)).decide(problem, 1)
    assert large.too_large
    assert large.result is None
    assert large.starts == {0: NOW, 1: NOW, 2: NOW + 10}
    unasked = Pcp19(2, NodeModelLimits(most_places=4, shortcuts=False)).decide(problem, 1)
    assert unasked.too_large
    assert unasked.starts == large.starts


def test_pools_know_that_units_exclude_each_other_by_different_kinds():
    platform = Platform("one", (NodeGroup("n", 1, {"cores": 4, "gpu": 1}),))
    problem = DecisionProblem(platform, NOW, (), (wait(0, 10, 1, 4, 0), wait(1, 10, 1, 1, 1)))
    by_model, by_pools = (Pcp14(composite=False, search_limits=NodeModelLimits(most_places=0, pools=on)).decide(
        problem, 1) for on in (False, True))  # fmt: skip
    assert (by_model.too_large, by_model.bound) == (True, 13)
    assert (by_pools.too_large, by_pools.bound, by_pools.objective) == (False, 20, 20)


def test_variables_count_as_in_the_paper():
    jobs = (wait(0, 10, 2, 2, 1), wait(1, 10, 5, 3, 0))
    problem = DecisionProblem(MIXED, NOW, (), jobs)
    assert Pcp14(Aim.LATE).decide(problem, 1).variables == 2 + 2 * 2 + (2 * 1 + 3 * 2)
    assert Pcp14(Aim.LATE).decide(replace(problem, distinct=True), 1).variables == 2 + 2 + 5


def test_deadlines_are_needed_but_for_version_3_and_the_makespan():
    problem = DecisionProblem(TWO, NOW, (), (wait(0, 10, 1, 3, window=None),))
    assert Pcp19().decide(problem, 1).starts == {0: NOW}
    assert Pcp14(Aim.MAKESPAN, composite=False).decide(problem, 1).starts == {0: NOW}
    for model in (Pcp14(Aim.LATE, composite=False), Pcp19(0), Pcp19(2)):
        with pytest.raises(InputError, match="deadline"):
            model.decide(problem, 1)


def test_a_composite_keeps_what_the_others_cost_at_best():
    jobs = (wait(0, 30, 1, 4, window=1), wait(1, 10, 1, 4, window=1), wait(2, 5, 1, 3, window=1), wait(3, 45, 1, 1))
    problem = DecisionProblem(ONE, NOW, (), jobs)
    tight = Pcp14(Aim.MAKESPAN, deltas=(1.0, 1.0)).decide(problem, 1)
    least = Pcp14(Aim.TARDINESS, composite=False).decide(problem, 1)
    assert least.result is not None
    assert least.result.proven
    starts = [tight.starts[place] - NOW for place in range(4)]
    assert sum(max(0, start - 1) for start in starts[:3]) + max(0, starts[3] - 50) / 50 <= least.objective + 1e-9
    alone = Pcp14(Aim.MAKESPAN, composite=False).decide(problem, 1)
    assert alone.objective <= tight.objective


def test_composite_admits_the_answer_that_gave_its_bound():
    platform = Platform("unlike", (NodeGroup("a", 1, {"cores": 1}), NodeGroup("b", 1, {"cores": 2})))
    held = (run(8, NOW + 1, 0, 1), run(9, NOW + 991, 1, 2))
    jobs = tuple(wait(i, span, 1, 1, window=late) for i, span, late in ((1, 3, 2), (2, 3, 2), (3, 2, 3)))
    limits = NodeModelLimits(shortcuts=False)
    answer = Pcp14(search_limits=limits).decide(DecisionProblem(platform, NOW, held, jobs), 1)
    assert len(answer.starts) == 3
    assert answer.result is not None
    assert answer.result.status is SolverStatus.OPTIMAL
