"""Steering of a Slurm over random queues: equal to simulation, and safe at every crash."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from kit.actual import actual
from kit.fake_slurm import FakeSlurm
from kit.steering import easy_anew, entries, random_jobs, steered, steerer_of

from dardis.model.job import ActualJob, Job
from dardis.model.platform import Maintenance, NodeGroup, Platform
from dardis.model.target import Target
from dardis.registry import find_dispatcher
from dardis.runs.play import play
from dardis.slurm.reservation_lease import LEASE_S
from dardis.slurm.round_decision import decide_round
from dardis.slurm.steering_log import Event


def seeds(gate: int, slow: int) -> list[object]:
    """Seeds of the gate, and more with --slow."""
    return [*range(gate), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(gate, slow))]


MACHINE = Platform("n", (NodeGroup("n", 4, {"cores": 4}),))


def simulated(jobs: list[ActualJob], dispatcher: str, *settings: str) -> dict[int, tuple[int, list[int]]]:
    """Start and nodes by job."""
    found = find_dispatcher(dispatcher, ("units_per_node=distinct", *settings))
    schedule = play(MACHINE, jobs, found, Target(), 1).schedule
    return {
        int(schedule.number[place]): (int(schedule.start[place]), sorted(schedule.placed.of(place)[0].tolist()))
        for place in range(len(jobs))
    }


def steered_jobs(seed: int, folder: Path, *how: str) -> tuple[list[ActualJob], dict[int, tuple[int, list[int]]]]:
    """Random jobs, and their starts and nodes under a dispatcher with settings."""
    slurm = FakeSlurm([])
    slurm.jobs = random_jobs(np.random.default_rng(seed), 30, slurm.now)
    steerer = steerer_of(slurm, folder, *how)
    steerer.begin()
    while any(not job.end for job in slurm.jobs):
        steered(steerer, slurm, 10)
    assert sum(entry.event is Event.STARTED for entry in entries(folder)) == len(slurm.jobs)
    jobs = [
        actual(
            job.number, job.submit, job.submit, None, 60 * job.limit_min, job.nodes, (job.cores,), 1, "normal", "ann",
            "job", runtime=min(job.runtime, 60 * job.limit_min),
        )
        for job in slurm.jobs
    ]  # fmt: skip
    return jobs, {job.number: (job.start, [int(name[1:]) for name in job.placed]) for job in slurm.jobs}


@pytest.mark.parametrize("seed", seeds(3, 30))
def test_steered_fcfs_equals_simulated_fcfs(tmp_path: Path, seed: int) -> None:
    jobs, found = steered_jobs(seed, tmp_path, "rules-fcfs")
    assert found == simulated(jobs, "rules-fcfs")


@pytest.mark.parametrize("seed", seeds(3, 30))
def test_steered_easy_equals_easy_that_decides_anew(tmp_path: Path, seed: int) -> None:
    jobs, found = steered_jobs(seed, tmp_path, "easy")
    assert found == easy_anew(jobs, MACHINE)


@pytest.mark.parametrize("how", [("easy",), ("dardis-late", "expected=walltime")])
def test_steered_schedule_equals_the_simulated_one_of_these_jobs(tmp_path: Path, how: tuple[str, ...]) -> None:
    jobs, found = steered_jobs(0, tmp_path, *how)  # among other jobs, older reservations on other nodes may differ
    assert found == simulated(jobs, *how)


@pytest.mark.parametrize("seed", seeds(8, 60))
def test_each_job_runs_once_whenever_the_steerer_is_killed(tmp_path: Path, seed: int) -> None:
    random = np.random.default_rng(seed)
    slurm = FakeSlurm([])
    slurm.jobs = random_jobs(random, 25, slurm.now)
    while any(not job.end for job in slurm.jobs):
        slurm.fails_at = len(slurm.calls) + int(random.integers(1, 60))
        try:
            steerer = steerer_of(slurm, tmp_path)
            steerer.begin()
            for _ in range(1000):
                steered(steerer, slurm, 1)
                if all(job.end for job in slurm.jobs):
                    break
        except KeyboardInterrupt:
            slurm.fails_at = -1
            for _ in range(random.choice([1, 20, LEASE_S + 5])):  # until the next steerer
                slurm.schedule()
                slurm.now += 1
    assert all(job.starts == 1 for job in slurm.jobs)
    entries(tmp_path)


def test_slurm_schedules_alone_when_the_lease_has_ended(tmp_path: Path) -> None:
    slurm = FakeSlurm([])
    slurm.jobs = random_jobs(np.random.default_rng(1), 6, slurm.now, nodes=1, cores=1, last=1)
    steerer = steerer_of(slurm, tmp_path)
    steerer.begin()
    for _ in range(LEASE_S + 1):  # the steerer is dead
        slurm.schedule()
        slurm.now += 1
    assert all(job.start for job in slurm.jobs)


def test_old_job_goes_first_although_each_round_decides_anew() -> None:
    machine = Platform("n", (NodeGroup("n", 4, {"cores": 4}),))
    wide, narrow = (Job(n, at, at, None, 7200, units, (4,), 1) for n, at, units in ((1, 0, 4), (2, 431_000, 1)))
    busy = replace(machine, maintenance=(Maintenance((0,), 431_000, 433_000, (4,)),))
    late = find_dispatcher("dardis-late", ("units_per_node=distinct",))
    found = decide_round(late, 1, busy, None, [wide, narrow], 432_000)
    assert not found.starts
