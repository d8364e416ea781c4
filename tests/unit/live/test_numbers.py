"""Numbers of jobs that could not be written."""

import asyncio

import pytest

from dardis.live.asked import JobAsked
from dardis.live.jobs import Asker, Submission
from dardis.live.journal import JournalError
from dardis.live.machine import many_nodes
from dardis.live.service import Service
from dardis.model.platform import NodeGroup, Platform

MACHINE = many_nodes(Platform("m", (NodeGroup("a", 1, {"cores": 1}),)), ["here"])


def test_what_was_seen_under_a_number_is_no_other_job_later(tmp_path, journal):
    async def submit_twice():
        service = Service(tmp_path, MACHINE, [], journal)
        asked = Submission(0, Asker(0, 0, "me"), JobAsked(argv=("true",)), "", {}, "/", 1000, "key")
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

    asyncio.run(submit_twice())
