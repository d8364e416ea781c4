"""The service of several hosts under mpirun: jobs run on all of them, whatever dies ends all, and all goes on."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import defaultdict
from contextlib import suppress

import pytest
from kit.live_load import judge, under_load
from kit.live_ranks import PLACES, PLATFORM, ROOT, Ranks
from kit.waiting import until

MPIRUN = ROOT / "launch" / "mpirun"
pytestmark = pytest.mark.skipif(not (ROOT / ".venv" / "bin" / "mpirun").exists(), reason="needs mpirun in .venv")


@pytest.fixture
def live(tmp_path):
    with Ranks(tmp_path) as live:
        yield live.start()


def runs_on_all_hosts(live):
    numbers = live.submit(
        "cat /proc/$PPID/cmdline | tr '\\0' ' ' >> $RAN.by; echo >> $RAN.by; echo $DARDIS_JOB_ID >> $RAN; sleep 1",
        cpus=4, array="0-11",
    )  # fmt: skip
    assert {live.ended(number)["state"] for number in numbers} == {"completed"}
    assert live.lines() == dict.fromkeys(numbers, 1)
    assert {node for number in numbers for node in live.job(number)["nodes"]} == {f"n{n}" for n in range(6)}
    keepers = {line.split()[-1] for line in live.ran.with_suffix(".by").read_text().splitlines() if line.strip()}
    assert keepers == {str(live.folder / place / "keeper") for place in PLACES}


def stops(live):
    ends = live.said().count("started again")
    live.client.post("/stop")
    assert live.service.wait(30) == 0
    until(lambda: not live.ranks())
    assert live.said().count("started again") == ends


def killed(live, victim):
    """Let one of the processes die while jobs run; all is begun again, and they go on."""
    (waits,) = live.submit("echo $DARDIS_JOB_ID >> $RAN", hold=True)
    awaits = f"while ! [ -e go-{victim} ]; do sleep 0.05; done"
    runs = live.submit(f"{awaits}; echo $DARDIS_JOB_ID >> $RAN", cpus=4, array="0-5")
    until(lambda: all(live.job(number)["state"] == "running" for number in runs))
    epoch, before = live.client.get("/status")["epoch"], live.ranks()
    if victim == "stopped":
        os.kill(before[1], signal.SIGSTOP)
    os.kill(
        {"agent": before[1], "service": before[0], "mpirun": live.launcher()}.get(victim, before[2]), signal.SIGKILL
    )
    until(lambda: not set(before.values()) & set(live.ranks().values()))
    live.ready()
    assert live.client.get("/status")["epoch"] == epoch + 1
    (live.ran.parent / f"go-{victim}").touch()
    live.client.post(f"/jobs/{waits}/release")
    assert [live.ended(number)["state"] for number in [*runs, waits]] == ["completed"] * 7
    return [*runs, waits]


@pytest.mark.parametrize(
    "victims", [("agent",), pytest.param(("service", "mpirun", "stopped"), marks=pytest.mark.slow)], ids=str
)
def test_failure_of_any_process_ends_all_ranks_and_jobs_survive(live, victims):
    runs_on_all_hosts(live)
    numbers = [number for victim in victims for number in killed(live, victim)]
    assert {number: live.lines()[number] for number in numbers} == dict.fromkeys(numbers, 1)
    stops(live)


@pytest.mark.slow
def test_host_with_a_stopped_agent_is_unreachable_and_others_continue(live):
    agent = live.ranks()[1]
    os.kill(agent, signal.SIGSTOP)
    numbers = live.submit("echo $DARDIS_JOB_ID >> $RAN; sleep 1", cpus=4, array="0-7")
    assert {live.ended(number)["state"] for number in numbers} == {"completed"}
    assert {node for number in numbers for node in live.job(number)["nodes"]} == {"n0", "n1", "n4", "n5"}
    assert [node["name"] for node in live.client.get("/nodes")["nodes"] if node["silent"]] == ["n2", "n3"]
    os.kill(agent, signal.SIGCONT)
    until(lambda: not live.silent())
    os.kill(agent, signal.SIGSTOP)
    live.client.post("/stop")
    assert live.service.wait(60) == 3  # it couldn't be told, and mpirun has ended it
    assert live.ranks() == {}


def query_from_remote_host(live, name, *lines):
    """A job on the second host that runs these lines of a shell, where `dardis` is ours, in a folder of its own."""
    place = live.ran.parent / name
    place.mkdir()
    dardis = f'dardis() {{ PYTHONPATH={ROOT} {sys.executable} -m dardis "$@"; }}'
    (number,) = live.submit("\n".join([f"cd {place}", dardis, *lines]))
    return number, place


def submits_and_queries(live):
    number, place = query_from_remote_host(
        live, "asks",
        "dardis queue --json > queue",
        "dardis submit --wait --output inner.out -- sh -c 'echo $DARDIS_FOLDER; exit 7' > id 2> said",
        "echo $? > code",
        "dardis submit --key k -- true > twice; dardis submit --key k -- true >> twice",
    )  # fmt: skip
    assert live.ended(number)["state"] == "completed"
    queued = [json.loads(line) for line in (place / "queue").read_text().splitlines()]
    assert [one["id"] for told in queued for one in told.get("jobs", [told])] == [number]
    assert (place / "code").read_text() == "7\n", (place / "said").read_text()
    inner = live.job(int((place / "id").read_text()))
    assert (inner["code"], inner["cwd"]) == (7, str(place))
    assert (place / "inner.out").read_text() == f"{live.folder}/host-1\n"
    first, second = (place / "twice").read_text().split()
    assert first == second


def queries_while_the_agent_dies(live):
    number, place = query_from_remote_host(
        live, "waits", "dardis submit --wait -- sleep 4 > id 2> said", "echo $? > code; dardis submit -- true > more"
    )
    until(lambda: (place / "id").exists() and (place / "id").read_text())
    agent = live.ranks()[1]
    os.kill(agent, signal.SIGKILL)
    until(lambda: agent not in live.ranks().values())
    live.ready()
    assert live.ended(number, 40)["state"] == "completed"
    code, said = int((place / "code").read_text()), (place / "said").read_text()
    assert code == 0, said
    assert live.job(int((place / "more").read_text()))["state"] in {"waiting", "running", "completed"}


@pytest.mark.slow
def test_jobs_on_remote_hosts_submit_and_query(live):
    for node in ("n0", "n1", "n4", "n5"):
        live.client.node(node, "drain")
    submits_and_queries(live)
    queries_while_the_agent_dies(live)


VICTIMS = ["rank 0", "rank 1", "rank 2", "keeper 0", "keeper 1", "keeper 2", "mpirun"]
HOST_CORES = 8
EARLY_MS = 100
"""Between the clocks of who runs and who kills, at most."""


def trouble(live, rng, troubles):
    """Kill, or stop for a while, so many times; when keepers were, by their hosts' ranks: Unix ms before and after."""
    kills, doomed = {rank: [] for rank in range(len(PLACES))}, set()
    for _ in range(troubles):
        time.sleep(rng.random() * 2)
        for which in rng.sample(VICTIMS, 1 if rng.random() < 0.8 else 2):
            until(lambda which=which: which in live.processes())
            with suppress(KeyError, ProcessLookupError):  # another that dies may have ended it
                process = live.processes()[which]
                if rng.random() < 0.25:
                    os.kill(process, signal.SIGSTOP)
                    time.sleep(rng.choice([rng.random(), 7 * rng.random()]))
                    os.kill(process, signal.SIGCONT)
                    continue
                kind, _, rank = which.partition(" ")
                doomed |= set() if kind == "keeper" else set(live.ranks().values())
                before_ms = time.time() * 1000
                os.kill(process, signal.SIGKILL)
                if kind == "keeper":
                    kills[int(rank)].append((before_ms, time.time() * 1000))
        if rng.random() < 0.5:
            live.ready()
    until(lambda: not doomed & set(live.ranks().values()))
    return kills


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, *range(100, 130)])
def test_acknowledged_jobs_survive_kills_on_three_hosts(live, seed):
    with under_load(live, seed) as load:
        kills = trouble(live, random.Random(seed), 10)  # noqa: S311 (a seed is to say it all)
    unknown, hosts = judge(live, load), live.hosts()
    for job in unknown:
        killed, begun_ms = kills[hosts.index(job["host"])], job["started_ms"] - EARLY_MS
        assert any(begun_ms < after and before < job["ended_ms"] for before, after in killed), f"{job} {kills}"
    for host, killed in zip(hosts, kills.values(), strict=True):
        assert sum(job["host"] == host for job in unknown) <= HOST_CORES * len(killed)
    assert load.count > 50


BEATS = "echo $DARDIS_JOB_ID >> $RAN; while :; do echo $DARDIS_NODES $(date +%s%N) >> $RAN.beats; sleep 0.1; done"


@pytest.mark.slow
def test_requeued_job_ends_on_an_unreachable_host_before_it_runs_elsewhere(live):
    def beats():
        """When the job was there, by node."""
        found = defaultdict(list)
        for line in live.ran.with_suffix(".beats").read_text().splitlines():
            node, ns = line.split()
            found[node].append(int(ns))
        return found

    for name in ("n0", "n1", "n4", "n5"):
        live.client.post(f"/nodes/{name}/drain")
    (again,) = live.submit(BEATS, requeue=True)
    (once,) = live.submit("echo $DARDIS_JOB_ID >> $RAN; sleep 500")
    until(lambda: live.lines() == {again: 1, once: 1})
    (first,) = live.job(again)["nodes"]
    for name in ("n0", "n1", "n4", "n5"):
        live.client.post(f"/nodes/{name}/resume")
    agent = live.ranks()[1]
    os.kill(agent, signal.SIGSTOP)
    until(lambda: live.job(again)["lost"], patience_s=30)
    until(lambda: live.lines()[again] == 2, patience_s=120)
    until(lambda: len(beats()) == 2)
    times = beats()
    (second,) = times.keys() - {first}
    assert max(times[first]) < min(times[second]) - 5e9, "ended well before it ran again"
    assert live.job(once)["lost"]
    os.kill(agent, signal.SIGCONT)
    until(lambda: not live.silent(), patience_s=60)
    job = live.job(once)
    assert (job["state"], job["lost"]) == ("running", False)
    assert live.lines() == {again: 2, once: 1}


def refused(tmp_path, *words):
    done = subprocess.run(
        [MPIRUN, "-n", "2", sys.executable, "-m", "dardis", "serve", *words], capture_output=True, text=True,
        check=False, timeout=60, env=os.environ | {"PYTHONPATH": str(ROOT)}, cwd=tmp_path,
    )  # fmt: skip
    lines = [line for line in done.stderr.splitlines() if line.startswith("dardis: ") or "Traceback" in line]
    return done.returncode, lines


@pytest.mark.slow
def test_error_of_any_rank_ends_all_ranks_with_one_line(tmp_path):
    (tmp_path / "f").mkdir()
    (tmp_path / "f" / "host-1").write_text("")
    (tmp_path / "p.toml").write_text(PLATFORM)
    status, (line,) = refused(tmp_path, "--folder", tmp_path / "f", "--platform", tmp_path / "p.toml")
    assert status == 2
    assert f"{tmp_path}/f/host-1: can't be created" in line
    long = tmp_path / ("f" * (107 - len(f"{tmp_path}//keeper/gateway.sock")))  # for the further host alone it is
    status, (line,) = refused(tmp_path, "--folder", long, "--platform", tmp_path / "p.toml")
    assert (status, f"{long}/host-1/keeper: too long for a socket by 7 bytes" in line) == (2, True), line
    (tmp_path / "p.toml").write_text(PLATFORM.replace("6", "1"))
    status, (line,) = refused(tmp_path, "--folder", tmp_path / "g", "--platform", tmp_path / "p.toml")
    assert (status, "has 1 nodes for 2 hosts" in line) == (2, True)
    status, (line,) = refused(tmp_path, "--folder", tmp_path / "g", "--address", "192.0.2.1")
    assert (status, "192.0.2.1" in line) == (2, True)
