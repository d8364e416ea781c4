"""How much one user may have that is not over."""

import pytest

from dardis.live.asked import After, Array, JobAsked
from dardis.live.jobs import Asker, State, Submission, new_jobs
from dardis.live.limits import MOST_BYTES, Limits
from dardis.model.errors import InputError


def handed_in(first, user, count=1, script="", **more):
    asked = JobAsked(argv=("true",), array=Array((range(1, count + 1),)), **more)
    return Submission(first, Asker(user, user, "u", ()), asked, script, {}, "/", 0)


def test_jobs_are_counted_by_user_and_only_those_that_are_not_over():
    jobs, looked = [*new_jobs(handed_in(1, 7, 3)), *new_jobs(handed_in(4, 8, 9))], []

    def open_jobs():
        looked.append(1)
        return [job for job in jobs if not job.state.is_over]

    limits = Limits(5, open_jobs)
    limits.see(handed_in(13, 7, 1))
    jobs += new_jobs(handed_in(13, 7, 1))
    limits.see(handed_in(14, 7, 1))
    jobs += new_jobs(handed_in(14, 7, 1))
    assert len(looked) == 1
    with pytest.raises(InputError, match=r"would have 6 jobs that are not over.*at most 5 jobs"):
        limits.see(handed_in(15, 7))
    with pytest.raises(InputError, match="would have 10 jobs"):
        limits.see(handed_in(15, 8))
    jobs[0].state = jobs[1].state = State.COMPLETED
    limits.see(handed_in(15, 7, 2))


@pytest.mark.parametrize(
    ("more", "most"),
    [
        ({"script": "x" * (MOST_BYTES // 3)}, 2), ({"output": "x" * (MOST_BYTES // 6)}, 2),
        ({"after": tuple(After("ok", 1) for _ in range(1000))}, MOST_BYTES // 100_100),
    ],
)  # fmt: skip
def test_long_ones_are_fewer(more, most):
    jobs = []
    limits = Limits(10_000, lambda: jobs)
    for first in range(1, most + 1):
        limits.see(handed_in(first, 7, **more))
        jobs += new_jobs(handed_in(first, 7, **more))
    with pytest.raises(InputError, match="of 64 MiB"):
        limits.see(handed_in(5000, 7, **more))
    limits.see(handed_in(5000, 8, **more))
    limits.see(handed_in(5001, 7))
    with pytest.raises(InputError, match="of 64 MiB"):
        Limits(10_000, lambda: jobs).see(handed_in(5002, 7, **more))
    del jobs[0]
    limits.see(handed_in(5003, 7, **more))
