"""Estimates when waiting jobs start, with ranges, from the site's past.

A forest predicts the remaining wait from the queue's state (`start_features`). It learns from snapshots of the queue;
jobs that still wait count as censored. Ranges are widened or narrowed until earlier ranges would have held.
"""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dardis.model.arrays import Floats
from dardis.model.randomness import stream
from dardis.predict.quantile_forest import QuantileForest, censored_quantiles, impute_censored
from dardis.predict.queue_state import QueuedJob, QueueState
from dardis.predict.start_features import QueueHistory, log_waits

MINUTE, HOUR, DAY = 60, 3_600, 86_400
SNAPSHOT_ROWS = 40
"""Most jobs learned from a snapshot."""
SNAPSHOTS, SNAPSHOT_GAPS = 100, (10 * MINUTE, 2 * HOUR)
"""In the history so far; limits of the gap between two (s)."""
TRAININGS, TRAINING_GAPS = 10, (2 * HOUR, 2 * DAY)
"""In the history so far; limits of the gap between two (s)."""
WINDOW, CALIBRATION = 120 * DAY, 60 * DAY
"""Age (s) of the oldest snapshot for training, and of the oldest for the ranges."""
MOST, FEWEST = 8_000, 100
"""Training's rows: most, and fewest with a known start."""
FLOOR = 300.0
"""Seconds added to remaining waits before their logarithm."""
WANTED = np.array([0.1, 0.93])
"""Share of earlier starts below a range's ends; above 0.9, as later waits without precedent exceed the upper end."""
FIRST_LEVELS, TRUSTED = np.array([0.05, 0.96]), 30
"""Quantiles without earlier errors; snapshots after which errors count by half."""
GRID = np.arange(1, 40) / 40
"""Levels of quantiles kept of a prediction."""


class StartEstimates(NamedTuple):
    """Seconds until each waiting job starts: 10 %, 50 % and 90 % quantile."""

    low: Floats
    median: Floats
    high: Floats


@dataclass(slots=True)
class _Snapshot:
    now: int
    rows: Floats
    remaining: Floats
    """Seconds until the start; NaN: still waits, -1: left the queue."""
    weight: float
    """Waiting jobs for each row."""
    predicted: Floats | None
    """Quantiles at `GRID` of logarithms, from the forest then."""


class StartEstimator:
    """Learns from events and states in time order; deterministic by seed."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._history = QueueHistory()
        self._draws = stream(seed, "start estimates")
        self._snapshots: deque[_Snapshot] = deque()
        self._open: defaultdict[int, list[tuple[_Snapshot, int]]] = defaultdict(list)
        """Rows of jobs that still wait, by job number."""
        self._begin: int | None = None
        self._next_snapshot = self._next_training = 0
        self._forest: QuantileForest | None = None
        self._levels = FIRST_LEVELS

    def on_start(self, job: QueuedJob, now: int) -> None:
        """Record a start."""
        self._history.on_start(job, now)
        for snapshot, row in self._open.pop(job.number, ()):
            snapshot.remaining[row] = now - snapshot.now

    def on_end(self, job: QueuedJob, ran: int) -> None:
        """Record a runtime (s)."""
        self._history.on_end(job, ran)

    def on_removal(self, number: int) -> None:
        """Record that a job left the queue without a start."""
        for snapshot, row in self._open.pop(number, ()):
            snapshot.remaining[row] = -1

    def observe(self, state: QueueState) -> None:
        """Learn from a state, if the last one is old enough."""
        if self._begin is None:
            self._begin = state.now
        elapsed = state.now - self._begin
        if state.now >= self._next_snapshot and len(state.waiting.number):
            self._next_snapshot = state.now + int(np.clip(elapsed // SNAPSHOTS, *SNAPSHOT_GAPS))
            for number in self._open.keys() - set(state.waiting.number.tolist()):
                self.on_removal(number)
            self._keep(state)
        if state.now >= self._next_training:
            self._next_training = state.now + int(np.clip(elapsed // TRAININGS, *TRAINING_GAPS))
            self._train(state.now)

    def estimate(self, state: QueueState) -> StartEstimates:
        """Estimate the starts of waiting jobs with a number; before the first training, by simulation."""
        numbered = state.waiting.number >= 0
        if not numbered.any():
            return StartEstimates(*np.zeros((3, 0)))
        rows = self._history.features(state)[numbered]
        if self._forest is None:
            simulated = rows[:, 1].astype(np.float64)
            return StartEstimates(simulated / 10, simulated, simulated * 3 + DAY)
        levels = np.array([min(self._levels[0], 0.5), 0.5, max(self._levels[1], 0.5)])
        quantiles = np.quantile(_samples(self._forest, rows), levels, axis=1)
        return StartEstimates(*np.maximum(np.exp(quantiles) - FLOOR, 0))

    def simulated_waits(self, state: QueueState) -> tuple[Floats, Floats]:
        """Waits (s) under EASY by walltimes, and by the users' last two runtimes."""
        by_walltime, by_recent = self._history.features(state)[:, :2].T.astype(np.float64)
        return by_walltime, by_recent

    def _keep(self, state: QueueState) -> None:
        numbered = np.flatnonzero(state.waiting.number >= 0)
        if not len(numbered):
            return
        chosen = np.sort(self._draws.permutation(numbered)[:SNAPSHOT_ROWS])
        rows = self._history.features(state)[chosen]
        predicted = None if self._forest is None else np.quantile(_samples(self._forest, rows), GRID, axis=1).T
        snapshot = _Snapshot(state.now, rows, np.full(len(rows), np.nan), len(numbered) / len(rows), predicted)
        self._snapshots.append(snapshot)
        while self._snapshots[0].now < state.now - WINDOW:
            self._snapshots.popleft()
            first = self._snapshots[0].now
            for number, kept in self._open.items():
                self._open[number] = [one for one in kept if one[0].now >= first]
        for row, number in enumerate(state.waiting.number[chosen].tolist()):
            self._open[number].append((snapshot, row))

    def _train(self, now: int) -> None:
        known = [snapshot for snapshot in self._snapshots if snapshot.now < now]
        if sum(int((snapshot.remaining >= 0).sum()) for snapshot in known) < FEWEST:
            return
        self._calibrate([snapshot for snapshot in known if snapshot.now >= now - CALIBRATION], now)
        rows = np.concatenate([snapshot.rows for snapshot in known])
        remaining, age, _ = _outcomes(known, now)
        kept = np.flatnonzero(remaining != -1)
        kept = np.sort(self._draws.permutation(kept)[:MOST])
        rows, remaining, age = rows[kept], remaining[kept], age[kept]
        censored = np.isnan(remaining)
        values = np.log(np.where(censored, age, remaining) + FLOOR)
        if self._forest is None:
            self._forest = self._grow(rows[~censored], values[~censored])
        if censored.any():
            values[censored] = impute_censored(_samples(self._forest, rows[censored]), values[censored], self._draws)
        self._forest = self._grow(rows, values)

    def _grow(self, rows: Floats, values: Floats) -> QuantileForest:
        return QuantileForest(rows, values, log_waits(rows), self._seed)

    def _calibrate(self, known: list[_Snapshot], now: int) -> None:
        """Choose the levels at which earlier predictions would have held `WANTED` shares."""
        known = [snapshot for snapshot in known if snapshot.predicted is not None]
        if not known:
            return
        predicted = np.concatenate([snapshot.predicted for snapshot in known if snapshot.predicted is not None])
        remaining, age, weight = _outcomes(known, now)
        kept = remaining != -1
        predicted, remaining, age, weight = predicted[kept], remaining[kept], age[kept], weight[kept]
        censored = np.isnan(remaining)
        values = np.log(np.where(censored, age, remaining) + FLOOR)
        reached = ((predicted <= values[:, None]).sum(axis=1) + 0.5) / (len(GRID) + 1)
        observed = censored_quantiles(reached, censored, weight, WANTED)
        trust = len(known) / (len(known) + TRUSTED)
        self._levels = FIRST_LEVELS + trust * (observed - FIRST_LEVELS)


def _samples(forest: QuantileForest, rows: Floats) -> Floats:
    return forest.samples(rows, log_waits(rows))


def _outcomes(known: list[_Snapshot], now: int) -> tuple[Floats, Floats, Floats]:
    """Remaining waits, ages and weights of the snapshots' rows."""
    sizes = [len(snapshot.rows) for snapshot in known]
    remaining = np.concatenate([snapshot.remaining for snapshot in known])
    age = np.repeat([float(now - snapshot.now) for snapshot in known], sizes)
    return remaining, age, np.repeat([snapshot.weight for snapshot in known], sizes)
