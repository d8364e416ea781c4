"""Kills at random moments under load: no acknowledged job is lost, none runs twice, and who can't tell says so."""

import random
import signal
import threading
import time
from contextlib import suppress

import pytest
from kit.live import Live

from dardis.live.journal import told_instants
from dardis.live.replay import replay
from dardis.model.errors import DardisError

COMMANDS = [
    "echo $DARDIS_JOB_ID >> $RAN",
    "echo $DARDIS_JOB_ID >> $RAN; sleep 0.3",
    "sleep 0.1; echo $DARDIS_JOB_ID >> $RAN",
]


@pytest.fixture
def live(tmp_path):
    live = Live(tmp_path)
    try:
        yield live.start()
    finally:
        live.end()


class Load(threading.Thread):
    """Hands jobs in until it is told to stop, each with a key, again where nobody has answered."""

    def __init__(self, live, seed):
        super().__init__()
        self.live, self.rng, self.acknowledged = live, random.Random(seed), {}  # noqa: S311 (a seed is to say it all)
        self.over = threading.Event()

    def run(self):
        number = 0
        while not self.over.is_set():
            number += 1
            more = {"array": {"first": 0, "last": self.rng.randint(0, 9), "step": 1, "most": None}}
            more = {} if self.rng.random() < 0.5 else more
            command = self.rng.choice(COMMANDS)
            until = time.monotonic() + 60
            while time.monotonic() < until:
                with suppress(DardisError):
                    ids = self.live.submit(command, key=f"k{number}", cpus=self.rng.choice([1, 1, 4]), **more)
                    assert self.acknowledged.setdefault(number, ids) == ids
                    break
                time.sleep(0.05)
            time.sleep(self.rng.random() * 0.1)


def judge(live, load):
    """What has become of all that was acknowledged; how many nobody can tell of."""
    lines, unknown = live.lines(), 0
    for ids in load.acknowledged.values():
        for number in ids:
            job = live.job(number)
            assert job["state"] in {"completed", "unknown", "failed"}, job
            assert lines[number] <= 1, job
            if job["state"] == "completed":
                assert lines[number] == 1, job
            if job["state"] == "failed":
                assert job["signal"] or job["code"], job
            unknown += job["state"] == "unknown"
    known = {number for ids in load.acknowledged.values() for number in ids}
    assert set(lines) <= known | {number for number in lines if live.job(number)}
    replayed = replay(told_instants(live.folder))
    assert not replayed.differs
    return unknown


def trouble(live, load, rng, kills):
    """Kill, or stop for a while, service and keeper, so many times."""
    for _ in range(kills):
        time.sleep(rng.random() * 0.6)
        which = rng.choice(["service", "service", "keeper"])
        if rng.random() < 0.2:
            live.kill(which, signal.SIGSTOP)
            time.sleep(rng.random())
            live.kill(which, signal.SIGCONT)
            continue
        live.kill(which)
        if rng.random() < 0.1:
            live.kill("keeper" if which == "service" else "service")
        if live.service.poll() is not None or which == "service":
            live.service.wait()
            live.start(wait=rng.random() < 0.7)
    live.ready()
    load.over.set()
    load.join()
    live.all_over()


def survives(live, seed):
    """Twenty troubles under load; how many jobs there were."""
    load = Load(live, seed)
    load.start()
    try:
        trouble(live, load, random.Random(seed), 20)  # noqa: S311 (a seed is to say it all)
    finally:
        load.over.set()
    judge(live, load)
    return sum(map(len, load.acknowledged.values()))


@pytest.mark.parametrize("seed", range(3))
def test_nothing_is_lost_and_nothing_runs_twice(live, seed):
    assert survives(live, seed) > 50


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 150))
def test_nothing_is_lost_under_many_kills(live, seed):
    survives(live, seed)
