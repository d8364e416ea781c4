"""A steerer over a small Slurm in this process, second by second."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from kit.fake_slurm import FakeJob, FakeSlurm

from dardis.config.settings import with_settings
from dardis.dispatch import CENTRAL_SETUPS, CentralDispatcher
from dardis.model.job import ActualJob
from dardis.model.platform import Platform
from dardis.slurm.reservation_lease import LEASE_S
from dardis.slurm.steerer import SteeredRound, Steerer
from dardis.slurm.steering_log import Entry, Event, SteeringLog, compare_with_slurm
from dardis.slurm.steering_setup import SteeringOptions, steering
from dardis.wire.effects import Placed

PARTITION = "batch"
T = 1_000_000
"""Time at which jobs are submitted, as of FakeSlurm."""


def steerer_of(slurm: FakeSlurm, folder: Path, dispatcher: str = "easy", *settings: str, **more: object) -> Steerer:
    """A steerer of the partition, not yet begun."""
    options = SteeringOptions(PARTITION, dispatcher, settings, **more)
    return steering(options, slurm, folder, lambda: slurm.now + slurm.clock_step, lambda: slurm.now)


def steered(steerer: Steerer, slurm: FakeSlurm, seconds: int) -> list[SteeredRound]:
    """Rounds, one a second, each before and after Slurm acts."""
    rounds = []
    for _ in range(seconds):
        slurm.schedule()
        rounds.append(steerer.round())
        slurm.schedule()
        slurm.now += 1
    return rounds


def job(number: int = 1, nodes: int = 1, cores: int = 1, **more: object) -> FakeJob:
    """A job that runs for 30 s; `more`: keys of its record."""
    return FakeJob(number, T, nodes, cores, 30, more=more)


def starts(slurm: FakeSlurm, folder: Path, dispatcher: str = "easy", *settings: str, **more: object) -> dict[str, str]:
    """Nodes of the jobs that a first round starts."""
    orders = steerer_of(slurm, folder, dispatcher, *settings, **more).preview().orders
    return {order.job: order.nodes or "" for order in orders if order.event is Event.START}


def lapse(slurm: FakeSlurm, seconds: int = LEASE_S + 10) -> None:
    """The steerer does nothing for so long."""
    for _ in range(seconds):
        slurm.schedule()
        slurm.now += 1


def entries(folder: Path) -> list[Entry]:
    """The log, in which Slurm did what was decided."""
    found = SteeringLog(folder).entries()
    assert compare_with_slurm(found).violations == []
    return found


def random_jobs(
    random: np.random.Generator, count: int, now: int, *, nodes: int = 4, cores: int = 4, last: int = 60
) -> list[FakeJob]:
    """Jobs of all sizes, in order of submission, with walltimes that differ."""
    limits = random.permutation(10 * count)[:count] + 1
    submits = np.sort(random.integers(last, size=count))
    sizes = random.integers(1, [nodes + 1, cores + 1, 41], size=(count, 3))
    return [
        FakeJob(number, now + int(submit), int(wide), int(each), int(runtime), int(limit))
        for number, (submit, limit, (wide, each, runtime)) in enumerate(zip(submits, limits, sizes, strict=True), 1)
    ]


def easy_anew(jobs: list[ActualJob], machine: Platform) -> dict[int, tuple[int, list[int]]]:
    """Starts and nodes of EASY that makes its reservations anew at each instant with arrivals or ends."""
    setup = with_settings(CENTRAL_SETUPS["easy"], ["units_per_node=distinct"]).checked()
    placed: dict[int, tuple[int, list[int]]] = {}
    events = {job.job.submit for job in jobs}
    while events:
        now = min(events)
        events.remove(now)
        easy = CentralDispatcher(setup, machine, None, 1)
        for one in jobs:
            start, nodes = placed.get(one.number, (now, []))
            if nodes and start + one.duration > now:
                parts = [(np.array(nodes), np.ones(len(nodes), dtype=np.int64))]
                easy.adopt_running(one.job, start, 0, parts, now)
        for one in jobs:
            if one.number not in placed and one.job.submit <= now:
                assert easy.submit(one.job, now) is None
        for begun in easy.decide(now):
            assert isinstance(begun, Placed)
            placed[begun.job] = now, sorted(begun.nodes.tolist())
            events.add(now + next(one.duration for one in jobs if one.number == begun.job))
    return placed
