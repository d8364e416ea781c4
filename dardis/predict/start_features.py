"""Features of waiting jobs, from the queue's state and its past."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from dardis.kernels.easy_starts import simulate_easy
from dardis.model.arrays import Floats, Ints
from dardis.predict.queue_state import QueuedJob, QueueState

Number = TypeVar("Number", bound=np.generic)
HOUR, DAY, WEEK = 3_600.0, 86_400.0, 7 * 86_400.0
SHORT = 60.0
"""Seconds added to waits before their logarithm."""
WAIT_SHARE = {"user": 0.2, "queue": 0.05}
"""Weight of a new wait in the mean of earlier waits."""
UNKNOWN_STARTS = 1.0
"""Starts a day added to each user's, as any user may start."""
STARTED = 50_000
"""Most started jobs whose submit is kept."""


class StartRates:
    """Starts a day by code, in a decaying week, and decaying mean logarithmic waits."""

    def __init__(self, share: float) -> None:
        self._share = share
        self._rates = np.zeros((0, 3))
        """Decayed count, its time, and mean wait (-1: none)."""

    def add(self, code: int, wait: float, now: int) -> None:
        """Record a start after a logarithmic wait."""
        self._rates = _grown(self._rates, code + 1)
        count, since, before = self._rates[code]
        decayed = max(count, 0) * np.exp((since - now) / WEEK) + 1
        self._rates[code] = decayed, now, wait if before < 0 else before + self._share * (wait - before)

    def columns(self, codes: Ints, now: int) -> tuple[Floats, Floats]:
        """Starts a day, and mean logarithmic wait (-1: none), by job."""
        self._rates = _grown(self._rates, int(codes.max(initial=-1)) + 1)
        count, since, wait = self._rates[codes].T
        return np.maximum(count, 0) * np.exp((since - now) / WEEK) * (DAY / WEEK), wait


class QueueHistory:
    """Starts and runtimes of earlier jobs, as features of waiting jobs."""

    def __init__(self) -> None:
        self._rates = {group: StartRates(share) for group, share in WAIT_SHARE.items()}
        self._submits: list[int] = []
        """Submits of started jobs, sorted."""
        self._recent = np.full((0, 2), -1, dtype=np.int64)
        """Runtimes (s) of each user's last two jobs, newest first."""
        self._ran = self._asked = 0
        self._longest = 3600

    def on_start(self, job: QueuedJob, now: int) -> None:
        """Record a start."""
        insort(self._submits, job.submit)
        del self._submits[:-STARTED]
        wait = float(np.log(max(now - job.submit, 0) + SHORT))
        self._rates["user"].add(job.user, wait, now)
        self._rates["queue"].add(job.queue, wait, now)

    def on_end(self, job: QueuedJob, ran: int) -> None:
        """Record a runtime (s)."""
        self._recent = _grown(self._recent, job.user + 1)
        self._recent[job.user] = ran, self._recent[job.user, 0]
        self._longest = max(self._longest, ran)
        self._ran += ran
        self._asked += job.walltime or ran

    def _runtimes(self, user: Ints, walltime: Ints, elapsed: Ints) -> Ints:
        """As `LastTwoRuntimes`; twice `elapsed` if exceeded."""
        self._recent = _grown(self._recent, int(user.max(initial=-1)) + 1)
        last, older = self._recent[user].T
        share = self._ran / self._asked if self._asked else 1.0
        expected = np.where(older >= 0, (last + older) // 2, np.where(last >= 0, last, walltime * share))
        expected = np.where(elapsed >= expected, 2 * elapsed, expected)
        return np.clip(expected.astype(np.int64), np.maximum(np.minimum(elapsed + 1, walltime), 1), walltime)

    def features(self, state: QueueState) -> Floats:
        """One row a waiting job.

        First the EASY wait by walltimes and by recent runtimes, and the wait by the user's rate of starts.
        """
        now, running, waiting = state.now, state.running, state.waiting
        limit = np.where(running.walltime > 0, running.walltime, self._longest)
        walltime = np.where(waiting.walltime > 0, waiting.walltime, self._longest)
        runtime = self._runtimes(waiting.user, walltime, np.zeros_like(walltime))
        left = self._runtimes(running.user, limit, now - running.start) + running.start - now
        used = int(running.cores.sum())
        capacity = max(state.capacity, used, 1)
        cores = np.minimum(waiting.cores, capacity)
        simulated = [
            simulate_easy(now, capacity - used, np.maximum(ends, now + 1), running.cores, cores, spans) - now
            for ends, spans in ((running.start + limit, walltime), (now + left, runtime))
        ]
        work = cores * runtime / capacity
        daily = self._rates["user"].columns(waiting.user, now)[0]
        turn = (_ahead(waiting.user, np.ones(len(cores))) + 1) / (daily + UNKNOWN_STARTS) * DAY
        columns = [*simulated, turn, now - waiting.submit, cores / capacity, walltime]
        same = [float(len(cores)), work.sum(), now % DAY // 3600, now // DAY % 7]
        columns += [*(np.full(len(cores), number) for number in same), waiting.queue]
        columns += self._of_groups(state, work)
        ran = np.bincount(running.user, minlength=int(waiting.user.max(initial=-1)) + 1)
        held = np.bincount(running.user, running.cores, len(ran)) / capacity
        columns += [ran[waiting.user], held[waiting.user], np.bincount(waiting.user)[waiting.user]]
        started = len(self._submits) - np.searchsorted(self._submits, waiting.submit, side="right")
        later = np.arange(len(cores))[::-1]
        columns.append(started / np.maximum(started + later, 1))
        return np.column_stack(columns).astype(np.float32)

    def _of_groups(self, state: QueueState, work: Floats) -> Iterator[Floats]:
        """Jobs and work ahead, and earlier waits of the user and queue."""
        waiting = state.waiting
        jobs, site = np.ones(len(work)), np.zeros_like(waiting.user)
        yield from (_ahead(site, jobs), _ahead(site, work), _ahead(waiting.user, work))
        for group, codes in (("user", waiting.user), ("queue", waiting.queue)):
            yield from (_ahead(codes, jobs), self._rates[group].columns(codes, state.now)[1])


def log_waits(rows: Floats) -> Floats:
    """Logarithm of the wait by simulation or by the user's starts, whichever is longer."""
    longer: Floats = np.log(np.maximum(rows[:, 1], rows[:, 2]).astype(np.float64) + HOUR)
    return longer


def _grown(table: NDArray[Number], rows: int) -> NDArray[Number]:
    return table if rows <= len(table) else np.pad(table, ((0, rows - len(table)), (0, 0)), constant_values=-1)


def _ahead(codes: Ints, amounts: Floats) -> Floats:
    """Sum of the amounts of earlier entries with the same code."""
    order = np.argsort(codes, kind="stable")
    sums = np.cumsum(amounts[order]) - amounts[order]
    first = np.concatenate([[True], np.diff(codes[order]) != 0])[: len(codes)]
    begin = np.maximum.accumulate(np.where(first, np.arange(len(codes)), 0))
    result = np.empty(len(codes))
    result[order] = sums - sums[begin]
    return result
