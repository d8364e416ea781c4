"""Many compiled simulations of the same jobs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, Final, NamedTuple

from numpy.typing import NDArray

from dardis.config.comparison_spec import contender_of
from dardis.dispatch.queue_orders import TimedOrder, WaitingJobs, sort_numbers
from dardis.dispatch.queue_pass import compiled_keys
from dardis.kernels.job_queue import JobKeys, Rules
from dardis.kernels.queue_simulation import QueueSimulation
from dardis.metrics.job_metrics import Number, wait_metrics
from dardis.model.arrays import Floats
from dardis.model.errors import InputError, ProtocolError
from dardis.model.job import NO_TIME, ActualJob
from dardis.model.node_layout import make_layout
from dardis.model.offer_rows import CALLED
from dardis.model.platform import Platform
from dardis.model.resources import CORES
from dardis.registry import Cluster, find_dispatcher
from dardis.runs.hosts import even_bounds
from dardis.sim.compiled_simulation import PreparedQueue, columns_of_run, may_compile, rejections, rules_of
from dardis.sim.site_state import SiteState

BACKFILLS: Final[Mapping[object, str]] = {"easy": "easy", "conservative": "conservative", None: "rules-fcfs"}
"""Dispatchers by kind of backfilling."""
Order = str | Callable[[WaitingJobs], Any] | NDArray[Any]
"""Name of a dispatcher, a function of the jobs' columns, or keys of the jobs."""


class QueueRun(NamedTuple):
    """Jobs, rules and keys of a simulation."""

    queue: PreparedQueue
    rules: Rules
    keys: JobKeys


def simulate_queue(run: QueueRun) -> QueueSimulation:
    """The simulation at its end."""
    simulation = run.queue.simulation(run.rules, run.keys)
    simulation.run(lambda *_: None)
    return simulation


def run_metrics(run: QueueRun) -> dict[str, Number]:
    """Figures of a simulation, named as in metrics.json."""
    (jobs, machine), simulation = (run.queue.jobs, run.queue.machine), simulate_queue(run)
    start, finish = simulation.start, simulation.finish
    ran = finish != NO_TIME
    span = int(finish[ran].max() - jobs.submit[ran].min()) if ran.any() else None
    cores = jobs.units * jobs.request[:, machine.kinds.index(CORES)]
    return {
        "jobs": len(ran),
        "rejected": int((~ran).sum()),
        "makespan_s": span,
        **wait_metrics((start - jobs.submit)[ran], (finish - start)[ran]),
        "utilisation": int((cores * (finish - start))[ran].sum()) / (span * machine.cores) if span else None,
    }


class QueueRuns:
    """Simulations of some jobs on a machine under many orders."""

    def __init__(self, place: str, jobs: Sequence[ActualJob], platform: Platform) -> None:
        """Jobs sorted by (submit, number). Raises InputError, with `place`, for jobs that need more than a queue."""
        self._jobs, self._platform = jobs, platform
        self._machine = make_layout(platform).machine
        self._asked = [job.job for job in jobs]
        self._queues: dict[bool, PreparedQueue] = {}
        if not may_compile(jobs, platform):
            found = "has parts, think times, start windows or reservations"
            raise InputError(place, found, "jobs that only wait in a queue, or dardis.compare")

    def run_of(self, label: str, order: Order, base: str, seed: int = 1) -> QueueRun:
        """Simulation under an order; keys replace the order of dispatcher `base`.

        Raises InputError for a dispatcher that is no plain queue.
        """
        asked = contender_of(order if isinstance(order, str) else base)
        dispatcher = find_dispatcher(asked.dispatcher, asked.settings)
        cluster = Cluster(self._machine, even_bounds(self._machine.node_count, 1), seed)
        queue = dispatcher.builder.plain_queue(dispatcher.setup, cluster)
        keys = None
        if queue is not None:
            orders = queue.how.keys
            if not isinstance(order, str):
                own = TimedOrder(lambda jobs: self._stated_keys(order, jobs), ages=False)
                orders = own, own
            try:
                keys = compiled_keys(orders, self._asked, self._machine, lambda: self._columns)
            except ProtocolError as error:
                raise InputError(f"orders: {label}", str(error), "a key for each job that does not age") from None
            except Exception as error:
                if isinstance(order, str):
                    raise
                raise InputError(
                    f"orders: {label}", f"{type(error).__name__}: {error}", "a function that runs"
                ) from error
        if queue is None or keys is None or CALLED in keys.mode:
            found = f"is no compiled order of a queue on nodes of {self._platform.name} that are always open"
            raise InputError(
                f"orders: {label}", found, "rules-…, easy or conservative, by walltimes, or dardis.compare"
            )
        if queue.distinct not in self._queues:
            site = SiteState(self._platform, distinct=queue.distinct)
            rejected = rejections(self._jobs, self._machine, site, distinct=queue.distinct)
            self._queues[queue.distinct] = PreparedQueue.of_jobs(self._jobs, rejected, self._machine)
        return QueueRun(self._queues[queue.distinct], rules_of(queue), keys)

    @cached_property
    def _columns(self) -> WaitingJobs:
        return columns_of_run(self._jobs, self._machine, SiteState(self._platform, distinct=False))

    def _stated_keys(self, order: Callable[[WaitingJobs], Any] | NDArray[Any], jobs: WaitingJobs) -> Floats:
        return sort_numbers(order(jobs) if callable(order) else order, jobs)
