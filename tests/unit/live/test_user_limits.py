"""Limits of a user, and numbers of jobs seen under load."""

import asyncio

import pytest
from kit.waiting import in_loop

from dardis.live import user_limits as limits_module
from dardis.live.job_option_texts import Array
from dardis.live.job_request import JobRequest
from dardis.live.journal import JournalError
from dardis.live.live_jobs import JobUser, LiveJobState, Submission, new_jobs
from dardis.live.machine import machine_of_platform
from dardis.live.service import Service
from dardis.live.user_limits import UserLimits
from dardis.model.errors import InputError
from dardis.model.platform import NodeGroup, Platform


def handed_in(first, user, count=1, script="", **more):
    asked = JobRequest(argv=("true",), array=Array((range(1, count + 1),)), **more)
    return Submission(first, JobUser(user, user, "u", ()), asked, script, {}, "/", 0)


def test_unfinished_jobs_are_counted_by_user():
    jobs, looked = [*new_jobs(handed_in(1, 7, 3)), *new_jobs(handed_in(4, 8, 9))], []

    def open_jobs():
        looked.append(1)
        return [job for job in jobs if not job.state.is_over]

    limits = UserLimits(5, open_jobs)
    limits.add(handed_in(13, 7, 1))
    jobs += new_jobs(handed_in(13, 7, 1))
    limits.add(handed_in(14, 7, 1))
    jobs += new_jobs(handed_in(14, 7, 1))
    assert len(looked) == 1
    with pytest.raises(InputError, match=r"would have 6 unfinished jobs.*at most 5 jobs"):
        limits.add(handed_in(15, 7))
    with pytest.raises(InputError, match="would have 10 unfinished jobs"):
        limits.add(handed_in(15, 8))
    jobs[0].state = jobs[1].state = LiveJobState.COMPLETED
    limits.add(handed_in(15, 7, 2))


def test_total_text_size_of_a_user_is_limited(monkeypatch):
    monkeypatch.setattr(limits_module, "MOST_BYTES", 10_000)
    jobs = []
    limits = UserLimits(100, lambda: jobs)
    for first, more in enumerate(({"script": "x" * 3000}, {"output": "x" * 3000}), 1):
        limits.add(handed_in(first, 7, **more))
        jobs += new_jobs(handed_in(first, 7, **more))
    with pytest.raises(InputError, match="at most 100 jobs, of 0 MiB"):
        limits.add(handed_in(3, 7, script="x" * 3000))
    limits.add(handed_in(3, 8, script="x" * 3000))
    del jobs[0]
    limits.add(handed_in(4, 7, script="x" * 3000))


MACHINE = machine_of_platform(Platform("m", (NodeGroup("a", 1, {"cores": 1}),)), ["here"])


@in_loop
async def test_job_number_seen_before_its_commit_is_not_reused(tmp_path, journal):
    service = Service(tmp_path, MACHINE, [], journal)
    asked = Submission(0, JobUser(0, 0, "me"), JobRequest(argv=("true",)), "", {}, "/", 1000, "key")
    service.trouble = ""
    first = asyncio.create_task(service.submit(asked, lambda: None))
    await asyncio.sleep(0)
    assert service.find(1) is not None
    service._fail(JournalError("the disk is full"))
    with pytest.raises(JournalError, match="full"):
        await first
    assert service.find(1) is None
    service.trouble = ""
    asyncio.create_task(service.submit(asked, lambda: None))  # noqa: RUF006 (nobody writes it)
    await asyncio.sleep(0)
    assert service.find(1) is None
    assert service.find(2) is not None
