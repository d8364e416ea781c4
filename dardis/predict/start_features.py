"""Features of waiting jobs, from the queue's state and from what happened before."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterator

import numpy as np

from dardis.kernels.easy_starts import simulate_easy
from dardis.model.arrays import Floats, Ints
from dardis.predict.queue_state import QueuedJob, QueueState

DAY, WEEK = 86_400.0, 7 * 86_400.0
SHORT = 60.0
"""Seconds added to waits before their logarithm."""
WAIT_SHARE = {"user": 0.2, "queue": 0.05, "request": 0.1, "site": 0.02}
"""Weight of a new wait in the mean of earlier waits of the same …"""
STARTED = 50_000
"""Most started jobs of which the submit is kept."""


class StartRates:
    """Starts a day by code, in a decaying week, and the decaying mean of their logarithmic waits."""

    def __init__(self, share: float) -> None:
        self._share = share
        self._count, self._since, self._wait, self._last = np.zeros((4, 0))

    def _grow(self, codes: int) -> None:
        more = max(codes - len(self._count), 0)
        if more:
            self._count, self._since = np.pad(self._count, (0, more)), np.pad(self._since, (0, more))
            self._wait = np.pad(self._wait, (0, more), constant_values=-1)
            self._last = np.pad(self._last, (0, more), constant_values=-np.inf)

    def add(self, code: int, wait: float, now: int) -> None:
        """Record a start after a logarithmic wait."""
        self._grow(code + 1)
        self._count[code] = self._count[code] * np.exp((self._since[code] - now) / WEEK) + 1
        self._since[code] = self._last[code] = now
        before = self._wait[code]
        self._wait[code] = wait if before < 0 else before + self._share * (wait - before)

    def columns(self, codes: Ints, now: int) -> tuple[Floats, Floats, Floats]:
        """Starts a day, mean logarithmic wait (-1: none), and time since the last start, by job."""
        self._grow(int(codes.max(initial=-1)) + 1)
        daily = self._count[codes] * np.exp((self._since[codes] - now) / WEEK) * (DAY / WEEK) + 1e-3
        return daily, self._wait[codes], np.minimum(now - self._last[codes], 1e9)


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
        kind = int(_request_codes(np.array([job.cores]), np.array([job.walltime]))[0])
        codes = {"user": job.user, "queue": job.queue, "request": kind, "site": 0}
        for group, code in codes.items():
            self._rates[group].add(code, wait, now)

    def on_end(self, job: QueuedJob, ran: int) -> None:
        """Record a runtime (s)."""
        self._recent = _grown(self._recent, job.user + 1)
        self._recent[job.user] = ran, self._recent[job.user, 0]
        self._longest = max(self._longest, ran)
        self._ran += ran
        self._asked += job.walltime or ran

    def _runtimes(self, user: Ints, walltime: Ints, elapsed: Ints) -> Ints:
        """Mean of the user's last two jobs, else the usual share of the walltime; twice `elapsed` if exceeded."""
        self._recent = _grown(self._recent, int(user.max(initial=-1)) + 1)
        last, older = self._recent[user].T
        share = self._ran / self._asked if self._asked else 1.0
        expected = np.where(older >= 0, (last + older) // 2, np.where(last >= 0, last, walltime * share))
        expected = np.where(elapsed >= expected, 2 * elapsed, expected)
        return np.clip(expected.astype(np.int64), np.maximum(np.minimum(elapsed + 1, walltime), 1), walltime)

    def features(self, state: QueueState) -> Floats:
        """One row a waiting job; the first column is the EASY wait by walltimes, the second by recent runtimes."""
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
        size, work = cores / capacity, cores * runtime / capacity
        columns = [*simulated, now - waiting.submit, size, walltime, runtime]
        columns += [(capacity - used) / capacity, (running.cores * np.maximum(left, 1)).sum() / capacity]
        columns += [len(cores), work.sum(), now % DAY // 3600, now // DAY % 7, waiting.queue]
        columns += self._of_groups(state, size * walltime, work)
        ran = np.bincount(running.user, minlength=int(waiting.user.max(initial=-1)) + 1)
        held = np.bincount(running.user, running.cores, len(ran)) / capacity
        columns += [ran[waiting.user], held[waiting.user], np.bincount(waiting.user)[waiting.user]]
        overtaken = len(self._submits) - np.array([bisect_right(self._submits, at) for at in waiting.submit.tolist()])
        columns += [overtaken, overtaken / np.maximum(overtaken + len(cores) - 1 - np.arange(len(cores)), 1)]
        return np.column_stack([np.broadcast_to(column, cores.shape) for column in columns]).astype(np.float32)

    def _of_groups(self, state: QueueState, asked: Floats, work: Floats) -> Iterator[Floats]:
        """Jobs and work ahead in the same group, and what is known of the group's starts."""
        waiting = state.waiting
        everyone = np.zeros_like(waiting.user)
        groups = {"user": waiting.user, "queue": waiting.queue, "site": everyone}
        for group, codes in groups.items():
            daily, wait, since = self._rates[group].columns(codes, state.now)
            ahead = _ahead(codes, np.ones(len(codes)))
            yield from (ahead, daily, (ahead + 1) / daily, wait)
            if group == "user":
                yield from (since, _ahead(codes, work))
        yield from (_ahead(everyone, asked), _ahead(everyone, work))
        yield self._rates["request"].columns(_request_codes(waiting.cores, waiting.walltime), state.now)[1]


def _grown(table: Ints, rows: int) -> Ints:
    return table if rows <= len(table) else np.pad(table, ((0, rows - len(table)), (0, 0)), constant_values=-1)


def _request_codes(cores: Ints, walltime: Ints) -> Ints:
    """Code of similar requests: powers of two of cores and of walltimes."""
    return np.log2(np.maximum(cores, 1)).astype(np.int64) * 32 + np.log2(np.maximum(walltime, 1)).astype(np.int64)


def _ahead(codes: Ints, amounts: Floats) -> Floats:
    """Sum of the amounts of earlier entries with the same code."""
    order = np.argsort(codes, kind="stable")
    sums = np.cumsum(amounts[order]) - amounts[order]
    first = np.concatenate([[True], np.diff(codes[order]) != 0])[: len(codes)]
    begin = np.maximum.accumulate(np.where(first, np.arange(len(codes)), 0))
    result = np.empty(len(codes))
    result[order] = sums - sums[begin]
    return result
