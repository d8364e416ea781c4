"""A keeper of another host through its agent there: what is asked and told, and what becomes of a talk that breaks."""

import asyncio
import os
import signal
from contextlib import asynccontextmanager, suppress

import pytest
from kit.keeper import end_all, lives, start
from kit.waiting import in_loop

from dardis.live import remote_keeper
from dardis.live.agent import run_agent
from dardis.live.job_files import SmallFile, put_files
from dardis.live.keeper_client import SupervisorError
from dardis.live.remote_keeper import AgentConnections, RemoteSupervisorClient
from dardis.transport.links import Link, Switchboard, new_keys

HOST, PATIENCE_S = 1, 30.0


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "host"
    folder.mkdir()
    yield folder
    end_all(folder)


class Site:
    """The service's end and the agent's, in one process."""

    def __init__(self, folder):
        self.folder, self.server, self.keys = folder, new_keys(), new_keys()
        self.board = Switchboard("127.0.0.1", self.server, {self.keys.public: HOST})
        self.talks = AgentConnections(self.board)
        self.talks.listen()
        self.heard = asyncio.Queue()
        self.agent = None

    async def begin(self):
        link = Link(self.board.places, self.server.public, self.keys)
        say, self.mute = link.send, False
        link.send = lambda payload: self.mute or say(payload)
        self.agent = asyncio.create_task(run_agent(self.folder, link, bytes))

    async def connect(self):
        return await RemoteSupervisorClient.connect(self.talks, HOST, self.heard.put_nowait)

    async def over(self):
        """The next record that is told."""
        return await asyncio.wait_for(self.heard.get(), PATIENCE_S)

    async def cut(self):
        """The agent is gone, without a word."""
        self.mute = True
        self.agent.cancel()
        with suppress(asyncio.CancelledError):
            await self.agent


@asynccontextmanager
async def keeper_site(folder):
    site = Site(folder)
    try:
        await site.begin()
        yield site
    finally:
        await site.cut()
        site.board.close()


def run(name, folder, *argv, files=()):
    return start(name, folder, *argv) | {"files": list(files)}


@in_loop
async def test_remote_runs_start_and_their_ends_are_reported(folder):
    async with keeper_site(folder) as site:
        keeper = await site.connect()
        records, marks = await keeper.hello(1)
        assert (records, len(marks)) == ([], 1)
        script = SmallFile("scripts/s", "#!/bin/sh\nexit 3\n", 0o500)
        nowhere = SmallFile("scripts/s/x", "", 0o500)
        runs = [
            run("1.1", folder, str(folder / "scripts/s"), files=["scripts/s"]),
            run("2.1", folder, "true", files=["scripts/s/x"]),
            run("3.1", folder, "true"),
        ]
        refused = await keeper.intend(runs, [script, nowhere], {})
        assert list(refused) == ["2.1"]
        assert await keeper.start_runs(["1.1"]) == {}
        record = await site.over()
        assert (record["run"], record["code"]) == ("1.1", 3)
        again = await site.connect()
        records, after = await again.hello(1)
        assert ([record["run"] for record in records], after) == (["1.1"], marks)  # what was only intended is not
        with pytest.raises(SupervisorError, match=r"of epoch 1, but this service has epoch 0.*serve --epoch 2"):
            await again.hello(0)


@in_loop
async def test_remote_job_files_are_listed_and_removed_in_request_order(folder):
    files = [SmallFile(path, "x", 0o500) for path in ("scripts/7/a", "scripts/7/b", "hosts/c")]
    async with keeper_site(folder) as site:
        keeper = await site.connect()
        await keeper.hello(1)
        put_files(folder, files)
        for old in files[:2]:
            os.utime(folder / old.path, (0, 0))
        assert sorted(await keeper.old_files(1_000)) == ["scripts/7/a", "scripts/7/b"]
        removing = asyncio.create_task(keeper.remove_files(["scripts/7/a", "scripts/7/b", "hosts/gone"]))
        needs = [run("1.1", folder, "true", files=["scripts/7/a"])]
        intending = asyncio.create_task(keeper.intend(needs, files[:1], {}))
        await removing
        assert await intending == {}
        left = {str(path.relative_to(folder)) for path in folder.glob("*/*") if path.parent.name == "hosts"}
        left |= {str(path.relative_to(folder)) for path in folder.glob("scripts/*/*")}
        assert left == {"hosts/c", "scripts/7/a"}


@in_loop
async def test_new_session_ends_the_previous_session(folder):
    async with keeper_site(folder) as site:
        first = await site.connect()
        await first.hello(1)
        await first.intend([run("1.1", folder, "true")], [], {})
        second = await site.connect()
        await second.hello(1)
        going = asyncio.create_task(first.start_runs(["1.1"]))  # nobody takes it any more
        await second.intend([run("2.1", folder, "true")], [], {})
        await second.start_runs(["2.1"])
        assert (await site.over())["run"] == "2.1"
        first.close()
        with pytest.raises(SupervisorError):
            await going
        assert [record["run"] for record in (await second.hello(1))[0]] == ["2.1"]


@in_loop
async def test_killed_remote_keeper_is_reported_lost_and_restarted(folder):
    async with keeper_site(folder) as site:
        keeper = await site.connect()
        told = await keeper.request("hello", epoch=1, mark="first")
        await keeper.intend([run("1.1", folder, "sleep", "60")], [], {})
        await keeper.start_runs(["1.1"])
        os.kill(told["pid"], signal.SIGKILL)
        await asyncio.wait_for(keeper.lost.wait(), PATIENCE_S)
        assert await site.over() is None
        with pytest.raises(SupervisorError, match="is gone"):
            await keeper.request("end", runs=[])
        again = await site.connect()
        records, _ = await again.hello(2)
        assert [(record["run"], record["state"]) for record in records] == [("1.1", "running")]
        await again.request("end", runs=["1.1"])
        assert (await site.over())["run"] == "1.1"
        pid = (await again.request("hello", epoch=2, mark="last"))["pid"]
        with suppress(SupervisorError):
            await again.request("stop")
        async with asyncio.timeout(PATIENCE_S):
            while lives(pid):  # noqa: ASYNC110 (nobody says it)
                await asyncio.sleep(0.02)


@in_loop
async def test_remote_keeper_start_failure_gives_its_reason(folder):
    (folder / "keeper").write_text("")
    async with keeper_site(folder) as site:
        with pytest.raises(SupervisorError, match="exists"):
            await (await site.connect()).hello(1)


@in_loop
async def test_host_without_messages_is_lost(folder, monkeypatch):
    monkeypatch.setattr(remote_keeper, "UNREACHABLE_S", 1.5)
    monkeypatch.setattr(remote_keeper, "LOOK_S", 0.1)
    async with keeper_site(folder) as site:
        keeper = await site.connect()
        await keeper.hello(1)
        await asyncio.sleep(2.0)
        assert not keeper.lost.is_set()  # links say that they are there
        await site.cut()
        await asyncio.wait_for(keeper.lost.wait(), PATIENCE_S)
        assert await site.over() is None
        with pytest.raises(SupervisorError, match="no connection to its agent"):
            await site.connect()
        await site.begin()
        records, _ = await (await site.connect()).hello(1)
        assert records == []


@in_loop
async def test_agents_exit_when_dismissed(folder):
    async with keeper_site(folder) as site:
        (await site.connect()).close()  # it has been heard
        assert await site.talks.stop_agents([HOST], PATIENCE_S) == []
        await asyncio.wait_for(site.agent, PATIENCE_S)
