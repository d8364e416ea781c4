"""The door for parts of jobs: nobody is told of an end before all that was written."""

import asyncio
import json
from base64 import b64encode
from contextlib import contextmanager

import pytest
from aiohttp import ClientSession, UnixConnector, web

from dardis.live.gateway import Gateway
from dardis.live.job_request import JobRequest
from dardis.live.keeper_client import SupervisorError
from dardis.live.live_jobs import JobUser, Submission
from dardis.live.machine import machine_of_platform
from dardis.live.step_socket_server import StepApi
from dardis.model.platform import NodeGroup, Platform

END = {"run": "1.1.7", "state": "over", "started_ms": 1, "ended_ms": 2, "code": 3, "signal": None, "why": "exit"}
BODY = {"attempt": 1, "number": 7, "node": "n1", "argv": ["x"], "cwd": "/"}


class Service:
    """A job of two nodes; of its part on the second one everything is written, a piece is read at a time."""

    def __init__(self, *pieces):
        self.pieces = list(pieces)
        self.machine = machine_of_platform(Platform("m", (NodeGroup("n", 2, {"cores": 1}),)), ["a", "b"])
        self.gateway = Gateway(self.machine)
        for host in "ab":
            self.gateway.on_host_report([], 1, host, [host])
        self.gateway.submit(Submission(1, JobUser(0, 0, "me"), JobRequest(argv=("x",), nodes=2), "", {}, "/", 0), 1000)
        self.gateway.decide(1)
        self.job = self.gateway.job(1)
        self.gateway.steps.mark_started(self.gateway.start_step(self.job, "1.1.7", "b", None))

    def mailbox(self, _):
        return self

    async def read(self, run, offsets, wait_s):
        assert run == "1.1.7"
        await asyncio.sleep(min(wait_s, 0.1))
        piece = self.pieces.pop(0)
        if isinstance(piece, Exception):
            raise piece
        return {"out": b64encode(piece).decode()} if piece and offsets["out"] < 6 else {}

    @contextmanager
    def subscribe_step(self, _):
        yield asyncio.Event()


def told(service, folder, **more):
    """What the client is told, in one connection."""

    async def ask():
        app = web.Application()
        app.add_routes(StepApi(service, lambda _: service.job, web.Request.json).routes())
        runner = web.AppRunner(app)
        await runner.setup()
        await web.UnixSite(runner, str(folder / "sock")).start()
        async with (
            asyncio.timeout(20),
            ClientSession("http://x", connector=UnixConnector(str(folder / "sock"))) as session,
            session.post("/jobs/1/parts", json=BODY | more) as answer,
        ):
            lines = [json.loads(line) async for line in answer.content] if answer.status == 200 else answer.status
        await runner.cleanup()
        return lines

    return asyncio.run(ask())


def out(text):
    return {"out": b64encode(text).decode()}


ENDED = {"end": {"state": "over", "code": 3, "signal": None, "why": "exit"}}


def test_end_of_a_step_is_sent_after_all_output(tmp_path):
    service = Service(b"abc", b"def", b"")
    service.gateway.on_run_record(END, 1, "b")
    assert told(service, tmp_path) == [{"mark": "b"}, out(b"abc"), out(b"def"), ENDED]


def test_unreadable_output_delays_the_end_of_a_step(tmp_path):
    service = Service(b"abc", SupervisorError("gone"), b"def", b"")
    service.gateway.on_run_record(END, 1, "b")
    assert told(service, tmp_path) == [{"mark": "b"}, out(b"abc")]
    service.gateway.on_host_lost("b")
    assert told(service, tmp_path, out=3) == 503
    service.gateway.on_host_report([END], 1, "b", ["b"])
    assert told(service, tmp_path, out=3) == [{"mark": "b"}, out(b"def"), ENDED]


@pytest.mark.parametrize("over", [False, True])
def test_step_on_an_abandoned_host_ends_without_output(tmp_path, over):
    service = Service()
    if over:
        service.gateway.on_run_record(END, 1, "b")
    service.gateway.on_host_lost("b")
    service.gateway.give_up("b", 1)
    given_up = {"state": "unknown", "code": None, "signal": None, "why": "unknown: b was declared lost"}
    assert told(service, tmp_path) == [{"mark": "b"}, ENDED if over else {"end": given_up}]


def test_step_not_begun_on_an_abandoned_host_is_unknown(tmp_path):
    service = Service()
    service.gateway.on_host_lost("b")
    service.gateway.give_up("b", 1)
    (line,) = told(service, tmp_path, number=8)
    assert line["end"]["state"] == "unknown"
