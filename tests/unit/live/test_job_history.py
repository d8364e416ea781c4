"""What is told of jobs that are over: all that is asked for, a piece at a time, and others have their turns between."""

import asyncio
import random
from types import SimpleNamespace

import pytest
from kit.live_service import NO_METRICS

from dardis.live import api
from dardis.live.api import Api
from dardis.live.client import Client
from dardis.live.host_liveness import HostLiveness
from dardis.live.job_option_texts import Array
from dardis.live.job_request import JobRequest
from dardis.live.journal import Batch
from dardis.live.live_jobs import JobUser, LiveJobState, Submission, new_jobs
from dardis.live.service import Service
from dardis.live.socket_server import open_listener

ENDS = [LiveJobState.COMPLETED, LiveJobState.FAILED, LiveJobState.UNKNOWN, LiveJobState.CANCELLED]


def some_jobs(rng, journal):
    """Jobs of two users, some of which are not over, and numbers that are nobody's any more; all that are known."""
    jobs, rows, first = [], [], 1
    for _ in range(rng.randint(1, 40)):
        first += rng.choice([0, 0, 0, rng.randint(1, 30)])
        count = rng.choice([1, 1, 2, rng.randint(1, 60)])
        array = None if count == 1 else Array((range(1, count + 1),))
        user = rng.choice("ab")
        submission = Submission(
            first, JobUser(ord(user), 1, user), JobRequest(argv=("x",), array=array), "", {}, "/", 5
        )
        first += count
        some = new_jobs(submission)
        for job in some:
            if rng.random() < 0.9:
                job.state, job.ended_ms = rng.choice(ENDS), rng.choice([None, *range(10)])
        texts = [(job.number, job.text()) for job in some if job.state.is_over]
        rows.append((submission, all(job.state.is_over for job in some), texts))
        jobs += some
    for submission, over, texts in rows:
        journal.write(Batch([submission.row(over=over)], texts))
    return jobs


def served(journal, jobs):
    """A service that has them in memory that are not over, and others that were handed in with such."""
    still = {job.submission.first for job in jobs if not job.state.is_over}
    known = {job.number: job for job in jobs if job.submission.first in still}
    service = SimpleNamespace(journal=journal, users=True, looked=[], metrics=NO_METRICS)
    service.gateway = SimpleNamespace(job=known.get, jobs=list, liveness=HostLiveness(()), wait_reason=lambda _: "")

    def history(*asked):
        service.looked.append(asked[0])
        return Service.history(service, *asked)

    service.history = history
    return service


def asked(folder, service, ask):
    """What a client gets by asking."""

    async def work():
        with open_listener(folder, users=False) as listener:
            async with Api(service, 1).serve_connections(listener), asyncio.timeout(60):
                return await asyncio.to_thread(ask, Client(folder))

    return asyncio.run(work())


@pytest.mark.filterwarnings("ignore:It is recommended to use web.RequestKey")  # older aiohttp has none
@pytest.mark.parametrize("seed", range(40))
def test_history_returns_each_job_once_latest_first(tmp_path, monkeypatch, journal, seed):
    rng = random.Random(seed)  # noqa: S311 (a seed is to say it all)
    for name, most in (("MOST_AT_ONCE", 50), ("PIECE", 20), ("MOST_PIECES", 5)):
        monkeypatch.setattr(api, name, rng.randint(1, most))
    jobs = some_jobs(rng, journal)
    query = {
        "limit": rng.choice([None, 1, rng.randint(1, 300)]), "state": rng.choice(["over", "over", "all"]),
        "user": rng.choice([None, "a", "nobody"]), "since_ms": rng.choice([None, None, rng.randint(1, 11)]),
    }  # fmt: skip
    wanted = [
        job.number for job in reversed(jobs)
        if (query["state"] == "all" or job.state.is_over) and query["user"] in (None, job.submission.user.name)
        and (query["since_ms"] is None or (job.ended_ms or 0) >= query["since_ms"])
    ][: query["limit"]]  # fmt: skip
    service = served(journal, jobs)
    told = asked(tmp_path, service, lambda client: client.history(**query))
    assert [job["id"] for job in told] == wanted
    by_number = {job.number: job for job in jobs}
    assert [job["state"] for job in told] == [by_number[number].state for number in wanted]


@pytest.mark.filterwarnings("ignore:It is recommended to use web.RequestKey")
def test_other_requests_are_served_between_history_pieces(tmp_path, monkeypatch, journal):
    monkeypatch.setattr(api, "PIECE", 10)
    jobs = some_jobs(random.Random(3), journal)  # noqa: S311
    service, turns = served(journal, jobs), []
    look = service.history

    def history(*asked):
        asyncio.get_running_loop().call_soon(turns.append, len(service.looked))
        return look(*asked)

    service.history = history
    told = asked(tmp_path, service, lambda client: client.get("/jobs", state="over"))
    assert told["next"] is None
    assert turns == [*range(len(service.looked))]
    assert len(turns) > 20
