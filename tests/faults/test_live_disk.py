"""A disk that is full at any moment, under load: nothing acknowledged is lost, nothing runs twice, and it goes on."""

import os
import random
import subprocess
import time
from contextlib import suppress

import pytest
from kit.keeper import until
from kit.live import Live
from kit.live_load import Load, judge


@pytest.fixture
def live(tmp_path):
    """A service on a small disk of its own; what jobs write down is on another."""
    if os.geteuid() != 0:
        pytest.skip("only root mounts a disk")
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", disk], capture_output=True, text=True, check=False
    )
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
        with suppress(OSError):
            while True:
                file.write(bytes(1 << 16))
        with suppress(OSError):
            while True:
                file.write(bytes(1 << 10))
        file.truncate(max(0, file.tell() - left))


SLOW = [pytest.param(range(first, first + 5), marks=pytest.mark.slow) for first in range(1, 30, 5)]


@pytest.mark.parametrize("seeds", [range(1), *SLOW])
def test_a_disk_that_is_full_at_any_moment(live, seeds):
    for one in seeds:
        rng = random.Random(one)  # noqa: S311 (a seed is to say it all)
        survives(live, rng, one)


def survives(live, rng, seed):
    load = Load(live, seed)
    load.start()
    stuffing = live.folder.parent / "stuffing"
    try:
        for _ in range(12):
            time.sleep(rng.random() * 0.4)
            fill(stuffing, rng.choice([0, 0, 4096, 8192, 16_384, 65_536]))
            time.sleep(rng.random() * 0.8)
            if rng.random() < 0.3:
                live.kill(rng.choice(["service", "keeper"]))
                time.sleep(0.1)
            stuffing.unlink()
            if live.service.poll() is not None:
                live.start()
        if not load.refused:  # nobody has asked for anything just then: it is full until somebody has
            fill(stuffing, 0)
            until(lambda: load.refused)
            stuffing.unlink()
            if live.service.poll() is not None:
                live.start()
        live.ready()
        load.over.set()
        load.join()
        live.all_over()
    finally:
        load.over.set()
        stuffing.unlink(missing_ok=True)
    assert load.refused, "it was never full when it mattered"
    judge(live, load, is_full=True)
