"""Keepers that don't do what they are asked for."""

import asyncio
import errno
import os

import pytest
from kit.waiting import in_loop

from dardis.live import job_files, keeper_client
from dardis.live.job_files import SmallFile
from dardis.live.keeper import PROTOCOL
from dardis.live.keeper_client import SUPERVISOR_FOLDER, LocalSupervisorClient, SupervisorError


@in_loop
async def test_unresponsive_keeper_is_not_awaited(tmp_path, monkeypatch):
    monkeypatch.setattr(keeper_client, "ANSWER_S", 0.05)
    talks, heard = [], []
    (tmp_path / SUPERVISOR_FOLDER).mkdir()
    path = str(tmp_path / SUPERVISOR_FOLDER / "keeper.sock")
    silent = await asyncio.start_unix_server(lambda *talk: talks.append(talk[1]), path)
    client = await LocalSupervisorClient.connect(tmp_path, heard.append)
    with pytest.raises(SupervisorError, match="does not answer"):
        await client.hello(1)
    assert client.lost.is_set()
    assert heard == [None]
    with pytest.raises(SupervisorError, match="is gone"):
        await client.request("end", runs=[])
    for talk in talks:
        talk.close()
    silent.close()
    await asyncio.sleep(0)


def test_keeper_being_started_elsewhere_is_not_started_again(tmp_path):
    async def ask():
        with pytest.raises(SupervisorError, match="started separately, does not listen"):
            await LocalSupervisorClient.connect(tmp_path, lambda _: None, apart=True)

    asyncio.run(ask())
    assert list(tmp_path.iterdir()) == []


@in_loop
async def test_keeper_of_another_version_is_one_line(tmp_path):
    async def answer(reader, writer):
        await reader.readline()
        writer.write(b'{"id": 1, "host": "h", "pid": 17, "runs": []}\n')
        writer.close()

    (tmp_path / SUPERVISOR_FOLDER).mkdir()
    old = await asyncio.start_unix_server(answer, str(tmp_path / SUPERVISOR_FOLDER / "keeper.sock"))
    client = await LocalSupervisorClient.connect(tmp_path, lambda _: None)
    said = rf"process 17.*protocol version 1, not {PROTOCOL}.*a new one takes them over"
    with pytest.raises(SupervisorError, match=said) as told:
        await client.hello(4)
    assert "\n" not in str(told.value)
    client.close()
    old.close()
    await asyncio.sleep(0)


HOSTS_OWN = [errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOSPC, errno.EROFS]


@pytest.mark.parametrize(("number", "of_job"), [*((number, False) for number in HOSTS_OWN), (errno.EACCES, True)])
def test_host_limits_are_not_job_errors(tmp_path, monkeypatch, number, of_job):
    def full(*_):
        raise OSError(number, os.strerror(number), "a")

    async def ask():
        (tmp_path / SUPERVISOR_FOLDER).mkdir()
        talks = asyncio.Queue()
        path = str(tmp_path / SUPERVISOR_FOLDER / "keeper.sock")
        silent = await asyncio.start_unix_server(lambda *talk: talks.put_nowait(talk[1]), path)
        client = await LocalSupervisorClient.connect(tmp_path, lambda _: None)
        talk = await talks.get()
        monkeypatch.setattr(job_files.os, "open", full)
        asked = client.intend([{"run": "1.1", "files": ["scripts/a"]}], [SmallFile("scripts/a", "true", 0o500)], {})
        async with asyncio.timeout(20):
            if of_job:
                assert await asked == {"1.1": f"a: {os.strerror(number)}"}
            else:
                with pytest.raises(SupervisorError, match=f"its host is at a limit: {os.strerror(number)}"):
                    await asked
        monkeypatch.undo()
        client.close()
        silent.close()
        talk.close()
        await asyncio.sleep(0)

    asyncio.run(asyncio.wait_for(ask(), 60))
