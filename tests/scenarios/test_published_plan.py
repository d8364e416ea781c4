"""Thesis tables 3.2 and 3.3: the instance as PCP'14 sees it, and its printed solution as one of the model."""

from __future__ import annotations

import numpy as np
from kit.eurora import EURORA, TABLE

from dardis.dispatch.cp import objectives
from dardis.dispatch.cp.decision_problem import DecisionProblem, WaitingJob
from dardis.dispatch.cp.first_answer import NodePlan
from dardis.dispatch.cp.node_model import Subproblem, build
from dardis.dispatch.cp.pcp_nodes import Aim, NodeModelLimits, Pcp14
from dardis.dispatch.cp.search_effort import Effort, search
from dardis.model.job import Job

WAITING = tuple(
    WaitingJob(Job(number, 0, 0, 600, duration, units, tuple(request), EURORA.all_groups), duration)
    for number, (units, *request, duration) in enumerate(TABLE)
)
PROBLEM = DecisionProblem(EURORA, 0, (), WAITING)


def nodes(*spans: tuple[int, int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Nodes `[first, last]` with so many units each."""
    node = [place for first, last, _ in spans for place in range(first, last + 1)]
    units = [count for first, last, count in spans for _ in range(first, last + 1)]
    return np.array(node), np.array(units)


PRINTED = NodePlan(
    np.array([0, 0, 600, 0, 800]),
    # Two units of job 000 are on node 1; job 002 has both of its on node 0, after job 001.
    [
        (0, (nodes(*spans),))
        for spans in ([(1, 1, 2), (2, 31, 1)], [(0, 0, 1)], [(0, 0, 2)], [(32, 63, 1)], [(32, 63, 1)])
    ],
    (0, 1, 3, 2, 4),
)


def test_printed_solution_is_feasible_in_the_model():
    task = Subproblem(PROBLEM, tuple(range(5)), (), PROBLEM.horizon)
    shares = task.node_candidates(1000)
    assert shares is not None
    objective = objectives.makespan(task.jobs, 0)
    built = build(task, shares, objective, (), np.zeros(5, np.int64), PRINTED)
    hint = built.model.proto.solution_hint
    for variable, value in zip(list(hint.vars), list(hint.values), strict=True):
        built.model.add(built.model.get_int_var_from_proto_index(variable) == value)
    solved, _ = search(built.model, Effort(), 1)
    assert solved.result.objective == 600 + 14400
    read = built.read(solved)
    assert read.starts.tolist() == PRINTED.starts.tolist()
    assert [int(units.sum()) for _, ((_, units),) in read.where] == [row[0] for row in TABLE]


def test_the_longest_job_need_not_wait():
    for shortcuts in (True, False):
        answer = Pcp14(Aim.MAKESPAN, composite=False, search_limits=NodeModelLimits(shortcuts=shortcuts)).decide(
            PROBLEM, 1
        )
        assert answer.objective == answer.bound == 14400
        assert answer.starts[2] == 0
        # |Q|, and by job what nodes hold: 2 on each of 32 with GPUs, 1 on 32, 2 on 32, 1 on 64, 1 on 32 with MICs.
        assert answer.variables == 5 + 64 + 32 + 64 + 64 + 32


def test_best_composite_keeps_waits_within_the_expected_wait():
    assert Pcp14(Aim.MAKESPAN, composite=False).decide(PROBLEM, 1).starts[4] == 800
    answer = Pcp14().decide(PROBLEM, 1)
    assert answer.objective == 14400
    assert answer.starts[4] == 0
    assert 400 <= answer.starts[3] <= 600
