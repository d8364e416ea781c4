"""The late set-up, case by case: who goes first, who reserves, who starts beside it, and what is counted."""

from __future__ import annotations

from dataclasses import replace

import pytest
from kit.actual import actual
from kit.late_runs import run_late

from dardis.config.settings import with_settings
from dardis.model.capacity import outside_profile_reason
from dardis.model.choices import Expecting, ProfileRule
from dardis.model.errors import InputError
from dardis.model.job import ActualJob
from dardis.model.platform import NodeGroup, Platform
from dardis.model.step_function import StepFunction
from dardis.model.target import DesiredProfile, Split
from dardis.task_manager import LATE_SETUPS, LateSetUp
from dardis.task_manager.late.order import key_of

LATE = LATE_SETUPS["dardis-late"]
FOUR = Platform("four", (NodeGroup("n", 1, {"cores": 4}),))


def job_of(number: int, submit: int, walltime: int, cores: int, runtime: int | None = None, **more) -> ActualJob:
    latest, after = more.get("latest"), more.get("after")
    earliest = more.get("earliest", submit)
    return actual(number, submit, earliest, latest, walltime, 1, (cores,), 1, after=after, runtime=runtime or walltime)


def starts(*jobs: ActualJob, setup: LateSetUp = LATE, desired: DesiredProfile | None = None, **more) -> dict[int, int]:
    schedule = run_late(FOUR, jobs, setup, desired=desired, **more).schedule
    return dict(zip(schedule.number.tolist(), schedule.start.tolist(), strict=True))


def watched(*jobs: ActualJob, setup: LateSetUp = LATE) -> list[tuple[int, dict[int, int]]]:
    seen: list[tuple[int, dict[int, int]]] = []
    run_late(FOUR, jobs, setup, watch=lambda now, reserved, *_: seen.append((now, reserved)))
    return seen


def test_order_key_by_hand():
    assert [key_of(*job) for job in ((0, 100, 16), (3600, 100, 16), (0, 100, 0))] == [27.0, 31.5, 216.0]


def test_equal_keys_go_by_submission_then_number():
    found = starts(job_of(1, 0, 10, 4), job_of(5, 0, 8641, 4), job_of(4, 10, 8640, 4), job_of(3, 10, 8640, 4))
    assert found == {1: 0, 5: 10, 3: 8651, 4: 8651 + 8640}


def test_job_behind_the_head_starts_when_the_profile_rises():
    rises = DesiredProfile(FOUR, {0: StepFunction.from_steps(3, [(30, 4)])})
    assert starts(job_of(1, 0, 100, 3), job_of(2, 1, 5, 4), job_of(3, 2, 60, 1), desired=rises) == {1: 0, 2: 100, 3: 30}


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


def stream(until: int) -> list[ActualJob]:
    """A wide job, and narrow ones that keep the machine busy, each shorter and narrower than it."""
    wide = actual(1, 1, 1, None, 500, 1, (4,), 1, runtime=500)
    return sorted([wide, *(job_of(2 + i, 5 * i, 20, 1) for i in range(until // 5))], key=lambda job: job.submit)


@pytest.mark.parametrize("managers", [1, 3])
def test_old_jobs_do_not_starve(managers):
    jobs, backlog = stream(2000), 20
    wide = starts(*jobs, setup=LATE, managers=managers)[1]
    assert wide <= 1 + 2.25 * backlog + 2 * 20
    patient = starts(*jobs, setup=replace(LATE, longest_wait=10.0), managers=managers)[1]
    assert wide < patient <= 1 + 10.75 * backlog + 2 * 20


def test_messages_are_counted_by_node():
    platform = Platform("wide", (NodeGroup("n", 5, {"cores": 4}),))
    job = actual(1, 0, 0, None, 10, 2, (3,), 1, runtime=10)
    assert run_late(platform, [job], LATE).messages == 5 + 2
    assert run_late(platform, [job], LATE, cuts=(2, 3)).messages == 5 + 2


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


def test_job_without_possible_start_is_rejected_and_its_dependents_continue():
    hard = replace(LATE, profile=ProfileRule.HARD)
    jobs = job_of(1, 0, 10, 4), job_of(2, 5, 30, 2), job_of(3, 6, 5, 1, after=2), job_of(4, 7, 40, 3, after=3)
    for managers in (1, 3):
        run = run_late(FOUR, jobs, hard, desired=NEVER, managers=managers)
        assert run.reasons == {
            1: outside_profile_reason(Split.PROPORTIONAL),
            3: outside_profile_reason(Split.PROPORTIONAL),
        }
        # A change at 30, after which nothing does, is when job 2 is given up.
        assert run.schedule.start[[0, 2]].tolist() == [0, 30]


@pytest.mark.parametrize("text", ["1", "10.1", "nan", "inf", "1,5", "1_0", "", "two"])
def test_longest_wait_out_of_range_is_refused(text):
    with pytest.raises(InputError, match=r"--set longest_wait=.*expected 1\.1 to 10"):
        with_settings(LATE, [f"longest_wait={text}"])


def test_expected_runtimes_decide_who_goes_first():
    jobs = [job_of(1, 0, 100, 4), job_of(2, 1, 50, 4), job_of(3, 2, 50, 4, runtime=5)]
    found = [starts(*jobs, setup=replace(LATE, expected=how)) for how in (Expecting.WALLTIME, Expecting.REAL)]
    assert found == [{1: 0, 2: 100, 3: 150}, {1: 0, 3: 100, 2: 105}]
