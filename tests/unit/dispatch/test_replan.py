"""`replan`: the solver beside the order of weights, reservations where sums over nodes say too little."""

from __future__ import annotations

from kit.actual import actual
from kit.central_runs import dispatch

from dardis.config.settings import with_settings
from dardis.dispatch import REPLAN_SETUPS
from dardis.model.platform import NodeGroup, Platform

REPLAN = REPLAN_SETUPS["replan"]
ONE = Platform("one", (NodeGroup("n", 1, {"cores": 4}),))


def job(number, submit, walltime, units, cores=1, groups=1):
    return actual(number, submit, submit, None, walltime, units, (cores,), groups, runtime=walltime)


def test_solver_improves_on_the_order_of_weights():
    listed = [job(1, 0, 10, 2), job(2, 1, 5, 4), job(3, 1, 12, 2)]
    by_weight = with_settings(REPLAN, ["exchanges=0"])
    assert dispatch(ONE, listed, by_weight).schedule.start.tolist() == [0, 10, 15]
    solved = with_settings(REPLAN, ["exchanges=0", "solver=on"])
    assert dispatch(ONE, listed, solved).schedule.start.tolist() == [0, 13, 1]


def test_job_without_nodes_gets_a_reservation():
    platform = Platform("two", (NodeGroup("n", 2, {"cores": 2}),))
    halves = [job(1, 0, 100, 1), job(2, 0, 30, 1), job(3, 1, 100, 1), job(4, 1, 60, 1)]
    listed = [*halves, job(5, 2, 40, 1, 2), job(6, 62, 400, 1), job(7, 62, 401, 1)]
    assert dispatch(platform, listed, REPLAN).schedule.start.tolist() == [0, 0, 1, 1, 100, 62, 101]
