"""What a keeper says, and when the gateway is told of it."""

import asyncio
from math import inf
from pathlib import Path
from types import SimpleNamespace

from kit.waiting import in_loop, until_async

from dardis.live import keeper_mailbox as posts
from dardis.live.gateway import Gateway
from dardis.live.keeper_client import HigherEpochError, SupervisorClient, SupervisorError
from dardis.live.keeper_mailbox import Mailbox, SupervisedHost
from dardis.live.machine import machine_of_platform
from dardis.model.platform import NodeGroup, Platform

MACHINE = machine_of_platform(Platform("m", (NodeGroup("a", 2, {"cores": 1}),)), ["here", "there"])
RECORD = {"run": "1.1", "state": "over", "started_ms": 1, "ended_ms": 2, "code": 0, "signal": None, "why": "exit"}


class Hasty(SupervisorClient):
    """It tells of an end before anybody has seen what it has answered."""

    async def hello(self, epoch):  # noqa: ARG002
        self._heard(RECORD)
        await asyncio.sleep(0)
        return [RECORD | {"state": "running"}], ["its mark"]

    intend = read = power = _send = None  # never asked

    async def start_runs(self, runs):  # noqa: ARG002
        return {}

    def _end(self):
        pass


class Refusing(Hasty):
    """It was led under a higher epoch."""

    async def hello(self, epoch):
        raise HigherEpochError(epoch + 1, epoch)


class Full(Hasty):
    """It has no room to write down what is to begin."""

    async def request(self, do, **_):
        raise SupervisorError(f"the job supervisor refuses {do}: no room")


class Told(Gateway):
    def __init__(self):
        super().__init__(MACHINE)
        self.said = []

    def on_run_record(self, record, now_ms, host):  # noqa: ARG002
        self.said.append(record["state"])


async def mailbox_of(gateway, kind=Hasty, due=lambda: None):
    async def connect(heard):
        return kind(heard)

    return Mailbox(
        SupervisedHost("here", Path("/nowhere"), connect), gateway, SimpleNamespace(epoch=1, last_led_s=lambda: -inf),
        due, as_root=False,
    )  # fmt: skip


@in_loop
async def test_events_after_a_hello_are_delivered_after_earlier_ones():
    gateway = Told()
    post = await mailbox_of(gateway)
    while post.trouble:
        assert not post.has_records
        post.deliver_records(1)
        await asyncio.sleep(0)
    assert post.has_records
    post.deliver_records(1)
    assert gateway.said == ["running", "over"]
    await post.end(stop=False)


@in_loop
async def test_service_wakes_after_a_start():
    gateway, said = Told(), []
    gateway.job_of_run, gateway.on_run_start = str, lambda run, _: said.append(run)
    post = await mailbox_of(gateway, due=lambda: said.append("due"))
    await post.tried.wait()
    post.start_runs(posts.IntendedRuns(post.supervisor, ["1.1"]))
    await until_async(lambda: "1.1" in said)
    assert said[-2:] == ["1.1", "due"]
    await post.end(stop=False)


@in_loop
async def test_keeper_in_a_copied_folder_is_not_led():
    gateway = Told()
    gateway.on_host_report([], 1, "there", ["its mark", "another"])
    post = await mailbox_of(gateway)
    await post.tried.wait()
    assert "of there's are copies" in post.trouble
    assert not gateway.liveness.is_reachable("here")
    await post.end(stop=False)


@in_loop
async def test_keeper_with_a_higher_epoch_stops_all_starts():
    gateway, refusing = Told(), []
    gateway.on_epoch_refused = refusing.append
    post = await mailbox_of(gateway, Refusing)
    await post.tried.wait()
    assert (refusing, "of epoch 2, but this service has epoch 1" in post.trouble) == (["here"], True)
    await post.end(stop=False)


@in_loop
async def test_refusing_keeper_is_contacted_with_increasing_pauses(monkeypatch):
    monkeypatch.setattr(posts, "RETRY_S", 0.01)
    gateway, pauses = Told(), []
    post = await mailbox_of(gateway, Full)
    for _ in range(4):
        async with asyncio.timeout(10):
            while post.supervisor is None:  # noqa: ASYNC110 (nothing says it)
                await asyncio.sleep(0.005)
            post.order("end", ["1.1"])
            while post.supervisor is not None:  # noqa: ASYNC110
                await asyncio.sleep(0.005)
        assert "no room" in post.trouble
        pauses.append(post._pause_s)
    assert pauses == [pauses[0] * 2**place for place in range(4)]
    await post.end(stop=False)
