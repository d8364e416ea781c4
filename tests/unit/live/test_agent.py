"""An agent by itself: which talks it takes part in."""

import asyncio
import json
from functools import partial

import pytest
from kit.keeper import end_all, start
from kit.waiting import in_loop

from dardis.live import agent as agents
from dardis.live.agent import Agent
from dardis.live.keeper_client import EPOCH_REFUSED, LocalSupervisorClient


@pytest.fixture
def folder(tmp_path):
    yield tmp_path
    end_all(tmp_path)


class Service:
    """Talks with an agent in this process."""

    def __init__(self, folder):
        self.said = []
        self.agent = Agent(
            partial(LocalSupervisorClient.connect, folder), lambda payload: self.said.append(json.loads(payload))
        )

    def say(self, talk, number, do, **more):
        self.agent.on_message(json.dumps({"talk": talk, "id": number, "do": do, **more}).encode())

    async def answer(self, talk, number):
        """What is answered."""
        for _ in range(1000):
            for told in self.said:
                if (told["talk"], told.get("id")) == (talk, number):
                    return told
            await asyncio.sleep(0.02)
        raise AssertionError(self.said)

    def lost(self, talk):
        """Why a talk is over."""
        return [told["lost"] for told in self.said if told["talk"] == talk and "lost" in told]


@in_loop
async def test_only_the_newest_session_is_accepted(folder):
    service = Service(folder)
    service.say(2, 1, "hello", epoch=1, mark="m")
    assert (await service.answer(2, 1))["runs"] == []
    service.say(1, 2, "hello", epoch=1, mark="m")  # late
    service.say(1, 3, "intend", runs=[start("1.1", folder, "true") | {"files": []}], files=[], lease={})
    service.say(2, 4, "hello", epoch=1, mark="m")  # in the same talk
    assert (await service.answer(2, 4))["runs"] == []
    assert service.lost(2) == []
    assert [told["id"] for told in service.said] == [1, 4]
    service.say(5, 1, "hello", epoch=1, mark="m")
    assert service.lost(2) == ["a newer connection replaced this one"]
    await service.answer(5, 1)
    assert {told["talk"] for told in service.said} == {2, 5}
    service.agent.end("over")


@in_loop
async def test_messages_from_before_a_long_stop_are_dropped(folder, monkeypatch):
    now_ms = 1_000_000
    monkeypatch.setattr(agents, "boot_ms", lambda: now_ms)
    service = Service(folder)
    service.say(1, 1, "hello", epoch=1, mark="m")
    await service.answer(1, 1)
    service.say(1, 2, "intend", runs=[start("1.1", folder, "true") | {"files": []}], files=[], lease={})
    assert (await service.answer(1, 2))["refused"] == {}
    now_ms += 4_000
    service.agent.check()
    now_ms += 4_000
    service.agent.check()
    assert service.lost(1) == []
    now_ms += 6_000
    service.say(1, 3, "go", runs=["1.1"])
    assert service.lost(1) == ["its agent was stopped for a while"]
    service.say(2, 1, "hello", epoch=1, mark="m")
    assert (await service.answer(2, 1))["runs"] == []
    service.agent.end("over")


@in_loop
async def test_higher_epoch_of_a_keeper_is_reported_as_such(folder):
    service = Service(folder)
    service.say(1, 1, "hello", epoch=5, mark="m")
    await service.answer(1, 1)
    service.say(2, 1, "hello", epoch=4, mark="n")
    told = await service.answer(2, 1)
    assert (told["error"], told["highest"]) == (EPOCH_REFUSED, 5)
    assert service.lost(2) == []
    service.agent.end("over")
