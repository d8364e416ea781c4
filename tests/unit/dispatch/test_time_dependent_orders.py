"""Orders that see the clock: their numbers worked out by hand, and a queue that changes its order as time goes by."""

from dataclasses import replace

import numpy as np
import pytest
from kit.actual import actual
from kit.central_runs import dispatch, setup_of

from dardis.dispatch.queue_orders import TIMED_ORDERS, MultifactorWeights, WaitingJobs, sort_numbers
from dardis.model.errors import ProtocolError
from dardis.model.platform import NodeGroup, Platform
from dardis.model.queues import Queue

TEN = Platform("ten", (NodeGroup("n", 1, {"cores": 10}),))
RANKED = replace(TEN, queues=(Queue("slow", priority=-1), Queue("fast", priority=7)))


def who(levels=(2, 1)):
    """Two jobs, submitted 1000 and 1050 s after the first, which have waited for 50 and 0 s."""
    rows = [(1, 1000, 0, 500, 100, 1, 8, levels[0]), (2, 1050, 0, 500, 10, 1, 1, levels[1])]
    return WaitingJobs(np.array(rows, dtype=float), list, 1050, 0)


WHO = who()


@pytest.mark.parametrize(
    ("name", "weights", "expected"),
    [
        ("wfp3", MultifactorWeights(), [-(0.5**3 * 8), 0]),
        ("unicef", MultifactorWeights(), [-50 / (3 * 100), 0]),
        ("f1", MultifactorWeights(), [2 * 8 + 870 * 3, 1 + 870 * np.log10(1050)]),
        ("multifactor", MultifactorWeights(age=10, size=100, queue=6, max_age_s=200), [-(2.5 + 80 + 6), -10]),
        ("multifactor", MultifactorWeights(age=10, size=100, max_age_s=20, small=True), [-(10 + 20), -90]),
    ],
)
def test_priorities_equal_hand_computed_values(name, weights, expected):
    assert TIMED_ORDERS[name][1](weights, RANKED).sort_keys(WHO) == pytest.approx(expected)


def test_a_queue_counts_its_priority_over_the_largest():
    near = replace(TEN, queues=(Queue("a", priority=90), Queue("b", priority=95), Queue("c", priority=100)))

    weights = MultifactorWeights(age=0, size=0, queue=100)
    assert TIMED_ORDERS["multifactor"][1](weights, near).sort_keys(who((1, 3))) == pytest.approx([-90, -100])


def test_tuples_of_any_length_are_ranked():
    assert sort_numbers([(1, 2), (1,)], WHO).tolist() == [1, 0]
    with pytest.raises(ProtocolError, match="keys have no order"):
        sort_numbers([(1,), 2], WHO)


def job(number, submit, walltime, cores, queue=""):
    return actual(number, submit, submit, None, walltime, 1, (cores,), 1, runtime=walltime, queue=queue)


def starts(platform, jobs, name, *settings):
    return dispatch(platform, jobs, setup_of(name, *settings)).schedule.start.tolist()


FILLED = job(1, 0, 100, 10)


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("wfp3", [0, 130, 100]),  # at 100 s (99 / 100)³ · 10 against (50 / 30)³ · 10
        ("unicef", [0, 130, 100]),
        ("f1", [0, 100, 200]),  # who came sooner
        ("multifactor", [0, 100, 200]),
    ],
)
def test_longer_wait_per_request_goes_first(order, expected):
    jobs = [FILLED, job(2, 1, 100, 10), job(3, 50, 30, 10)]
    assert starts(TEN, jobs, "rules-fcfs", f"order={order}") == expected


def test_job_that_becomes_first_starts_without_an_event():
    jobs = [job(1, 0, 1000, 5), job(2, 1, 1000, 6), job(3, 2, 10, 2), job(4, 60, 500, 10)]
    assert starts(TEN, jobs, "rules-fcfs", "order=wfp3")[2] == 60
    assert starts(TEN, jobs, "rules-fcfs")[2] == 1000


def test_priorities_of_queues_go_first_or_into_the_sum():
    jobs = [FILLED, job(2, 1, 10, 10, "slow"), job(3, 99, 10, 10, "fast")]
    by_age = ("order=multifactor", "size_weight=0", "max_age_s=100")
    assert starts(RANKED, jobs, "rules-fcfs", *by_age) == [0, 110, 100]
    assert starts(RANKED, jobs, "rules-fcfs", *by_age, "queue_weight=10") == [0, 100, 110]
    assert starts(RANKED, jobs, "rules-fcfs", *by_age, "queue_weight=5000") == [0, 110, 100]
