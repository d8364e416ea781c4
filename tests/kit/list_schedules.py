"""Plans on sums over nodes as the kernels keep them, and the same by one array entry a second."""

from __future__ import annotations

import numpy as np

from dardis.kernels.list_schedule import PlanBuffers, make_plan_buffers
from dardis.model.job import FOREVER

SECONDS = 250
"""Nothing changes after these."""


def dense(time: np.ndarray, value: np.ndarray) -> np.ndarray:
    """Steps as an array of shape (seconds, columns); before the first step there is nothing."""
    free = np.zeros((SECONDS, value.shape[1]), dtype=np.int64)
    for moment, row in zip(time.tolist(), value, strict=True):
        free[max(moment, 0) :] = row
    return free


def first_start(free: np.ndarray, now: int, need: np.ndarray, span: int) -> int:
    """The first second from which on there is enough of what it needs; FOREVER: never."""
    for start in range(now, SECONDS):
        if ((free[start : start + span] >= need) | (need == 0)).all():
            return start if start + span <= SECONDS else FOREVER
    return FOREVER


def list_schedule(free: np.ndarray, now: int, need: np.ndarray, span: np.ndarray, order: list[int]) -> list[int]:
    """Let each in turn start as early as it can."""
    left, starts = free.copy(), [FOREVER] * len(order)
    for job in order:
        starts[job] = start = first_start(left, now, need[job], int(span[job]))
        if start != FOREVER:
            left[start : start + span[job]] -= need[job]
    return starts


def cost_of_all(ahead: PlanBuffers, starts: list[int], now: int) -> float:
    return sum(weight * (start - now) for weight, start in zip(ahead.weight, starts, strict=True) if start != FOREVER)


def drawn(seed: int, count: int = 7, columns: int = 2) -> tuple[PlanBuffers, np.ndarray]:
    """A plan of `count` jobs, some too large, on a profile of a few steps from second 5 on, and it by the second."""
    rng = np.random.default_rng(seed)
    steps = int(rng.integers(1, 9))
    ahead = make_plan_buffers(np.array([0]), np.full((1, columns), 8), count, 4 * count)
    ahead.time[0, :steps] = 5 + np.concatenate([[0], np.sort(rng.choice(np.arange(1, 60), steps - 1, replace=False))])
    ahead.value[0, :steps] = rng.integers(-1, 9, (steps, columns))
    ahead.steps[0] = steps
    ahead.need[:] = rng.integers(0, 10, (count, columns)) * (rng.random((count, columns)) < 0.8)
    ahead.span[:] = rng.integers(1, 25, count)
    ahead.weight[:] = rng.random(count)
    ahead.order[:] = rng.permutation(count)
    ahead.slots[:] = np.arange(count)
    return ahead, dense(ahead.time[0, :steps], ahead.value[0, :steps])
