"""The late set-up, case by case: who goes first, who reserves, who starts beside it, and what is counted."""

from __future__ import annotations

from dataclasses import replace

import pytest
from kit.actual import actual, asking
from kit.late import run_late

from dardis.model.capacity import outside_desired
from dardis.model.choices import ProfileRule
from dardis.model.errors import ProtocolError
from dardis.model.job import FOREVER, Actual
from dardis.model.platform import NodeGroup, Platform
from dardis.model.profile import StepFunction
from dardis.model.target import DesiredProfile, Split
from dardis.task_manager import LATE_SETUPS, LateByTurns, LateSetUp
from dardis.task_manager.layout import layout_of
from dardis.wire.effects import Rejected
from dardis.wire.messages import Reserved

LATE = LATE_SETUPS["dardis-late"]
FOUR = Platform("four", (NodeGroup("n", 1, {"cores": 4}),))


def job_of(number: int, submit: int, walltime: int, cores: int, runtime: int | None = None, **more) -> Actual:
    latest, after = more.get("latest"), more.get("after")
    earliest = more.get("earliest", submit)
    return actual(number, submit, earliest, latest, walltime, 1, (cores,), 1, after=after, runtime=runtime or walltime)


def starts(*jobs: Actual, setup: LateSetUp = LATE, desired: DesiredProfile | None = None, **more) -> dict[int, int]:
    schedule = run_late(FOUR, jobs, setup, desired=desired, **more).schedule
    return dict(zip(schedule.number.tolist(), schedule.start.tolist(), strict=True))


def watched(*jobs: Actual, setup: LateSetUp = LATE) -> list[tuple[int, dict[int, int]]]:
    seen: list[tuple[int, dict[int, int]]] = []
    run_late(FOUR, jobs, setup, watch=lambda now, reserved, *_: seen.append((now, reserved)))
    return seen


def test_equals_go_by_submission_then_number():
    found = starts(job_of(1, 0, 10, 4), job_of(3, 1, 5, 4), job_of(2, 2, 5, 4), job_of(4, 2, 5, 4))
    assert found == {1: 0, 3: 10, 2: 15, 4: 20}


def test_a_better_new_job_takes_the_heads_place():
    jobs = [job_of(1, 0, 100, 4), job_of(2, 1, 50, 4), job_of(3, 5, 10, 4), job_of(4, 6, 60, 4)]
    assert watched(*jobs) == [
        (0, {}),
        (1, {2: 100}),
        (5, {3: 100}),
        (6, {3: 100}),
        (100, {2: 110}),
        (110, {4: 160}),
        (160, {}),
        (220, {}),
    ]


def stream(until: int) -> list[Actual]:
    """A wide job, and narrow ones that keep the machine busy, each shorter and narrower than it."""
    wide = actual(1, 1, 1, None, 500, 1, (4,), 1, runtime=500)
    return sorted([wide, *(job_of(2 + i, 5 * i, 20, 1) for i in range(until // 5))], key=lambda job: job.submit)


@pytest.mark.parametrize("managers", [1, 3])
def test_nobody_starves(managers):
    """It starts when what runs as it grows old has ended; without an age, or a head's place, when all is over."""
    until, aged_after, work = 2000, 400, 500 + 20
    setup = replace(LATE, aged_after_s=aged_after)
    assert starts(*stream(until), setup=setup, managers=managers)[1] <= 1 + aged_after + work + 2 * 20
    assert starts(*stream(until), setup=replace(LATE, aged_after_s=FOREVER >> 1), managers=managers)[1] >= until - 5


def test_claims_and_asks_after_the_first_are_counted():
    first, head, other = job_of(1, 0, 50, 4, runtime=20), job_of(2, 1, 30, 4), job_of(3, 2, 99, 4)
    # The head asks and claims at 1, and claims when job 1 ends early; so do job 3 then, and when job 2 ends.
    assert run_late(FOUR, [first, head], LATE).renegotiations == 1
    assert run_late(FOUR, [first, head, other], LATE).renegotiations == 2
    # A deadline, or an earliest start, of job 3 is a reason for all to try again: the head asks and claims once more.
    late = asking(other, earliest=10)
    assert run_late(FOUR, [first, head, late], LATE).renegotiations == 4


NOTHING_UNTIL_60 = DesiredProfile(FOUR, {0: StepFunction.from_steps(0, [(60, 4)])})
NEVER = DesiredProfile(FOUR, {0: StepFunction.from_steps(4, [(30, 1)])})


def test_a_soft_profile_binds_until_the_deadline():
    jobs = job_of(1, 0, 10, 1), job_of(2, 0, 10, 2, latest=70), job_of(3, 0, 10, 1, latest=25)
    found = starts(*jobs, desired=NOTHING_UNTIL_60)
    assert found == {1: 60, 2: 60, 3: 25}
    # A head that can't keep its deadline otherwise goes over the profile at once.
    assert starts(jobs[2], desired=NOTHING_UNTIL_60) == {3: 0}
    hard = replace(LATE, profile=ProfileRule.HARD)
    assert starts(*jobs, desired=NOTHING_UNTIL_60, setup=hard) == {1: 60, 2: 60, 3: 60}
    assert starts(*jobs, desired=NOTHING_UNTIL_60, setup=replace(LATE, profile=ProfileRule.OFF)) == dict.fromkeys(
        (1, 2, 3), 0
    )


def test_who_finds_no_start_any_more_is_given_up_and_its_followers_go_on():
    hard = replace(LATE, profile=ProfileRule.HARD)
    jobs = job_of(1, 0, 10, 4), job_of(2, 5, 30, 2), job_of(3, 6, 5, 1, after=2), job_of(4, 7, 40, 3, after=3)
    for managers in (1, 3):
        run = run_late(FOUR, jobs, hard, desired=NEVER, managers=managers)
        assert run.reasons == {1: outside_desired(Split.PROPORTIONAL), 3: outside_desired(Split.PROPORTIONAL)}
        # A change at 30, after which nothing does, is when job 2 is given up.
        assert run.schedule.start[[0, 2]].tolist() == [0, 30]


def test_what_no_machine_holds_is_rejected_with_the_reason():
    (effect,) = LateByTurns(LATE, layout_of(FOUR, (0, 1), None), 1).submit(job_of(1, 0, 10, 5).asked, 0)
    assert isinstance(effect, Rejected)
    assert effect.reason == "asks for 1 units of (5 cores); the machine holds 0"


def test_an_answer_to_nothing_asked_is_a_defect():
    with pytest.raises(ProtocolError, match="out of turn"):
        LateByTurns(LATE, layout_of(FOUR, (0, 1), None), 1).handle(Reserved(1, 1, 0), 0)
