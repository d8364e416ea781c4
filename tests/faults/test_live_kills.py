"""Kills, boots and full disks at random moments under load: nothing acknowledged is lost, nothing runs twice."""

import os
import random
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from uuid import UUID

import pytest
from kit.live import CORES, Live
from kit.live_load import judge, judge_jobs, under_load
from kit.waiting import until

EARLY_MS = 100
"""Between the clocks of who runs and who kills, at most."""
BOOT_ID = "/proc/sys/kernel/random/boot_id"


@pytest.fixture
def live(tmp_path):
    with Live(tmp_path) as live:
        yield live


def trouble(live, rng, troubles):
    """Kill, or stop for a while, service and keeper, so many times; Unix ms before and after the keeper was killed."""
    kills = []
    for _ in range(troubles):
        time.sleep(rng.random() * 0.6)
        which = rng.choice(["service", "service", "keeper"])
        if rng.random() < 0.2:
            live.kill(which, signal.SIGSTOP)
            time.sleep(rng.choice([rng.random(), rng.random(), 4 * rng.random()]))
            live.kill(which, signal.SIGCONT)
            continue
        killed = {which} if rng.random() < 0.9 else {"service", "keeper"}
        before = time.time() * 1000
        for one in sorted(killed):
            live.kill(one)
        if "keeper" in killed:
            kills.append((before, time.time() * 1000))
        if "service" in killed:
            live.service.wait()
            live.start(wait=rng.random() < 0.7)
    return kills


@pytest.mark.parametrize(
    ("seed", "troubles"),
    [(0, 8), *(pytest.param(seed, 20, marks=pytest.mark.slow) for seed in (1, 2, *range(100, 150)))],
)
def test_acknowledged_jobs_survive_kills_under_load(live, seed, troubles):
    live.start()
    with under_load(live, seed) as load:
        kills = trouble(live, random.Random(seed), troubles)  # noqa: S311 (a seed is to say it all)
    unknown = judge(live, load)
    assert load.count > troubles
    for job in unknown:
        told = job["ended_ms"]  # by the next keeper, at the latest when it was told to whoever served next
        begun = job["started_ms"] - EARLY_MS
        assert any(begun < after and before < told for before, after in kills), (job["why"], begun, told, kills)
    assert len(unknown) <= CORES * len(kills)


@pytest.mark.slow
def test_keeper_stopped_past_its_deadline_recovers(live):
    live.start()
    runs = live.submit("echo $DARDIS_JOB_ID >> $RAN; sleep 5; exit 3", cpus=4)
    until(live.lines)
    live.kill("keeper", signal.SIGSTOP)
    waits = live.submit(array="0-20")
    until(lambda: live.client.get("/status")["silent"], patience_s=90)
    live.kill("keeper", signal.SIGCONT)
    assert live.ended(*runs)["code"] == 3
    live.all_over()
    assert not judge_jobs(live, [*runs, *waits])


@pytest.fixture
def boot(tmp_path):
    """Be up, for the first time or again; words of a command that becomes a process on the host."""
    boots = []

    def boot():
        boots.append(file := tmp_path / f"boot_id-{len(boots) + 1}")
        file.write_text(f"{UUID(int=len(boots))}\n")
        return ["unshare", "-m", "sh", "-c", f'mount --bind "{file}" {BOOT_ID} && exec "$@"', "sh"]

    if os.geteuid() != 0:
        pytest.skip("only root gives a process a boot id of its own")
    tried = subprocess.run([*boot(), "cat", BOOT_ID], capture_output=True, text=True, check=False)
    if tried.stdout != boots[0].read_text():
        pytest.skip(f"no process can be given a boot id of its own here: {tried.stderr.strip()}")
    assert Path(BOOT_ID).read_text() != boots[0].read_text()
    return boot


def test_after_a_reboot_runs_are_unknown_and_waiting_jobs_run(live, boot):
    live.start(under=boot())
    (done,) = live.submit()
    live.ended(done)
    (plain,) = live.submit("echo $DARDIS_JOB_ID >> $RAN; sleep 60", cpus=4, nodes=2)
    command = "echo $DARDIS_JOB_ID >> $RAN; [ -e up ] || sleep 60"
    (again,) = live.submit(command, cpus=4, nodes=2, requeue=True)
    (waiting,) = live.submit(cpus=4)
    (held,) = live.submit(hold=True)
    until(lambda: live.lines().keys() >= {plain, again})
    live.kill_all()
    (live.ran.parent / "up").touch()
    live.start(under=boot())
    job = live.ended(plain)
    assert (job["state"], job["why"]) == ("unknown", "unknown: the host was restarted")
    job = live.ended(again)
    assert (job["state"], job["attempt"]) == ("completed", 2)
    assert live.ended(waiting)["state"] == "completed"
    assert (live.job(done)["state"], live.job(held)["state"]) == ("completed", "held")
    assert live.lines() == {done: 1, plain: 1, again: 2, waiting: 1}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_acknowledged_jobs_survive_reboots_under_load(live, boot, seed):
    rng, again, boots = random.Random(seed), [], 3  # noqa: S311 (a seed is to say it all)
    live.start(under=boot())
    with under_load(live, seed) as load:
        for _ in range(boots):
            end = time.monotonic() + 0.5 + rng.random()
            while time.monotonic() < end:
                again += live.submit("echo $DARDIS_JOB_ID >> $RAN; sleep 0.2", requeue=True)
                time.sleep(0.1)
            live.kill_all()
            live.start(under=boot())
    assert len(judge(live, load)) <= boots * CORES
    lines = live.lines()
    for job in map(live.job, again):
        assert job["state"] == "completed", job
        assert 1 <= lines[job["id"]] <= job["attempt"], job


@pytest.fixture
def on_small_disk(tmp_path):
    """A service on a small disk of its own; what jobs write down is on another."""
    if os.geteuid() != 0:
        pytest.skip("only root mounts a disk")
    disk = tmp_path / "disk"
    disk.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", disk]
    mounted = subprocess.run(words, capture_output=True, text=True, check=False)
    if mounted.returncode:
        pytest.skip(f"no disk can be mounted here: {mounted.stderr.strip()}")
    live = Live(disk)
    live.ran = tmp_path / "ran"
    live.ran.touch()
    try:
        yield live.start()
    finally:
        live.end()
        subprocess.run(["umount", "-l", disk], check=True)


def fill(place, left):
    """Fill a disk but for so many bytes."""
    with place.open("wb", buffering=0) as file:
        for size in (1 << 16, 1 << 10):
            with suppress(OSError):
                while True:
                    file.write(bytes(size))
        file.truncate(max(0, file.tell() - left))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(30))
def test_acknowledged_jobs_survive_a_full_disk_under_load(on_small_disk, seed):
    live, rng = on_small_disk, random.Random(seed)  # noqa: S311 (a seed is to say it all)
    stuffing = live.folder.parent / "stuffing"

    def free_disk_space():
        stuffing.unlink()
        if live.service.poll() is not None:
            live.start()

    with under_load(live, seed) as load:
        for _ in range(12):
            time.sleep(rng.random() * 0.4)
            fill(stuffing, rng.choice([0, 0, 4096, 8192, 16_384, 65_536]))
            time.sleep(rng.random() * 0.8)
            if rng.random() < 0.3:
                live.kill(rng.choice(["service", "keeper"]))
                time.sleep(0.1)
            free_disk_space()
        if not load.refused:  # nobody has asked for anything just then: it is full until somebody has
            fill(stuffing, 0)
            until(lambda: load.refused)
            free_disk_space()
    assert load.refused, "it was never full when it mattered"
    judge(live, load, is_full=True)
