"""The door of a service: who asks is looked up without holding others up."""

import asyncio
import json
import os
import socket
import threading
from contextlib import asynccontextmanager
from types import SimpleNamespace

import numpy as np
import pytest
from aiohttp import ClientSession, UnixConnector
from kit.live_service import NO_METRICS, arrays_of
from kit.waiting import in_loop

from dardis.live.api import Api
from dardis.live.job_option_texts import read_array
from dardis.live.job_request import JobRequest
from dardis.live.live_jobs import JobUser, LiveJobState, Submission, new_jobs
from dardis.live.socket_server import PeerUser, open_listener


@pytest.mark.filterwarnings("ignore:It is recommended to use web.RequestKey")  # older aiohttp has none
def test_slow_user_lookup_does_not_delay_others(tmp_path, monkeypatch):
    asked, answers = threading.Event(), threading.Event()

    def slow(uid, gid):
        asked.set()
        assert answers.wait(20)
        return JobUser(uid, gid, "me")

    async def submit(submission, may):
        may()
        return range(7, 8)

    service = SimpleNamespace(
        users=False, folder=tmp_path, trouble="", journal=SimpleNamespace(epoch=1), unreachable_hosts={}, submit=submit,
        max_time_s=1, metrics=NO_METRICS,
        gateway=SimpleNamespace(queued=0, running=0, jobs=list),
    )  # fmt: skip

    async def ask():
        body = {"jobs": {"argv": ["true"]}, "cwd": "/", "environment": {}, "script": ""}
        connector = UnixConnector(str(tmp_path / "gateway.sock"))
        with open_listener(tmp_path, users=False) as listener:
            async with (
                Api(service, 1).serve_connections(listener),
                ClientSession("http://x", connector=connector) as session,
            ):
                await hand_in(session, body)

    async def hand_in(session, body):
        handing_in = asyncio.create_task(session.post("/jobs", json=body))
        await asyncio.to_thread(asked.wait, 20)
        async with asyncio.timeout(20), session.get("/status") as answer:
            assert answer.status == 200
        assert not handing_in.done()
        answers.set()
        async with await handing_in as answer:
            assert await answer.json() == {"ids": [7], "warnings": []}

    monkeypatch.setattr("dardis.live.api._job_user", slow)
    try:
        asyncio.run(asyncio.wait_for(ask(), 60))
    finally:
        answers.set()


ME, OTHER = PeerUser(os.getuid(), os.getgid()), PeerUser(os.getuid() + 4711, 12)


async def answer(connection, *, path="/status", body=None):
    """Status, and what a service answers over a socket."""
    data = b"" if body is None else json.dumps(body).encode()
    verb = b"GET" if body is None else b"POST"
    connection.setblocking(False)
    loop = asyncio.get_running_loop()
    head = b"%s %s HTTP/1.0\r\nContent-Length: %d\r\n\r\n" % (verb, path.encode(), len(data))
    await loop.sock_sendall(connection, head + data)
    told = b""
    while piece := await loop.sock_recv(connection, 1 << 16):
        told += piece
    head, _, body = told.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)


@pytest.mark.filterwarnings("ignore:It is recommended to use web.RequestKey")  # older aiohttp has none
@pytest.mark.parametrize("users", [False, True])
def test_agent_states_the_user_of_a_forwarded_request(tmp_path, users):
    submitted = []

    async def submit(submission, may):
        may()
        submitted.append(submission.user.uid)
        return range(7, 8)

    service = SimpleNamespace(
        users=users, folder=tmp_path, trouble="", journal=SimpleNamespace(epoch=1), unreachable_hosts={}, submit=submit,
        max_time_s=1, metrics=NO_METRICS,
        gateway=SimpleNamespace(queued=0, running=0, jobs=list, drain=None),
    )  # fmt: skip

    async def work():
        doors = Doors()
        with open_listener(tmp_path, users=False) as listener:
            async with Api(service, 1).serve_connections(listener, doors):
                await see(doors.ask)
            assert doors.answer is None

    async def see(ask):
        body = {"jobs": {"argv": ["true"]}, "cwd": "/", "environment": {}, "script": ""}
        assert (await ask(ME))[0] == 200
        assert (await ask(ME, "/jobs", body=body))[0] == 200
        status, told = await ask(OTHER, "/jobs", body=body)
        if users:
            assert (status, submitted) == (200, [ME.uid, OTHER.uid])
            assert await ask(OTHER, "/stop", body={}) == (403, {"error": "only the user of the service may do that"})
        else:
            assert (status, told["error"], submitted) == (403, "this service belongs to another user", [ME.uid])
        with socket.socket(socket.AF_UNIX) as one:
            one.connect(str(tmp_path / "gateway.sock"))
            assert (await answer(one))[0] == 200

    asyncio.run(asyncio.wait_for(work(), 60))


class Doors:
    """Other hosts' doors."""

    @asynccontextmanager
    async def serve_connections(self, answer):
        self.answer = answer
        yield
        self.answer = None

    async def ask(self, who, path="/status", **more):
        """As somebody there."""
        here, there = socket.socketpair()
        with here:
            await self.answer(there, who)
            return await answer(here, path=path, **more)


@pytest.mark.filterwarnings("ignore:It is recommended to use web.RequestKey")  # older aiohttp has none
@pytest.mark.parametrize("how", [socket.SHUT_WR, socket.SHUT_RDWR])
def test_connection_lost_within_a_body_leaves_no_state(tmp_path, caplog, how):
    service = SimpleNamespace(users=False, gateway=SimpleNamespace(jobs=list), metrics=NO_METRICS)

    async def cut():
        with open_listener(tmp_path, users=False) as listener, socket.socket(socket.AF_UNIX) as one:
            async with Api(service, 1).serve_connections(listener), asyncio.timeout(20):
                one.connect(str(tmp_path / "gateway.sock"))
                one.setblocking(False)
                loop = asyncio.get_running_loop()
                await loop.sock_sendall(one, b"POST /jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{")
                await asyncio.sleep(0.2)
                one.shutdown(how)
                assert await loop.sock_recv(one, 1000) == b""
                await asyncio.sleep(0.2)

    asyncio.run(cut())
    assert not caplog.records


class Waiting:
    """A job that never begins."""

    state = SimpleNamespace(is_over=False)
    submission = SimpleNamespace(user=SimpleNamespace(uid=os.getuid(), name="me"))
    number, why, told = 7, "", 0

    def as_dict(self):
        Waiting.told += 1
        return {"name": "x" * 1000}


@asynccontextmanager
async def a_queue(folder, jobs):
    """A service with these jobs, and its socket."""

    async def ended(_, patience_s):
        await asyncio.sleep(min(patience_s or 60.0, 60.0))
        return Waiting()

    gateway = SimpleNamespace(
        queued=0, running=0, jobs=lambda: jobs, liveness=SimpleNamespace(lost_reason=lambda _: ""),
        wait_reason=lambda job: f"reason {job.number % 3}",
    )  # fmt: skip
    service = SimpleNamespace(
        users=False, folder=folder, trouble="", journal=SimpleNamespace(epoch=1), unreachable_hosts={}, gateway=gateway,
        max_time_s=1, metrics=NO_METRICS,
        find=lambda _: Waiting(), wait_for_end=ended,
    )  # fmt: skip
    with open_listener(folder, users=False) as listener:
        async with Api(service, 1).serve_connections(listener):
            yield str(folder / "gateway.sock")


@pytest.mark.filterwarnings("ignore:It is recommended to use web.RequestKey")  # older aiohttp has none
@in_loop
async def test_queue_response_stops_while_the_client_does_not_read(tmp_path):
    async with a_queue(tmp_path, [Waiting()] * 5000) as path:
        Waiting.told = 0
        all_of_them = []
        for _ in range(30):
            all_of_them.append(await asyncio.open_unix_connection(path))
            all_of_them[-1][1].write(b"GET /jobs HTTP/1.1\r\nHost: x\r\n\r\n")
        await asyncio.sleep(0.1)
        async with (
            asyncio.timeout(20),
            ClientSession("http://x", connector=UnixConnector(path)) as session,
            session.get("/status") as answer,
        ):
            assert answer.status == 200
        assert Waiting.told < 15_000, "of 150,000"
        for _, writer in all_of_them:
            writer.close()
        async with ClientSession("http://x", connector=UnixConnector(path)) as session:
            async with session.get("/jobs") as answer:
                assert len((await answer.json())["jobs"]) == 5000
            async with session.get("/jobs?limit=3") as answer:
                assert len((await answer.json())["jobs"]) == 3
            async with session.get("/jobs?user=nobody") as answer:
                assert await answer.json() == {"jobs": []}


@pytest.mark.filterwarnings("ignore:It is recommended to use web.RequestKey")  # older aiohttp has none
@pytest.mark.parametrize("seed", range(5))
@in_loop
async def test_arrays_of_the_queue_agree_with_its_jobs(tmp_path, seed):
    chance, jobs, first = np.random.default_rng(seed), [], 1
    for _ in range(40):
        array = (None, "1-3", "0-99:7")[chance.integers(3)]
        asked = JobRequest(argv=("true",), array=None if array is None else read_array(array, "array"))
        submission = Submission(first, JobUser(os.getuid(), 0, "me"), asked, "", {}, "/", 0)
        jobs += [job for job in new_jobs(submission) if chance.random() < 0.8]
        first += submission.count
    for job in jobs:
        job.state = (LiveJobState.RUNNING, LiveJobState.WAITING, LiveJobState.HELD)[chance.integers(3)]
    async with (
        a_queue(tmp_path, jobs) as path,
        ClientSession("http://x", connector=UnixConnector(path)) as session,
        session.get("/jobs") as each,
        session.get("/jobs?array=1") as arrays,
    ):
        told = (await each.json())["jobs"]
        assert [one["id"] for one in told] == [job.number for job in jobs]
        assert (await arrays.json())["arrays"] == arrays_of(told)
        async with session.get("/jobs?array=1&limit=3") as first:
            assert (await first.json())["arrays"] == arrays_of(told)[:3]


@pytest.mark.filterwarnings("ignore:It is recommended to use web.RequestKey")  # older aiohttp has none
@in_loop
async def test_reasons_of_other_users_are_hidden(tmp_path, monkeypatch):
    submission = Submission(1, JobUser(os.getuid() + 1, 0, "other"), JobRequest(argv=("true",)), "", {}, "/", 0)
    (job,) = new_jobs(submission)
    job.why = "retry 1 of 3 after exit code 7"
    monkeypatch.setattr(Api, "_is_owner", lambda *_: False)
    async with (
        a_queue(tmp_path, [job]) as path,
        ClientSession("http://x", connector=UnixConnector(path)) as session,
        session.get("/jobs?array=1") as arrays,
    ):
        assert "exit code 7" not in await arrays.text()
