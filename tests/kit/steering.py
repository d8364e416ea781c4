"""A steerer over a small Slurm in this process, second by second."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from kit.fake_slurm import FakeJob, FakeSlurm

from dardis.slurm.steerer import SteeredRound, Steerer
from dardis.slurm.steering_log import Entry, SteeringLog, compare_with_slurm
from dardis.slurm.steering_setup import SteeringOptions, steering

PARTITION = "batch"


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
