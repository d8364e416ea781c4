"""Kills at random moments under load: no acknowledged job is lost, none runs twice, and who can't tell says so."""

import random
import signal
import time

import pytest
from kit.live import CORES, Live
from kit.live_load import Load, judge, judge_jobs

EARLY_MS = 100
"""Between the clocks of who runs and who kills, at most."""


@pytest.fixture
def live(tmp_path):
    live = Live(tmp_path)
    try:
        yield live.start()
    finally:
        live.end()


def trouble(live, load, rng, troubles):
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
    live.ready()
    load.over.set()
    load.join()
    live.all_over()
    return kills


def survives(live, seed):
    """Twenty troubles under load; how many jobs there were."""
    load = Load(live, seed)
    load.start()
    try:
        kills = trouble(live, load, random.Random(seed), 20)  # noqa: S311 (a seed is to say it all)
    finally:
        load.over.set()
    unknown = judge(live, load)
    jobs = sum(map(len, load.acknowledged.values()))
    print(f"seed {seed}: {jobs} jobs, {len(kills)} kills of the keeper, {len(unknown)} jobs are unknown")
    for job in unknown:
        told = job["ended_ms"]  # by the next keeper, at the latest when it was told to whoever served next
        begun = job["started_ms"] - EARLY_MS
        assert any(begun < after and before < told for before, after in kills), (job["why"], begun, told, kills)
    assert len(unknown) <= CORES * len(kills)
    return jobs


@pytest.mark.parametrize("seed", range(3))
def test_nothing_is_lost_and_nothing_runs_twice(live, seed):
    assert survives(live, seed) > 50


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 150))
def test_nothing_is_lost_under_many_kills(live, seed):
    survives(live, seed)


@pytest.mark.slow
def test_a_keeper_that_is_stopped_past_its_deadline(live):
    runs = live.submit("echo $DARDIS_JOB_ID >> $RAN; sleep 5; exit 3", cpus=4)
    while not live.lines():
        time.sleep(0.02)
    live.kill("keeper", signal.SIGSTOP)
    waits = live.submit(array="0-20")
    until = time.monotonic() + 90
    while not live.client.get("/status")["silent"]:
        assert time.monotonic() < until
        time.sleep(0.5)
    live.kill("keeper", signal.SIGCONT)
    assert live.ended(*runs)["code"] == 3
    live.all_over()
    assert not judge_jobs(live, [*runs, *waits])
