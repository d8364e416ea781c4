"""HCP'19's model of sums, and the fluid bound, against trying everything on one node that has all there is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.cp_brute_force import Search, empty_floor, expected_wait, least, plus, problems, seconds_of, slowdown_cost
from kit.effort import examples

from dardis.dispatch.cp import objectives
from dardis.dispatch.cp.decision_problem import BlockedCapacity, DecisionProblem, RunningJobPart, WaitingJob
from dardis.dispatch.cp.first_answer import JobWork
from dardis.dispatch.cp.pools import Hcp19
from dardis.model.job import Job
from dardis.model.platform import NodeGroup, Platform
from dardis.solver.result import SolverStatus


def merged(problem: DecisionProblem) -> DecisionProblem:
    """The same on one node that has what all nodes have."""
    platform = problem.platform
    kinds, sums = platform.kinds, platform.capacity.sum(axis=0).tolist()
    one = Platform("one", (NodeGroup("n", 1, dict(zip(kinds, sums, strict=True))),))
    running = tuple(replace(job, nodes=np.array([0]), units=np.array([job.job.units])) for job in problem.running)
    waiting = tuple(replace(job, job=replace(job.job, groups=1)) for job in problem.waiting)
    blocked = tuple(BlockedCapacity(0, block.start, block.end, block.amounts) for block in problem.blocked)
    return replace(problem, platform=one, running=running, waiting=waiting, blocked=blocked, distinct=False)


def that_sums_hold(problem: DecisionProblem) -> DecisionProblem:
    """Without those who ask for more than is free now; what is free is never below 0, whatever is blocked."""
    free = empty_floor(problem, seconds_of(problem))[0, :, 0]
    fits = [job for job in problem.waiting if (np.array(job.job.request) * job.job.units <= free).all()]
    return replace(problem, waiting=tuple(fits))


def see_that_starts_fit(problem: DecisionProblem, starts: dict[int, int]) -> None:
    """See that they fit what is free on all nodes together: what one lacks is nothing that another has."""
    free = empty_floor(problem, seconds_of(problem) + 100).sum(axis=0)
    for place, start in starts.items():
        waiting = problem.waiting[place]
        begin = start - problem.now
        taken = np.array(waiting.job.request) * waiting.job.units
        free[:, begin : begin + waiting.duration] -= taken[:, None]
    assert (free >= 0).all()


def waiting_cost(most: int):
    return lambda waiting, start, _: most / expected_wait(waiting.job) * (start - waiting.job.submit)


@examples(0.5)
@given(problems(most_jobs=5, most_nodes=2), st.booleans())
def test_hcp19_optimum_equals_exhaustive_search(problem, shortcuts):
    one = merged(problem)
    answer = Hcp19(shortcuts=shortcuts).decide(one, 1)
    rest = that_sums_hold(one)
    assert {one.waiting[place].job.number for place in answer.starts} == {job.job.number for job in rest.waiting}
    best = least(rest, slowdown_cost)
    assert answer.objective == pytest.approx(best)
    assert answer.bound == pytest.approx(best)
    if not shortcuts and rest.waiting:
        assert answer.result is not None
        assert answer.result.proven
    see_that_starts_fit(one, answer.starts)


@examples(0.3)
@given(problems(most_jobs=4, most_nodes=2), st.sampled_from([1, 2]))
def test_versions_1_and_2_prove_the_least_weighted_wait(problem, version):
    one = merged(problem)
    rest = that_sums_hold(one)
    most = max((expected_wait(job.job) for job in rest.waiting), default=1)
    answer = Hcp19(version).decide(one, 1)
    best = Search(rest, waiting_cost(most), plus).run()
    assert answer.objective == pytest.approx(best)
    assert answer.bound == pytest.approx(best)


@examples(1)
@given(problems(most_jobs=4, most_nodes=2))
def test_fluid_bound_is_at_most_the_optimum(problem):
    one = merged(problem)
    objective = objectives.slowdown(one.waiting, one.now)
    need = np.array([np.array(job.job.request) * job.job.units for job in one.waiting]).reshape(
        -1, len(one.platform.kinds)
    )
    free = empty_floor(one, seconds_of(one))[0]
    duration = np.array([job.duration for job in one.waiting], dtype=np.int64)
    at_once = np.zeros(len(one.waiting), dtype=np.int64)
    work = JobWork(duration, need, np.arange(free.shape[1]), free.T)
    assert objective.value(at_once) <= objective.least(at_once, work) <= least(one, slowdown_cost) + 1e-6


def outrun() -> DecisionProblem:
    """Somebody was to end at 5, and still runs at 10 on both cores; another waits for one."""
    platform = Platform("one", (NodeGroup("n", 1, {"cores": 2}),))
    held = Job(1, 0, 0, 50, 100, 1, (1,), 1)
    waits = Job(2, 8, 8, 50, 3, 1, (1,), 1)
    running = RunningJobPart(held, 11, 5, np.array([0]), np.array([1]))
    return DecisionProblem(platform, 10, (running,), (WaitingJob(waits, 3), WaitingJob(replace(waits, number=3), 3)))


def test_overrunning_job_holds_nothing_before_version_2():
    problem = outrun()
    # Both fit beside a job that holds nothing; the horizon is 10 - 5 + 6 s.
    assert set(Hcp19(1).decide(problem, 1).starts.values()) == {10}
    # One core is free now, the other after a second.
    assert sorted(Hcp19(2).decide(problem, 1).starts.values()) == [10, 11]
    long_ago = replace(problem, running=(replace(problem.running[0], foreseen=-50),))
    answer = Hcp19(1).decide(long_ago, 1)
    assert answer.starts == {}
    assert answer.result is not None
    assert answer.result.status is SolverStatus.INFEASIBLE


def test_version_0_fixes_the_others_to_the_end_where_they_may_be_too_many():
    problem = outrun()
    waits = problem.waiting[0]
    many = tuple(replace(waits, job=replace(waits.job, number=number)) for number in range(2, 8))
    # Five on two cores at once, at the horizon's end.
    none = Hcp19(0, jobs=1).decide(replace(problem, waiting=many), 1)
    assert none.starts == {}
    assert none.result is not None
    assert none.result.status is SolverStatus.INFEASIBLE
    assert list(Hcp19(0, jobs=1).decide(replace(problem, waiting=many[:3]), 1).starts) == [0]
    shortly = replace(problem, running=(replace(problem.running[0], foreseen=9),), waiting=many)
    assert Hcp19(1, jobs=1).decide(shortly, 1).starts == {0: 10}


def test_job_without_room_is_not_in_the_model_of_version_1():
    problem = outrun()
    wide = WaitingJob(Job(4, 8, 8, 50, 2, 1, (2,), 1), 1000)  # on cores of a job that outruns its prediction
    assert Hcp19(1).decide(replace(problem, waiting=(wide,)), 1).starts == {}
    infeasible = Hcp19(1).decide(replace(problem, waiting=(problem.waiting[0], wide)), 1)
    assert infeasible.starts == {}
    assert infeasible.result is not None
    assert infeasible.result.status is SolverStatus.INFEASIBLE  # as without the wide job
