"""Since when a history tells of all jobs."""

import numpy as np
import pytest

from offline.site.calendar import DAY_S
from offline.site.record import known_ends, record_begins

SUBMIT = np.array([0, 40, 50, 60]) * DAY_S


@pytest.mark.parametrize(
    ("end", "now", "day"),
    [([90, 41, 51, 61], 70, 40), ([90, 41, 51, 61], 40, 0), ([1, 41, 51, 61], 70, 0), ([42, 49, 51, 61], 70, 41)],
    ids=["one runs since long before", "nothing has ended", "all that came", "the first end is of an old job"],
)
def test_a_record_begins_about_when_the_first_in_it_ends(end: list[int], now: int, day: int) -> None:
    assert record_begins(SUBMIT, np.array(end) * DAY_S, now * DAY_S) == day * DAY_S


def test_a_job_whose_wait_is_not_known_began_at_once() -> None:
    assert known_ends(np.array([5, 5]), np.array([-1, 2]), np.array([10, 10])).tolist() == [15, 17]
