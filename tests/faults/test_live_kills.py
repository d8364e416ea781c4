"""Kills at random moments under load: no acknowledged job is lost, none runs twice, and who can't tell says so."""

import random
import signal
import time

import pytest
from kit.live import Live
from kit.live_load import Load, judge


@pytest.fixture
def live(tmp_path):
    live = Live(tmp_path)
    try:
        yield live.start()
    finally:
        live.end()


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
