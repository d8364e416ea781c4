"""Orders that see the clock: who goes first is worked out anew at each decision.

Each is a pure function of those that wait and of now; the lowest number goes first, ties by submission, then by job
number, as everywhere. Between decisions nobody looks: a job that comes to be first then starts at the next event.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dardis.model.arrays import Floats
from dardis.model.platform import Platform


class Waiting(NamedTuple):
    """What is known of those that wait, an entry each."""

    wait: Floats
    """Since they were submitted, s."""
    since: Floats
    """From the first submission that the dispatcher was told of to theirs, s."""
    expected: Floats
    """For how long they are expected to run, s: their walltimes, unless somebody predicts better."""
    cores: Floats
    """Of all units."""
    level: Floats
    """How many lower priorities of queues there are than that of theirs."""


@dataclass(frozen=True, slots=True)
class Clocked:
    """An order that sees the clock."""

    number: Callable[[Waiting], Floats]
    ages: bool = True
    """Whether a number changes while its job waits; else it is worked out once."""


class Weights(NamedTuple):
    """Of `multifactor`: what the factors of a job's priority count, each of which is from 0 to 1."""

    age: int = 1000
    size: int = 1000
    queue: int = 0
    max_age_s: int = 7 * 86_400
    """At what age the factor is 1."""
    small: bool = False
    """Whether few cores count, in place of many."""


def _wfp3(who: Waiting) -> Floats:
    """Numbers of `wfp3`.

    Tang, Lan, Desai, Buettner: Fault-aware, utility-based job scheduling on Blue Gene/P systems (CLUSTER 2009).
    """
    slowed = who.wait / who.expected
    return -(slowed * slowed * slowed * who.cores)


def _unicef(who: Waiting) -> Floats:
    """Numbers of `unicef`, of the same paper."""
    return -(who.wait / (np.log2(np.maximum(who.cores, 2)) * who.expected))


def _f1(who: Waiting) -> Floats:
    """Numbers of `f1`.

    Carastan-Santos, de Camargo: Obtaining dynamic scheduling policies with simulation and machine learning (SC 2017).
    """
    found: Floats = np.log10(who.expected) * who.cores + 870 * np.log10(np.maximum(who.since, 1))
    return found


def _multifactor(weights: Weights, platform: Platform) -> Clocked:
    """The highest priority first, as Slurm's priority/multifactor has it of age, job size and partition alone.

    A partition's factor is its priority over the largest. Size is the job's share of the machine's cores; Slurm takes
    the mean of that and its share of nodes, which nobody knows here before it starts.
    """
    priorities = np.array(sorted({0, *(queue.priority for queue in platform.queues)}))
    of_queue = priorities / max(1, np.abs(priorities).max())

    def number(who: Waiting) -> Floats:
        size = who.cores / platform.cores
        priority = weights.age * np.minimum(who.wait / weights.max_age_s, 1)
        priority += weights.size * (1 - size if weights.small else size)
        priority += weights.queue * of_queue[who.level.astype(np.int64)]
        return -priority

    return Clocked(number)


MULTIFACTOR = "multifactor"
CLOCKED: dict[str, tuple[str, Callable[[Weights, Platform], Clocked]]] = {
    "wfp3": (
        "The largest (wait / walltime)³ · cores (Tang, Lan, Desai and Buettner, CLUSTER 2009).",
        lambda _weights, _platform: Clocked(_wfp3),
    ),
    "unicef": (
        "The largest wait / (log₂ cores · walltime). One core counts as two, since its logarithm is 0 (as `wfp3`).",
        lambda _weights, _platform: Clocked(_unicef),
    ),
    "f1": (
        (
            "The smallest log₁₀ walltime · cores + 870 · log₁₀ submission, in s since the first submission that the"
            " dispatcher was told of, at least 1. It does not change while a job waits (Carastan-Santos and de Camargo,"
            " SC 2017, eq. F1)."
        ),
        lambda _weights, _platform: Clocked(_f1, ages=False),
    ),
    MULTIFACTOR: (
        (
            "The highest `age_weight` · min(wait / `max_age_s`, 1) + `size_weight` · cores / the machine's cores +"
            " `queue_weight` · the queue's priority / the largest (Slurm's"
            " [priority/multifactor](https://slurm.schedmd.com/priority_multifactor.html))."
        ),
        _multifactor,
    ),
}
