"""What scripts/lab/run decision_time makes of a trace, whom it measures, and what it says of curves."""

import numpy as np
import pytest
from kit.actual import actual, asking

from dardis.dispatch import CENTRAL_SETUPS, CentralDispatcher
from dardis.model.choices import EventOrder
from dardis.model.job import ActualJob
from dardis.model.platform import NodeGroup, Platform
from dardis.model.step_function import StepFunction
from dardis.model.target import DesiredProfile
from dardis.sim.simulation import Simulation
from dardis.turns import CentralTurns
from scripts.lab.decision_time import contenders, page, plain_rules, workloads

HOUR_S = 3600
PLATFORM = Platform("six", (NodeGroup("n", 6, {"cores": 4}),))
CURVE = {300: 1.0, 3000: 1.0, 30_000: 1.0}


def some_jobs(seed: int, count: int = 60) -> list[ActualJob]:
    """Jobs for six nodes of four cores, more than they can do at a time."""
    draw = np.random.Generator(np.random.Philox(seed))
    submits = np.sort(draw.integers(0, 4000, count)).tolist()
    return [
        actual(number, submit, submit, submit + 900, int(wall), int(units), (int(cores),), 1, runtime=int(run))
        for number, (submit, wall, run, units, cores) in enumerate(
            zip(
                submits, draw.integers(100, 900, count), draw.integers(50, 900, count), draw.integers(1, 7, count),
                draw.integers(1, 5, count), strict=True,
            ),
            start=1,
        )
    ]  # fmt: skip


def desired() -> DesiredProfile:
    return DesiredProfile(PLATFORM, {0: StepFunction.from_steps(24, [(1000, 12), (2500, 24)])})


def schedule_under(dispatcher, jobs):
    simulation = Simulation(jobs, CentralTurns(EventOrder.BATCHED, dispatcher))
    simulation.run()
    return simulation.recorder.schedule(simulation.jobs, PLATFORM.kinds)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_plain_rules_decide_as_the_compiled_ones(seed):
    jobs = [asking(job, units=min(job.units, 6), request=(min(job.request[0], 2),)) for job in some_jobs(seed)]
    plain = schedule_under(plain_rules.PlainRules(PLATFORM, desired(), backfill=False), jobs)
    compiled = schedule_under(CentralDispatcher(CENTRAL_SETUPS["rules-fcfs"].checked(), PLATFORM, desired(), 1), jobs)
    assert plain.digest() == compiled.digest()
    assert (plain.start - plain.submit).max() > 100


def test_every_job_has_a_decision_at_submission_then_at_job_ends():
    case = workloads.Case("six", PLATFORM, desired(), some_jobs(6))
    for label in (contenders.DARDIS, contenders.EASY):
        ledger = contenders.CONTENDERS[label].run(case)
        came = [one for one in ledger.decisions if one.cause is contenders.DecisionCause.SUBMIT]
        assert all(one.dispatching > 0 for one in came)
        if label == contenders.DARDIS:
            assert len(came) == len(case.jobs)
            assert all(one.scheduling > 0 for one in came)
            assert sum(one.cause is contenders.DecisionCause.END for one in ledger.decisions) == len(case.jobs)


def test_larger_machine_scales_all_quantities():
    platform = workloads.machine(300)
    draw = np.random.Generator(np.random.Philox(8))
    jobs = [
        actual(number, 40 * number, 40 * number, None, 2 * HOUR_S, int(units), (8,), 1, runtime=HOUR_S)
        for number, units in enumerate(draw.integers(1, 40, 600), start=1)
    ]
    base = workloads.Case("base", platform, DesiredProfile(platform), jobs)
    since, span = 3 * HOUR_S, HOUR_S
    running, waiting = workloads.jobs_at(base, since)
    assert sum(job.units for job in running) <= 1200
    assert all(0 < job.runtime < HOUR_S and job.walltime - job.runtime == HOUR_S for job in running)
    arriving = [job for job in jobs if since <= job.submit < since + span]
    case = workloads.larger(base, 750, since, span)
    before = [job for job in case.jobs if job.submit == since - 1]
    counted = [job for job in case.jobs if job.submit >= since]
    assert case.counted == len(counted) == 2.5 * len(arriving)
    assert max(job.submit for job in counted) < since + span
    assert {job.earliest - job.submit for job in case.jobs} == {0}
    assert len(before) == len(running) + len(workloads.copy_jobs(waiting, 2.5))
    held = sum(job.units for job in before[: len(running)])
    assert held == sum(job.units * count for job, count in workloads.copy_counts(running, 2.5))
    assert case.jobs == sorted(case.jobs, key=lambda job: (job.submit, job.number))


@pytest.mark.parametrize(
    ("theirs", "where"),
    [
        ({300: 0.1, 3000: 1 / 10**0.5, 30_000: 10.0}, [3000 * 10 ** (1 / 3)]),
        ({300: 0.1, 3000: 0.2, 30_000: 0.3}, []),
        ({300: 2.0, 3000: 0.5, 30_000: 2.0}, [300 * 10**0.5, 3000 * 10**0.5]),
    ],
)
def test_curves_cross_where_their_ratio_is_one(theirs, where):
    assert page.crossings(CURVE, theirs) == pytest.approx(where)
