"""Hosts that are cut off for a while: nothing is lost or runs twice, and what runs there is known again after."""

import random
import time
from collections import defaultdict

import pytest
from kit.live_load import judge, under_load
from kit.live_partitions import DOWN, HOSTS, SWALLOWED, Network, Partitioned, skip_without_namespaces
from kit.waiting import until

from dardis.model.errors import DardisError

SURELY_S = 13.0
"""A host that is cut off for so long is silent by then: nothing is heard of it for 10 s, and each second is looked."""
WORKS_S = 3.0
"""By then the others go on."""
LONGEST_S = 20.0
SAYS = "echo $DARDIS_JOB_ID $(date +%s%N)"
"""Of a job: when it is there."""


@pytest.fixture
def network():
    with skip_without_namespaces():
        return Network(HOSTS)


@pytest.fixture
def live(tmp_path, network):
    with Partitioned(tmp_path, network) as live:
        yield live.start()


def watch(live, away, seconds):
    """Jobs lost on silent hosts (others never are), and when only these were silent first, Unix ms; None: never."""
    lost, since_ms, end_s = set(), None, time.monotonic() + seconds
    while time.monotonic() < end_s:
        before, jobs, after = live.silent(), live.client.get("/jobs", state="open")["jobs"], live.silent()
        if before == after:
            for job in jobs:
                assert job["lost"] == (job["state"] == "running" and job["host"] in after), job
            lost |= {job["id"] for job in jobs if job["lost"]}
            if since_ms is None and set(after) == away:
                since_ms = time.time() * 1000
        time.sleep(0.1)
    return lost, since_ms


def partition(live, rng, seconds):
    """Cut one or two hosts off for so long; the jobs that were lost meanwhile."""
    hosts, cut = live.hosts(), rng.sample(range(HOSTS), rng.choice([1, 1, 2]))
    away = set(hosts[1:]) if 0 in cut else {hosts[host] for host in cut}
    for host in cut:
        live.network.cut(host, rng.choice([DOWN, SWALLOWED]))
    lost, since_ms = watch(live, away, seconds)
    end_ms = time.time() * 1000
    if seconds >= SURELY_S:
        assert since_ms is not None, live.silent()
        assert set(live.silent()) == away
    if since_ms is not None and end_ms - since_ms > WORKS_S * 1000:
        over = live.client.history(state="over")
        assert any(since_ms < (job["started_ms"] or 0) and job["host"] not in away for job in over)
    live.network.heal()
    return lost


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, *range(10, 15)])
def test_acknowledged_jobs_survive_network_partitions_under_load(live, seed):
    rng, lost = random.Random(seed), set()  # noqa: S311 (a seed is to say it all)
    with under_load(live, seed) as load:
        for seconds in [SURELY_S, 2.0, *(rng.uniform(0.5, LONGEST_S) for _ in range(4 if seed else 0)), SURELY_S]:
            time.sleep(rng.random())
            lost |= partition(live, rng, seconds)
            if rng.random() < 0.7:
                live.ready()
                assert not any(job["lost"] for job in live.client.get("/jobs", state="open")["jobs"])
    live.see()
    assert not judge(live, load)
    assert {job["state"] for job in live.client.history(state="all")} == {"completed"}
    assert lost


def give_up(live):
    """Fill all nodes, cut the last host off, and give it up; its name, and the jobs that it runs yet."""
    host = live.hosts()[-1]
    # A job that is told to end takes its time, and says when it was there last.
    stays = f"trap 'for i in 1 2 3 4; do sleep 0.5; {SAYS} >> $RAN-there; done; exit' TERM; while :; do sleep 0.1; done"
    numbers = live.submit(f"echo $DARDIS_JOB_ID >> $RAN; {stays}", cpus=4, array="0-5")
    until(lambda: len(live.lines()) == len(numbers))
    with pytest.raises(DardisError, match="no job on "):
        live.client.post(f"/nodes/{host}/lost")
    live.network.cut(HOSTS - 1, SWALLOWED)
    until(lambda: list(live.silent()) == [host])
    assert live.client.post(f"/nodes/{host}/lost") == {"given_up": 2}
    lost = [number for number in numbers if live.job(number)["host"] == host]
    return host, lost, [number for number in numbers if number not in lost]


def times(live, name):
    """When jobs were there, by the node that they had alone: what they have written into a file of theirs."""
    place, found = live.ran.with_name(f"ran-{name}"), defaultdict(list)
    for line in place.read_text().splitlines() if place.exists() else ():
        number, instant = map(int, line.split())
        (node,) = live.job(number)["nodes"]
        found[node].append(instant)
    return found


def test_runs_on_an_abandoned_host_are_unknown(live):
    host, lost, others = give_up(live)
    assert {(live.job(number)["state"], live.job(number)["why"]) for number in lost} == {
        ("unknown", f"unknown: {host} was declared lost")
    }
    assert {live.job(number)["state"] for number in others} == {"running"}
    waits = live.submit(cpus=4)
    live.client.post(f"/jobs/{lost[0]}/release")
    for number in others[:2]:
        live.client.post(f"/jobs/{number}/cancel")
    assert live.ended(*waits)["state"] == "completed"
    until(lambda: live.lines()[lost[0]] == 2)  # on somebody's word
    assert live.job(lost[0])["host"] != host


@pytest.mark.slow
def test_orphaned_runs_end_before_jobs_start_on_a_returned_host(live):
    host, lost, _ = give_up(live)
    waits = live.submit(f"{SAYS} >> $RAN-new; echo $DARDIS_JOB_ID >> $RAN", cpus=4, array="0-3")
    time.sleep(1)
    assert not live.lines().keys() & set(waits)
    live.network.heal()
    for number in waits:
        job = live.ended(number)
        assert (job["state"], job["host"]) == ("completed", host)
    until(lambda: [len(one) for one in times(live, "there").values()] == [4] * len(lost))
    there, new = times(live, "there"), times(live, "new")
    assert sum(map(len, new.values())) == len(waits)
    assert all(max(there[node]) < min(new[node]) for node in new)
    assert {live.job(number)["state"] for number in lost} == {"unknown"}
