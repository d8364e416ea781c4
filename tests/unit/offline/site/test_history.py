from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from kit.actual import actual, asking
from kit.effort import examples
from kit.machine import jobs, platforms

from dardis.metrics.audit import audit
from offline.site.history import recorded, replayed


@st.composite
def records(draw):
    """A machine, what ran on it (under EASY), and a moment."""
    platform = draw(platforms())
    platform = replace(platform, groups=platform.groups[:1], maintenance=())
    many = [asking(job, latest=None, groups=1) for job in draw(jobs(platform))]
    return platform, many, draw(st.integers(1, 150))


@examples(0.6)
@given(records())
def test_a_record_of_this_machine_comes_back_at_its_own_starts(record):
    platform, many, now = record
    schedule = replayed(many, platform)
    ran = [job for job, there in zip(many, schedule.ran, strict=True) if there]
    waits = dict(zip(schedule.number.tolist(), (schedule.start - schedule.submit).tolist(), strict=True))
    found = recorded(ran, waits, platform, now)
    if found is None:
        return  # best-fit may need other nodes than EASY had; then the record doesn't fit
    past, ordered = found
    assert audit(past, platform, reserved=False) == []
    assert [job.number for job in ordered] == past.number.tolist()
    begun = past.start < now
    own = [waits[number] for number in past.number[begun].tolist()]
    assert (past.start - past.submit)[begun].tolist() == own  # of fewer than 50 none may be late


def test_a_wait_that_is_not_known_or_jobs_that_don_t_fit_are_no_record():
    from dardis.model.platform import NodeGroup, Platform

    platform = Platform("one", (NodeGroup("n", 1, {"cores": 1}),))
    two = [actual(number, 0, 0, None, 10, 1, (1,), 1, runtime=10) for number in (1, 2)]
    assert recorded(two, {1: 0, 2: 10}, platform, 100) is not None
    assert recorded(two, {1: 0}, platform, 100) is None
    assert recorded(two, {1: 0, 2: -1}, platform, 100) is None
    assert recorded(two, {1: 0, 2: 5}, platform, 100) is None
    assert recorded(two, {1: 0, 2: 5}, platform, 5) is not None  # what begins later is not looked at
