from dataclasses import replace

import pytest
from kit.actual import actual

from dardis.model.shapes import Part, Request

GOOD = {
    "number": 1, "submit": 5, "earliest": 5, "latest": None, "walltime": 10, "runtime": 4, "units": 1,
    "request": (1, 0), "groups": 1,
}  # fmt: skip


@pytest.mark.parametrize(("runtime", "duration"), [(4, 4), (10, 10), (11, 10)])
def test_a_job_is_cut_at_its_walltime(runtime, duration):
    assert actual(**GOOD | {"runtime": runtime}).duration == duration


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"units": 0}, "at least 1"),
        ({"walltime": 0}, "at least 1"),
        ({"runtime": 0}, "at least 1"),
        ({"earliest": 4}, "before its submission"),
        ({"request": (0, 0)}, "must ask for something"),
        ({"request": (2, -1)}, "must ask for something"),
    ],
)
def test_senseless_jobs_are_refused(change, complaint):
    with pytest.raises(ValueError, match=complaint):
        actual(**GOOD | change)


PART = Part(2, (1, 0), 1)


def test_a_job_of_several_requests_is_the_first_until_another_is_taken():
    first, second = Request((PART, Part(1, (0, 3), 2)), 10), Request((Part(5, (2, 1), 3, 4),), 20, contiguous=True)
    job = actual(**GOOD | {"units": 3}, requests=(first, second))
    assert (job.asked.amounts, second.amounts) == ((2, 3), (10, 5))
    assert job.taking(0).asked.requests == (first,)
    job = replace(job, runtimes=(4, 25))
    taken = job.taking(1)
    assert (taken.walltime, taken.units, taken.request, taken.groups) == (20, 5, (2, 1), 3)
    assert (taken.duration, taken.runtime, taken.asked.requests) == (20, 25, (second,))
    assert taken.taking(0) is taken


@pytest.mark.parametrize(
    "senseless",
    [
        lambda: Part(0, (1,), 1),
        lambda: Part(2, (1,), 1, 3),
        lambda: Part(2, (1,), 1, -1),
        lambda: Part(2, (0, 0), 1),
        lambda: Part(2, (1, -1), 1),
        lambda: Request((), 10),
        lambda: Request((PART,), 0),
        lambda: actual(**GOOD | {"units": 2, "walltime": 11}, requests=(Request((PART,), 10),)),
        lambda: actual(**GOOD | {"units": 1}, requests=(Request((PART,), 10),)),
        lambda: replace(actual(**GOOD), runtimes=(4, 0)),
    ],
)
def test_senseless_requests_are_refused(senseless):
    with pytest.raises(ValueError, match=r"at least|must ask|not those"):
        senseless()
