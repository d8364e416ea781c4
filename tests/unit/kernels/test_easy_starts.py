"""Starts under EASY on summed cores, against one array entry a second."""

from __future__ import annotations

import numpy as np
import pytest

from dardis.kernels.easy_starts import simulate_easy
from dardis.model.job import FOREVER


def easy_second_by_second(free, ends, held, cores, spans, until=400):
    """EASY from second 0: every second, start jobs in order; jobs behind the first blocked one must not delay it."""
    starts, running = [FOREVER] * len(cores), list(zip(ends, held, strict=True))
    waiting = list(range(len(cores)))
    for now in range(until):
        free += sum(taken for end, taken in running if end == now)
        running = [(end, taken) for end, taken in running if end > now]
        blocked = None
        for job in list(waiting):
            if cores[job] <= free and (blocked is None or not delays(blocked, now, free, running, cores, spans, job)):
                starts[job], free = now, free - cores[job]
                running.append((now + spans[job], cores[job]))
                waiting.remove(job)
            elif blocked is None:
                blocked = job
    return starts


def first_fit(need, now, free, running):
    """First second with `need` free cores, if nothing else starts."""
    for second in range(now, 1000):
        if free + sum(taken for end, taken in running if end <= second) >= need:
            return second
    return 1000


def delays(blocked, now, free, running, cores, spans, job):
    after = [*running, (now + spans[job], cores[job])]
    reserved = first_fit(cores[blocked], now, free, running)
    return first_fit(cores[blocked], now, free - cores[job], after) > reserved


@pytest.mark.parametrize("seed", range(40))
def test_starts_equal_those_found_second_by_second(seed):
    rng = np.random.default_rng(seed)
    running, waiting = int(rng.integers(0, 5)), int(rng.integers(1, 9))
    held, ends = rng.integers(1, 4, running), rng.integers(1, 20, running)
    free = int(rng.integers(0, 5))
    cores, spans = rng.integers(1, max(free + int(held.sum()), 1) + 1, waiting), rng.integers(1, 15, waiting)
    found = simulate_easy(0, free, ends, held, cores, spans)
    if free + held.sum() == 0:
        assert (found == FOREVER).all()
        return
    assert found.tolist() == easy_second_by_second(free, ends.tolist(), held.tolist(), cores.tolist(), spans.tolist())


def test_job_wider_than_the_machine_never_starts_and_holds_no_other_back():
    found = simulate_easy(7, 2, np.array([9]), np.array([2]), np.array([5, 3, 1]), np.array([1, 1, 1]))
    assert found.tolist() == [FOREVER, 9, 7]
