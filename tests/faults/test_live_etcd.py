"""Heads that die with their disks, journal in etcd: nothing acknowledged is lost, nothing runs twice."""

import os
import random
import signal
import time
from contextlib import suppress
from pathlib import Path

import pytest
from kit.etcd import end_lease, etcd
from kit.live import Live
from kit.live_load import judge, under_load
from kit.live_ranks import ROOT, Ranks
from kit.waiting import until

from dardis.model.errors import DardisError


class Head(Live):
    """A service that goes on elsewhere when its host dies: only etcd, and what jobs have written down, stay."""

    def __init__(self, folder, place):
        super().__init__(folder)
        self.place, self.hosts = place, 1

    def start(self, *more, wait=True):
        return super().start("--journal", str(self.place), *more, wait=wait)

    def _processes(self):
        """The keeper and all its jobs."""
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                with suppress(OSError):
                    words, known = (entry / "cmdline").read_bytes(), (entry / "environ").read_bytes()
                    if os.fsencode(self.folder / "keeper") in words or b"RAN=%s\0" % os.fsencode(self.ran) in known:
                        yield int(entry.name)

    def move(self):
        """Have another host be meant from now on."""
        self.hosts += 1
        self.folder = self.folder.with_name(f"s{self.hosts}")

    def die(self):
        """Lose the host: service, keeper, jobs, disk."""
        self.kill("service")
        self.service.wait()
        while processes := list(self._processes()):
            for process in processes:
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
        self.move()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with etcd(tmp_path_factory.mktemp("etcd"), 3) as cluster:
        yield cluster


@pytest.fixture
def live(tmp_path, cluster):
    with Head(tmp_path, cluster.place(tmp_path.name)) as live:
        yield live.start()


@pytest.mark.parametrize(
    ("seed", "deaths"), [(1, 3), *(pytest.param(seed, 20, marks=pytest.mark.slow) for seed in (10, 11))]
)
def test_acknowledged_jobs_survive_loss_of_head_nodes_under_load(live, seed, deaths):
    rng = random.Random(seed)  # noqa: S311 (a seed is to say it all)
    with under_load(live, seed) as load:
        for _ in range(deaths):
            time.sleep(0.3 + rng.random() * 1.5)
            if rng.random() < 0.25:  # the journal's file alone is lost: its jobs run on
                live.kill("service")
                live.service.wait()
                (live.folder / "journal.db").unlink(missing_ok=True)
            else:
                live.die()
            if rng.random() < 0.8:
                end_lease(live.place)
            live.start(wait=rng.random() < 0.8)
    judge(live, load)
    assert load.count > 20


@pytest.mark.slow
def test_missing_etcd_is_reported_until_it_is_back(live, cluster):
    before = live.submit("sleep 8; echo $DARDIS_JOB_ID >> $RAN", key="a")
    for at in (1, 2):
        cluster.kill(at)
    with pytest.raises(DardisError, match="no answer"):
        live.submit(key="b")
    assert live.job(before[0])["state"] == "running"
    for at in (1, 2):
        cluster.begin(at)
    live.ready()
    after = live.submit(key="b")
    for number in (*before, *after):
        assert live.ended(number)["state"] == "completed"
    assert live.lines() == {before[0]: 1, after[0]: 1}


def test_paused_head_node_is_fenced_and_exits(live):
    first = live.submit(key="a")
    live.ended(first[0])
    old, folder = live.service, live.folder
    live.kill("service", signal.SIGSTOP)
    end_lease(live.place)
    live.move()
    try:
        live.start()
        assert live.job(first[0])["state"] == "completed"
        second = live.submit(key="b")
        old.send_signal(signal.SIGCONT)
        assert old.wait(20) == 1
    finally:
        old.kill()
        old.wait()
        new, live.folder = live.folder, folder
        live.kill("keeper")
        live.folder = new
    live.ended(second[0])
    assert live.submit(key="b") == second
    assert live.lines() == {first[0]: 1, second[0]: 1}
    ends = [line for line in live.said().splitlines() if "serves" not in line]
    assert len(ends) == 1
    assert "another service has taken this journal over" in ends[0]


@pytest.mark.slow
@pytest.mark.skipif(not (ROOT / ".venv" / "bin" / "mpirun").exists(), reason="needs mpirun in .venv")
def test_first_of_several_hosts_recovers_a_lost_journal_file(tmp_path, cluster):
    live = Ranks(tmp_path)
    journal = ["--journal", str(cluster.place(tmp_path.name))]
    try:
        live.start(*journal)
        command = "sleep 3; echo $DARDIS_JOB_ID >> $RAN"
        numbers = live.submit(command, cpus=4, array="0-5")
        until(lambda: all(live.job(number)["state"] == "running" for number in numbers))
        os.kill(live.service.pid, signal.SIGKILL)
        ranks = live.ranks()
        os.kill(ranks[0], signal.SIGKILL)
        until(lambda: not live.ranks())
        (live.folder / "journal.db").unlink()
        live.service.wait()
        live.start(*journal)
        assert {live.ended(number)["state"] for number in numbers} == {"completed"}
        assert live.lines() == dict.fromkeys(numbers, 1)
    finally:
        live.end()
