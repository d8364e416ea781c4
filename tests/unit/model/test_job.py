import pytest
from kit.actual import actual

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
