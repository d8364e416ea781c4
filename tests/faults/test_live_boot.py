"""A host that goes down with all that runs on it, and comes up under a new boot id."""

import os
import random
import subprocess
import time
from pathlib import Path
from uuid import UUID

import pytest
from kit.live import CORES, Live
from kit.live_load import Load, judge

BOOT_ID = "/proc/sys/kernel/random/boot_id"
BOOTS = 3


class Host:
    """Gives a service a boot id."""

    def __init__(self, folder):
        self.file, self.boots = folder / "boot_id", 0

    def boot(self):
        """Be up, for the first time or again; words of a command that becomes a process on it."""
        self.boots += 1
        self.file = self.file.with_name(f"boot_id-{self.boots}")
        self.file.write_text(f"{UUID(int=self.boots)}\n")
        return ["unshare", "-m", "sh", "-c", f'mount --bind "{self.file}" {BOOT_ID} && exec "$@"', "sh"]


@pytest.fixture
def host(tmp_path):
    if os.geteuid() != 0:
        pytest.skip("only root gives a process a boot id of its own")
    host = Host(tmp_path)
    tried = subprocess.run([*host.boot(), "cat", BOOT_ID], capture_output=True, text=True, check=False)
    if tried.stdout != host.file.read_text():
        pytest.skip(f"no process can be given a boot id of its own here: {tried.stderr.strip()}")
    assert Path(BOOT_ID).read_text() != host.file.read_text()
    return host


@pytest.fixture
def live(tmp_path, host):
    live = Live(tmp_path)
    try:
        yield live.start(under=host.boot())
    finally:
        live.end()


def test_what_ran_is_unknown_and_what_waited_runs(live, host):
    (done,) = live.submit()
    live.ended(done)
    plain = live.submit("echo $DARDIS_JOB_ID >> $RAN; sleep 60", cpus=4, nodes=2)
    again = live.submit("echo $DARDIS_JOB_ID >> $RAN; [ -e up ] || sleep 60", cpus=4, nodes=2, requeue=True)
    waiting = live.submit(cpus=4)
    held = live.submit(hold=True)
    while not live.lines().keys() >= {*plain, *again}:
        time.sleep(0.02)
    live.kill_all()
    (live.ran.parent / "up").touch()
    live.start(under=host.boot())
    job = live.ended(plain[0], 20)
    assert (job["state"], job["why"]) == ("unknown", "unknown: the host was restarted")
    job = live.ended(again[0], 20)
    assert (job["state"], job["attempt"]) == ("completed", 2)
    assert live.ended(waiting[0], 20)["state"] == "completed"
    assert (live.job(done)["state"], live.job(held[0])["state"]) == ("completed", "held")
    assert live.lines() == {done: 1, plain[0]: 1, again[0]: 2, waiting[0]: 1}


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 20))])
def test_a_host_that_goes_down_at_any_moment_under_load(live, host, seed):
    rng = random.Random(seed)  # noqa: S311 (a seed is to say it all)
    load, again = Load(live, seed), []
    load.start()
    try:
        for _ in range(BOOTS):
            until = time.monotonic() + 0.5 + rng.random()
            while time.monotonic() < until:
                again += live.submit("echo $DARDIS_JOB_ID >> $RAN; sleep 0.2", requeue=True)
                time.sleep(0.1)
            live.kill_all()
            live.start(under=host.boot())
        load.over.set()
        load.join()
        live.all_over()
    finally:
        load.over.set()
    unknown = len(judge(live, load))
    assert unknown <= BOOTS * CORES
    lines = live.lines()
    for number in again:
        job = live.job(number)
        assert job["state"] == "completed", job
        assert 1 <= lines[number] <= job["attempt"], job
    print(f"seed {seed}: {unknown} of {sum(map(len, load.acknowledged.values()))} jobs are unknown")
