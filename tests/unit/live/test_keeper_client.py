"""Keepers that don't do what they are asked for."""

import asyncio

import pytest

from dardis.live import keeper_client
from dardis.live.keeper_client import KeeperClient, KeeperError


def test_one_that_does_not_answer_is_not_waited_for(tmp_path, monkeypatch):
    monkeypatch.setattr(keeper_client, "ANSWER_S", 0.05)

    async def ask():
        talks, heard = [], []
        silent = await asyncio.start_unix_server(lambda *talk: talks.append(talk[1]), str(tmp_path / "keeper.sock"))
        client = await KeeperClient.connect(tmp_path, heard.append)
        with pytest.raises(KeeperError, match="does not answer"):
            await client.hello(1)
        assert client.lost.is_set()
        assert heard == [None]
        with pytest.raises(KeeperError, match="is gone"):
            await client.ask("end", runs=[])
        for talk in talks:
            talk.close()
        silent.close()
        await asyncio.sleep(0)

    asyncio.run(ask())
