"""Best of many queues with exact walltimes, from which the clairvoyant search may start."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Final

from dardis.clairvoyant.clairvoyant_schedule import Progress
from dardis.config.comparison_spec import contender_of
from dardis.dispatch.queue_orders import MULTIFACTOR, RULES, TIMED_ORDERS, WaitingJobs
from dardis.dispatch.setups import Ordering
from dardis.model.arrays import Floats, Ints
from dardis.model.errors import InputError
from dardis.model.job import ActualJob
from dardis.model.placements import Placements
from dardis.model.platform import Platform
from dardis.model.target import Target
from dardis.registry import find_dispatcher
from dardis.runs.play import play
from dardis.runs.queue_runs import Order, QueueRun, QueueRuns, run_metrics, simulate_queue

_RULES: Final = tuple(name for name in (*RULES, *TIMED_ORDERS) if name != MULTIFACTOR)
_EASY: Final = tuple(f"easy:rule={rule}" for rule in _RULES)


def _aged_order(a: int, b: float, c: float) -> Callable[[WaitingJobs], Floats]:
    return lambda jobs: jobs.submit / 3600 + a * (jobs.walltime / 3600) ** b * jobs.cores**c


QUEUES: Final[dict[str, Order]] = {
    **{name: name for name in _EASY},
    **{name: name for how in Ordering for rule in _RULES for name in [f"rules-fcfs:ordering={how}:rule={rule}"]},
    **{
        f"submission in h + {a} · (walltime in h) ^ {b} · cores ^ {c}": _aged_order(a, b, c)
        for a, b, c in product((1, 6, 24, 96), (0.5, 1, 2), (0, 0.5, 1))
    },
}
"""By label; functions are orders of `easy`."""


def best_queue(
    platform: Platform, jobs: Sequence[ActualJob], seed: int, progress: Progress | None = None
) -> tuple[Ints, Placements]:
    """Starts and nodes of the queue with the least total wait.

    Jobs fit the machine and are sorted by (submit, number). On nodes that close, and with later starts, only `easy`
    under the rules is played.
    """
    exact = [replace(job, job=replace(job.job, walltime=job.duration), runtime=job.duration) for job in jobs]
    try:
        queues = QueueRuns(platform.name, exact, platform)
        queues.run_of(_EASY[0], _EASY[0], "easy")
    except InputError:  # the compiled loop does not take these jobs, or this machine
        asked = map(contender_of, _EASY)
        dispatchers = (find_dispatcher(one.dispatcher, one.settings) for one in asked)
        schedules = (play(platform, exact, one, Target(), seed).schedule for one in dispatchers)
        played = min(schedules, key=lambda one: int(one.start.sum()))
        return played.start, played.placed
    best = min(_runs(queues, progress), key=lambda run: run_metrics(run)["total_wait_s"] or 0)
    simulation = simulate_queue(best)
    return simulation.start, simulation.placements


def _runs(queues: QueueRuns, progress: Progress | None) -> Iterator[QueueRun]:
    for done, (label, order) in enumerate(QUEUES.items()):
        if progress is not None:
            progress(done, len(QUEUES))
        yield queues.run_of(label, order, "easy")
