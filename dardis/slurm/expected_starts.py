"""Expected starts of a Slurm cluster's waiting jobs.

Partitions that share nodes have one queue. A job's size is its largest share of any resource, in cores.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Final

import numpy as np

from dardis.config.slurm.slurm_fields import NodeRecord, SlurmSite
from dardis.model.resources import CORES, MEMORY
from dardis.predict.queue_state import QueuedJob, QueueState, RunningRequests, WaitingRequests
from dardis.predict.start_estimator import StartEstimator
from dardis.slurm.job_record import QueueChanges
from dardis.slurm.shadow_folder import ExpectedStart
from dardis.slurm.slurm_job import SlurmJob
from dardis.workload.slurm_texts import JobPhase

SEED: Final = 1
HOUR_S: Final = 3600
MOST_TASKS: Final = 2000
"""Most further waiting tasks of arrays that count as jobs ahead."""
_NO_NUMBER: Final = -1


@dataclass
class _Pool:
    capacity: dict[str, int]
    open_cores: int
    """Cores of nodes that are busy or accept jobs."""
    estimator: StartEstimator
    users: dict[str, int] = field(default_factory=dict)
    queues: dict[str, int] = field(default_factory=dict)

    def cores_of(self, amounts: Mapping[str, int]) -> int:
        cores = self.capacity.get(CORES, 0)
        shares = [amount / self.capacity[kind] for kind, amount in amounts.items() if self.capacity.get(kind)]
        return max(1, round(cores * max(shares, default=0.0)))

    def request(self, job: SlurmJob) -> QueuedJob:
        return QueuedJob(
            number=learned_number(job),
            submit=_eligible(job),
            cores=self.cores_of(job.asked),
            walltime=job.limit_s or 0,
            user=self.users.setdefault(job.user, len(self.users)),
            queue=self.queues.setdefault(f"{job.partition} {job.qos}", len(self.queues)),
        )


def _eligible(job: SlurmJob) -> int:
    return max(job.submit, job.eligible or job.submit)


def learned_number(job: SlurmJob) -> int:
    """Number under which Slurm shows the job while it waits: of its array, if any."""
    return int(job.job.partition("_")[0].partition("+")[0])


class SlurmStarts:
    """Learns from changes of the queue, and states expected starts."""

    def __init__(self, seed: int = SEED) -> None:
        self._seed = seed
        self._pools: dict[frozenset[str], _Pool] = {}
        self._pool_of: dict[str, _Pool] = {}
        self._site: SlurmSite | None = None

    def learn(self, past: Sequence[SlurmJob], site: SlurmSite, now: int) -> None:
        """Learn from recorded jobs that started, hour by hour."""
        for until, changes, jobs in _past_hours(past, now):
            self.on_changes(changes, site)
            for pool, state in self._states(jobs, until):
                pool.estimator.observe(state)

    def on_changes(self, changes: QueueChanges, site: SlurmSite) -> None:
        """Learn from starts and ends. Jobs of unknown partitions are ignored."""
        self._lay_out(site)
        for job in changes.started:
            own = self._pool(job.partition)
            if own is not None and job.start is not None:
                own.estimator.on_start(own.request(job), job.start)
            for other in self._pools.values():
                if other is not own:  # the job waited for several partitions
                    other.estimator.on_removal(learned_number(job))
        for job, end in changes.ended:
            if (of_job := self._pool(job.partition)) is not None:
                of_job.estimator.on_end(of_job.request(job), end - (job.start or end))
        for job in changes.left:
            for pool in self._pools.values():
                pool.estimator.on_removal(learned_number(job))

    def expect(self, jobs: Sequence[SlurmJob], now: int) -> Mapping[int, ExpectedStart]:
        """Expected starts of waiting jobs by number; none for held jobs and jobs of unknown partitions."""
        found: dict[int, ExpectedStart] = {}
        for pool, state in self._states(jobs, now):
            pool.estimator.observe(state)
            low, median, high = pool.estimator.estimate(state)
            for row, number in enumerate(state.waiting.number[state.waiting.number != _NO_NUMBER].tolist()):
                found.setdefault(number, ExpectedStart(now + median[row], now + low[row], now + high[row]))
        waiting = {job.number: learned_number(job) for job in jobs if _waits(job)}
        return {number: found[learned] for number, learned in waiting.items() if learned in found}

    def _states(self, jobs: Sequence[SlurmJob], now: int) -> Iterator[tuple[_Pool, QueueState]]:
        of_pools: dict[int, list[SlurmJob]] = {}
        for job in jobs:
            of_pools.setdefault(id(self._pool(job.partition)), []).append(job)
        for pool in self._pools.values():
            yield pool, _state(pool, of_pools.get(id(pool), ()), now)

    def _pool(self, partition: str) -> _Pool | None:
        return next((self._pool_of[name] for name in partition.split(",") if name in self._pool_of), None)

    def _lay_out(self, site: SlurmSite) -> None:
        """Group partitions by shared nodes. A changed group keeps what most of its partitions learned."""
        if site is self._site:
            return
        self._site = site
        before, self._pools, self._pool_of = self._pools, {}, {}
        for names, nodes in _shared_partitions(site.nodes).items():
            like = max(before, key=lambda known: len(known & names), default=frozenset())
            pool = before.pop(like) if like & names else _Pool({}, 0, StartEstimator(self._seed))
            pool.capacity = _capacity(nodes)
            pool.open_cores = sum(node.cores for node in nodes if node.state.is_busy or not node.state.closing)
            self._pools[names] = pool
            self._pool_of |= dict.fromkeys(names, pool)


def _waits(job: SlurmJob) -> bool:
    return job.phase is JobPhase.WAITS and not job.is_held


def _shared_partitions(nodes: Iterable[NodeRecord]) -> dict[frozenset[str], list[NodeRecord]]:
    sets: list[set[str]] = []
    for names in {node.partitions for node in nodes if node.partitions}:
        joined = set(names)
        apart = [one for one in sets if one.isdisjoint(joined)]
        joined.update(*(one for one in sets if not one.isdisjoint(joined)))
        sets = [*apart, joined]
    return {
        frozenset(one): [node for node in nodes if not one.isdisjoint(node.partitions)]
        for one in sorted(sets, key=sorted)
    }


def _capacity(nodes: Sequence[NodeRecord]) -> dict[str, int]:
    amounts = {CORES: sum(node.cores for node in nodes), MEMORY: sum(node.memory or 0 for node in nodes)}
    for gres in chain.from_iterable(node.gres for node in nodes):
        amounts[gres.kind] = amounts.get(gres.kind, 0) + gres.amount
    return amounts


def _state(pool: _Pool, jobs: Sequence[SlurmJob], now: int) -> QueueState:
    """Queue in Slurm's order; later waiting tasks of an array have no number."""
    running = [(pool.request(job), pool.cores_of(job.amounts), job.start) for job in jobs if job.is_running]
    ordered = sorted((job for job in jobs if _waits(job)), key=lambda job: (-job.priority, job.submit, job.number))
    waiting, more = [], MOST_TASKS
    for job in ordered:
        request = pool.request(job)
        later = min(job.tasks - 1, more)
        waiting += [request, *[request._replace(number=_NO_NUMBER)] * later]
        more -= later
    columns = np.array([tuple(job) for job in waiting], dtype=np.int64).reshape(-1, len(QueuedJob._fields)).T
    number, submit, cores, walltime, user, queue = columns
    rows = [(held, start, job.walltime, job.user) for job, held, start in running]
    of_running = np.array(rows, dtype=np.int64).reshape(-1, 4).T
    capacity = max(pool.open_cores, 1)
    submit = np.minimum(submit, now)
    return QueueState(
        now, capacity, RunningRequests(*of_running), WaitingRequests(number, submit, cores, walltime, user, queue)
    )


def _past_hours(past: Sequence[SlurmJob], now: int) -> Iterator[tuple[int, QueueChanges, list[SlurmJob]]]:
    """Each full hour with starts and ends since the hour before, and the jobs that run or wait then.

    Jobs that still wait count until `now`, so that long waits are not missed.
    """
    known = sorted(past, key=_eligible)
    present: list[SlurmJob] = []
    first = 0
    for until in range(_eligible(known[0]) + HOUR_S, now, HOUR_S) if known else ():
        while first < len(known) and _eligible(known[first]) <= until:
            present.append(known[first])
            first += 1
        since = until - HOUR_S
        begun = [job for job in present if job.start is not None and since < job.start <= until]
        over = [job for job in present if job.end is not None and job.end <= until]
        present = [job for job in present if job.end is None or job.end > until]
        ended = tuple((job, job.end) for job in over if job.end is not None and job.start is not None)
        yield until, QueueChanges(tuple(begun), ended, ()), [_as_seen(job, until) for job in present]


def _as_seen(job: SlurmJob, moment: int) -> SlurmJob:
    if job.start is None or job.start > moment:
        return job if job.start is None else replace(job, start=None, end=None, phase=JobPhase.WAITS)
    return job if job.phase is JobPhase.RUNS else replace(job, end=None, phase=JobPhase.RUNS)
