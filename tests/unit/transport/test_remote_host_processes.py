"""Far hosts over real connections, each in a process of its own."""

import multiprocessing
import os
import signal

import pytest
from kit.remote_hosts import Chance, Site, serve_far_host

from dardis.transport.base import HostDownError
from dardis.transport.links import Switchboard, new_keys
from dardis.wire.effects import SendAll
from dardis.wire.messages import PublishRequest


@pytest.fixture
def connected():
    """A site of three hosts, the first here, and a switchboard to the others with their processes."""
    site, server, keys = Site(3), new_keys(), {host: new_keys() for host in (1, 2)}
    board = Switchboard("127.0.0.1", server, {pair.public: host for host, pair in keys.items()})
    spawn = multiprocessing.get_context("spawn")
    processes = {
        host: spawn.Process(target=serve_far_host, args=(board.places, server.public, pair))
        for host, pair in keys.items()
    }
    for process in processes.values():
        process.start()
    try:
        yield site, board, processes
    finally:
        for process in processes.values():
            process.kill()
            process.join()
        board.close()


def test_remote_processes_start_the_same_jobs_as_local_hosts_and_become_unreachable(connected):
    site, board, processes = connected
    hosts = site.far(board, here=[0], patience_s=120)
    chance, local, far = Chance(site, 1), site.decider(site.local()), site.decider(hosts)
    begun = 0
    for _ in range(30):
        happened = chance.happens()
        expected = local.decide(happened)
        assert far.decide(happened) == expected
        chance.started(*expected)
        begun += len(expected[0])
    assert begun
    os.kill(processes[2].pid, signal.SIGSTOP)
    with pytest.raises(HostDownError) as down:
        site.far(board, here=[0], session=2, patience_s=1).exchange([SendAll(PublishRequest())], chance.now)
    assert 2 in down.value.hosts
    os.kill(processes[2].pid, signal.SIGCONT)
    chance = Chance(site, 2)
    local, far = site.decider(site.local()), site.decider(site.far(board, here=[0], session=3, patience_s=120))
    for _ in range(5):
        happened = chance.happens()
        expected = local.decide(happened)
        assert far.decide(happened) == expected
        chance.started(*expected)
