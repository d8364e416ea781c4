"""The service in an allocation of a real Slurm cluster: what dies, and what goes on; and the next allocation."""

import os
import signal
import tempfile
import time
from pathlib import Path

import pytest
from kit.host_environments import Worlds
from kit.keeper import lives
from kit.live_ranks import ROOT
from kit.live_slurm import Hosts, InSlurm, tracks_by_cgroup
from kit.slurm_cluster import missing_programs
from kit.waiting import until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(missing_programs()), reason=f"needs Slurm: no {', '.join(missing_programs())}"),
    pytest.mark.skipif(not (ROOT / ".venv" / "bin" / "mpirun").exists(), reason="needs mpirun in .venv"),
]
HOSTS, OTHERS = ("ha", "hb", "hc"), ("hd", "he", "hf")
SIX = "0-5"
"""A job for each node, where each takes a whole one."""
PATIENCE_S = 40


@pytest.fixture(params=["linuxproc", "cgroup"])
def live(request):
    if request.param == "cgroup" and not tracks_by_cgroup():
        pytest.skip("Slurm can't follow processes by cgroups here")
    with tempfile.TemporaryDirectory(prefix="slurm-", dir="/tmp") as folder:  # a socket's path must be short
        Path(folder).chmod(0o755)
        worlds = Worlds(Path(folder), dict.fromkeys([*HOSTS, *OTHERS], "127.0.0.1"), {OTHERS[0]: HOSTS[0]})
        if why := worlds.hindrance(HOSTS[0]):
            pytest.skip(why)
        with Hosts(worlds, [*HOSTS, *OTHERS], request.param) as cluster, InSlurm(cluster) as live:
            yield live.start(*HOSTS)


def running(live, command, **more):
    """Six jobs that run, two on each host."""
    numbers = live.submit(command, cpus=4, array=SIX, **more)
    until(lambda: all(live.job(number)["state"] == "running" for number in numbers), patience_s=PATIENCE_S)
    return numbers


def states(live, numbers):
    """How they have ended."""
    return [live.ended(number, PATIENCE_S)["state"] for number in numbers]


def test_service_in_slurm_allocations_survives_failures(live):
    runs_on_all_hosts(live)
    for victim in ("service", "agent", "mpirun", "step"):
        service_death_ends_no_job(live, victim)
    killed_keeper_restarts(live)
    jobs_end_with_the_keeper_step(live)
    next_allocation_restores_jobs(live)


def runs_on_all_hosts(live):
    by = live.ran.with_suffix(".by")
    numbers = running(live, f"hostname >> {by}; echo $DARDIS_JOB_ID >> $RAN; sleep 1")
    assert states(live, numbers) == ["completed"] * 6
    assert sorted(by.read_text().split()) == sorted([*HOSTS, *HOSTS])
    assert live.hosts() == list(HOSTS)
    (number,) = live.submit("sleep 60")
    until(lambda: live.job(number)["state"] == "running")
    live.client.post(f"/jobs/{number}/cancel")
    assert states(live, [number]) == ["cancelled"]
    live.client.post("/nodes/n0/drain", {})
    (number,) = live.submit()
    assert states(live, [number]) == ["completed"]
    assert live.job(number)["nodes"] == ["n1"]
    live.client.post("/nodes/n0/resume", {})


def service_death_ends_no_job(live, victim):
    numbers = running(live, "sleep 6; echo $DARDIS_JOB_ID >> $RAN")
    epoch, ranks, keepers = live.client.get("/status")["epoch"], live.ranks(), live.keepers()
    if victim == "step":
        live.cluster.run("scancel", "--signal=KILL", live.step("prted"))
    else:
        process = {"service": ranks[0], "agent": ranks[1], "mpirun": live.launcher()}[victim]
        os.kill(process, signal.SIGKILL)
    until(lambda: not set(ranks.values()) & set(live.ranks().values()), patience_s=PATIENCE_S)
    live.ready()
    assert live.client.get("/status")["epoch"] == epoch + 1
    assert live.keepers() == keepers
    assert states(live, numbers) == ["completed"] * 6
    assert all(live.lines()[number] == 1 for number in numbers)


def killed_keeper_restarts(live):
    numbers = running(live, "sleep 4; echo $DARDIS_JOB_ID >> $RAN")
    keepers, epoch = live.keepers(), live.client.get("/status")["epoch"]
    os.kill(keepers[1], signal.SIGKILL)
    until(lambda: live.keepers().get(1) not in {None, keepers[1]})
    for number in numbers:
        job = live.ended(number, PATIENCE_S)
        # Before Linux 6.15 nobody can say how it has ended what the new keeper has taken up.
        assert job["state"] in ({"completed", "unknown"} if job["host"] == HOSTS[1] else {"completed"}), job
        assert live.lines()[number] == 1
    assert live.client.get("/status")["epoch"] == epoch


def jobs_end_with_the_keeper_step(live):
    (again,) = live.submit("echo $DARDIS_JOB_ID >> $RAN; [ -e $RAN.over ] || sleep 60", requeue=True)
    until(lambda: live.lines()[again])
    (number,) = live.submit("sleep 60")
    until(lambda: live.job(number)["state"] == "running")
    keepers = live.keepers()
    live.ran.with_suffix(".over").touch()
    live.cluster.run("scancel", live.step("dardis-keepers"))
    assert states(live, [again, number]) == ["completed", "unknown"]
    assert live.lines()[again] == 2
    assert not any(map(lives, keepers.values()))


def next_allocation_restores_jobs(live):
    live.ran.with_suffix(".over").unlink()
    numbers = running(live, "echo $DARDIS_JOB_ID $$ >> $RAN.runs; sleep 60")
    there = {number: live.job(number)["host"] for number in numbers}
    (waits,) = live.submit(cpus=4)
    begun_s = time.monotonic()
    live.end()
    until(lambda: live.service.poll() is not None, patience_s=PATIENCE_S)
    assert time.monotonic() - begun_s < 15  # Slurm had not to kill anything
    processes = [int(line.split()[1]) for line in live.ran.with_suffix(".runs").read_text().splitlines()]
    assert len(processes) == 6
    assert not any(map(lives, processes))
    live.start(*OTHERS)
    assert states(live, [waits]) == ["completed"]
    for number, host in there.items():
        job = live.job(number)
        if host == HOSTS[0]:  # its disk is here
            assert (job["state"], "was stopped" in job["why"]) == ("unknown", True), job
        else:
            assert (job["state"], job["lost"], job["why"]) == ("running", True, f"its host {host} was removed")
    for host in HOSTS[1:]:
        live.client.post(f"/nodes/{host}/lost", {})
    assert states(live, numbers) == ["unknown"] * 6
    live.client.post("/stop")
    until(lambda: live.service.poll() is not None, patience_s=PATIENCE_S)
    assert live.keepers() == {}
