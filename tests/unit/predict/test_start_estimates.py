"""Estimates of starts: what they may know, that they are repeatable, and how often their ranges hold."""

from __future__ import annotations

import numpy as np
import pytest

from dardis.predict import quantile_forest, start_estimator
from dardis.predict.quantile_forest import censored_quantiles, impute_censored
from dardis.predict.queue_state import QueuedJob, QueueState, RunningRequests, WaitingRequests
from dardis.predict.start_estimator import StartEstimator
from scripts.lab.expected_starts import trace_states
from scripts.lab.expected_starts.trace_states import RecordedJobs, Replay, draw_instants

CORES = 16
HOUR, DAY = 3_600, 86_400


def fcfs_trace(days, seed=3):
    """A busy machine whose jobs start in order, without backfilling."""
    rng = np.random.default_rng(seed)
    count = days * 30
    submit = np.sort(rng.integers(0, days * DAY, count))
    cores, user = rng.integers(1, 9, count), rng.integers(0, 6, count)
    runtime = np.maximum((rng.lognormal(8.6, 0.8, count) * (1 + user / 6)).astype(np.int64), 60)
    ends = np.zeros(CORES, dtype=np.int64)
    start = np.zeros(count, dtype=np.int64)
    for job in range(count):
        ends.sort()
        start[job] = max(ends[cores[job] - 1], submit[job], start[job - 1] if job else 0)
        ends[: cores[job]] = start[job] + runtime[job]
    return RecordedJobs(cores, submit, start, start + runtime, runtime * 3, user, user % 2)


@pytest.fixture(scope="module", autouse=True)
def short_history():
    patch = pytest.MonkeyPatch()
    patch.setattr(start_estimator, "TRAINING_GAPS", (DAY, 4 * DAY))
    patch.setattr(start_estimator, "SNAPSHOT_GAPS", (HOUR, 2 * HOUR))
    patch.setattr(start_estimator, "MOST", 800)
    patch.setattr(quantile_forest, "TREES", 4)
    patch.setattr(trace_states, "TICK", HOUR)
    yield
    patch.undo()


def answers(jobs, instants, seed=1):
    return list(Replay(jobs, CORES, StartEstimator(seed)).answers(0, instants))


def test_same_history_and_seed_give_the_same_estimates_and_the_future_changes_none():
    jobs, instants = fcfs_trace(6), [2 * DAY + 5, 3 * DAY, 4 * DAY + HOUR]
    late = jobs.submit > instants[-1]
    wait = jobs.start > instants[-1]
    other = jobs._replace(
        start=jobs.start + wait * 5 * DAY,
        end=np.where(jobs.end > instants[-1], jobs.end + 7 * DAY, jobs.end),
        cores=np.where(late, 1, jobs.cores),
    )
    one, again, changed = answers(jobs, instants), answers(jobs, instants), answers(other, instants)
    assert any(len(answer.truth) for answer in one)
    assert wait[jobs.submit <= instants[-1]].any()
    assert not np.array_equal(one[-1].estimates.median, one[-1].by_recent)  # a forest answers
    for first, second, third in zip(one, again, changed, strict=True):
        assert np.array_equal(first.estimates, second.estimates)
        assert np.array_equal(first.estimates, third.estimates)


def test_quantiles_are_ordered_and_ranges_hold_about_four_fifths():
    jobs = fcfs_trace(32)
    asked = answers(jobs, draw_instants(jobs, 3 * DAY, 200, np.random.default_rng(1)))
    truth = np.concatenate([answer.truth for answer in asked])
    low, median, high = np.concatenate([answer.estimates for answer in asked], axis=1)
    assert (low >= 0).all()
    assert (low <= median).all()
    assert (median <= high).all()
    assert 0.7 < np.mean((low <= truth) & (truth <= high)) < 0.95
    easy = np.concatenate([answer.by_walltime for answer in asked])
    assert np.median(np.abs(median - truth)) < 0.7 * np.median(np.abs(easy - truth))


def no_jobs(columns):
    return [np.zeros(0, dtype=np.int64)] * columns


def test_empty_queue_and_first_state_have_estimates():
    estimator = StartEstimator(1)
    empty = QueueState(100, 4, RunningRequests(*no_jobs(4)), WaitingRequests(*no_jobs(6)))
    estimator.observe(empty)
    assert len(estimator.estimate(empty).median) == 0
    running = RunningRequests(*(np.array([number]) for number in (4, 0, 700, 0)))
    waiting = WaitingRequests(*(np.array([number]) for number in (1, 90, 2, 60, 5, 0)))
    found = estimator.estimate(QueueState(100, 4, running, waiting))
    assert found.median.tolist() == [600]
    assert found.low[0] < 600 < found.high[0]


def test_removed_jobs_teach_no_start():
    estimator = StartEstimator(1)
    numbers = np.arange(30)
    fields = (numbers, numbers, np.ones(30, dtype=np.int64), np.full(30, 60), numbers % 3, numbers * 0)
    for hour in range(12):
        waiting = WaitingRequests(*(field + hour * 30 * (place == 0) for place, field in enumerate(fields)))
        estimator.observe(QueueState(1000 + hour * HOUR, 4, RunningRequests(*no_jobs(4)), waiting))
        for number in waiting.number.tolist():
            estimator.on_removal(number)
    estimator.on_start(QueuedJob(0, 0, 1, 60, 0, 0), 13 * HOUR)
    assert estimator._forest is None


def test_censored_values_are_drawn_above_their_bounds():
    samples = np.tile(np.arange(10.0), (50, 1))
    drawn = impute_censored(samples, np.full(50, 6.5), np.random.default_rng(1))
    assert {*drawn.tolist()} == {7.0, 8.0, 9.0}
    assert (impute_censored(samples, np.full(50, 20.0), np.random.default_rng(1)) > 20).all()


def test_quantiles_move_up_by_the_mass_of_censored_values():
    values, levels = np.arange(1.0, 11.0), np.array([0.5])
    none = np.zeros(10, dtype=bool)
    assert censored_quantiles(values, none, np.ones(10), levels) == [5.0]
    assert censored_quantiles(values, values == 2, np.ones(10), levels) == [6.0]
