"""`dardis steer` over a real slurmctld and real slurmd on this machine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from kit.actual import actual
from kit.slurm_cluster import Cluster, missing_programs, stop, until
from kit.steering import easy_anew
from kit.waiting import until as until_slow

from dardis.model.hostlist import names_of
from dardis.model.platform import NodeGroup, Platform
from dardis.model.target import Target
from dardis.registry import find_dispatcher
from dardis.runs.play import play
from dardis.slurm.reservation_lease import LEASE_S
from dardis.slurm.slurm_client import PROGRAMS, InstalledPrograms
from dardis.slurm.steerer import Steerer
from dardis.slurm.steering_log import Entry, Event, SteeringLog, compare_with_slurm
from dardis.slurm.steering_setup import SteeringOptions, steering

pytestmark = pytest.mark.skipif(bool(missing_programs()), reason=f"needs Slurm: no {', '.join(missing_programs())}")
NODES = 6
KILLS = 100
TAKE_OVER_S = LEASE_S + 30
LOAD_S = 30
"""Allowance for a loaded machine."""


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with tempfile.TemporaryDirectory(prefix="slurm-", dir="/tmp") as folder:  # a socket's path must be short
        Path(folder).chmod(0o755)
        with Cluster(Path(folder), [f"n{place}" for place in range(NODES)]) as running:
            yield running


def submit(cluster: Cluster, count: int, *options: str, seconds: str = "1") -> list[int]:
    """Jobs that note their numbers when they run."""
    command = f"echo $SLURM_JOB_ID >> {cluster.folder}/ran; sleep {seconds}"
    return [
        int(cluster.run("sbatch", "--parsable", "--output=/dev/null", *options, "--wrap", command).stdout)
        for _ in range(count)
    ]


def ran(cluster: Cluster) -> list[int]:
    path = cluster.folder / "ran"
    return sorted(map(int, path.read_text().split())) if path.exists() else []


def waiting(cluster: Cluster) -> int:
    return len(cluster.run("squeue", "-h", "--states=PD").stdout.splitlines())


def steer(cluster: Cluster, *options: str) -> subprocess.Popen[str]:
    words = [sys.executable, "-m", "dardis", "steer", str(cluster.folder / "steer"), *options]
    with (cluster.folder / "steer.out").open("a") as out:
        return subprocess.Popen(words, env=cluster.environment, stdout=out, stderr=out, text=True)


def install(cluster: Cluster) -> subprocess.Popen[str]:
    return steer(cluster, "--partition", "all", "--install", "--every", "1", "--keep-running")


def log(cluster: Cluster) -> list[Entry]:
    found = SteeringLog(cluster.folder / "steer").entries()
    assert compare_with_slurm(found).violations == []
    return found


def test_jobs_of_many_kinds_start_as_decided(cluster: Cluster) -> None:
    steerer = install(cluster)
    until(cluster.reservations, "the lease")
    jobs = submit(cluster, 8, "-n1", "-t5") + submit(cluster, 3, "-N2", "--exclusive", "-t3")
    jobs += submit(cluster, 2, "-N3", "--ntasks-per-node=2", "-t2") + submit(cluster, 1, "-wn5", "-t2")
    jobs += submit(cluster, 1, "-N1", "-xn[0-4]") + submit(cluster, 1, "-N2", "--contiguous")
    submit(cluster, 1, "--array=1-3%2", "-t1")
    (held,) = submit(cluster, 1, "--hold")
    until_slow(lambda: len(ran(cluster)) == len(jobs) + 3, "all jobs have run")
    cluster.run("scontrol", "release", str(held))
    until_slow(lambda: held in ran(cluster), "the released job has run")
    steerer.terminate()
    assert steerer.wait(60) == 0
    until(lambda: not cluster.reservations(), "the reservation is gone")
    entries = log(cluster)
    assert {entry.event for entry in entries} == {
        Event.LEASE, Event.START, Event.STARTED, Event.ENDED, Event.PASSED, Event.RETURNED,
    }  # fmt: skip
    assert len(ran(cluster)) == len({*ran(cluster)}) == 20


@pytest.mark.slow
def test_devices_memory_features_and_licences_are_those_of_real_slurm() -> None:
    kinds = ["Gres=gpu:a100:2 Feature=fast", "Gres=gpu:a100:2 Feature=fast,big", "Gres=gpu:h100:1 Feature=slow", ""]
    memory = [1000, 1000, 1000, 4000]
    words = {f"n{place}": f"RealMemory={memory[place]} {kind}" for place, kind in enumerate(kinds)}
    with tempfile.TemporaryDirectory(prefix="slurm-", dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        for device in range(2):
            (Path(folder) / f"dev{device}").touch()
        (Path(folder) / "gres.conf").write_text(
            f"NodeName=n[0-1] Name=gpu Type=a100 File={folder}/dev[0-1]\n"
            f"NodeName=n2 Name=gpu Type=h100 File={folder}/dev0\n"
        )
        more = "GresTypes=gpu\nLicenses=lic:1"
        with Cluster(Path(folder), [*words], words=words, select="CR_Core_Memory", more=more) as cluster:
            steerer = install(cluster)
            until(cluster.reservations, "the lease")
            small = ("-t5", "--mem=100")
            jobs = [
                submit(cluster, 1, *options)[0]
                for options in (
                    (*small, "--gres=gpu:a100:2"), (*small, "--gres=gpu:1"), (*small, "--gpus=h100:1"),
                    (*small, "-n2", "--gpus-per-task=1"), (*small, "-N2", "--gpus-per-node=1"),
                    ("-t5", "--mem=3500"), ("-t5", "-n2", "--mem-per-cpu=500"), ("-t5", "--mem=0"), ("-t5",),
                    (*small, "-C", "fast&big"), (*small, "-C", "slow|big", "-N2"), (*small, "-L", "lic:1"),
                    (*small, "-L", "lic:1"), (*small, "--exclusive", "-x", "n[0-2]"),
                )
            ]  # fmt: skip
            until_slow(lambda: ran(cluster) == jobs, "all jobs have run", patience_s=180)
            steerer.terminate()
            assert steerer.wait(60) == 0
            assert {entry.event for entry in log(cluster)} <= {
                Event.LEASE, Event.START, Event.STARTED, Event.ENDED, Event.RETURNED,
            }  # fmt: skip


@pytest.mark.slow
def test_drained_nodes_reservations_requeue_and_changes_by_users(cluster: Cluster) -> None:
    steerer = install(cluster)
    until(cluster.reservations, "the lease")
    cluster.run("scontrol", "update", "NodeName=n0", "State=DRAIN", "Reason=test")
    cluster.run(
        "scontrol", "create", "reservation", "ReservationName=course", "StartTime=now", "EndTime=now+600seconds",
        "Nodes=n1", "Users=root", "Flags=OVERLAP,IGNORE_JOBS",
    )  # fmt: skip
    until(lambda: len(cluster.reservations()) == 2, "the other reservation")
    time.sleep(3)  # a round has read it
    long = submit(cluster, 4, "-n4", "-t5", seconds="100")
    (changed,) = submit(cluster, 1, "-n4", "-t5")
    (cancelled,) = submit(cluster, 1, "-n4", "-t5")
    until_slow(lambda: ran(cluster) == long, "jobs on the open nodes")
    assert "n0" not in (told := cluster.run("squeue", "-h", "-tR", "-o", "%N").stdout)
    assert "n1" not in told
    cluster.run("scontrol", "update", f"JobId={changed}", "NumCPUs=1", "TimeLimit=3")
    cluster.run("scancel", str(cancelled))
    cluster.run("scontrol", "requeue", str(long[0]))
    until_slow(lambda: ran(cluster).count(long[0]) == 2, "the job ran again", patience_s=300)
    cluster.run("scancel", *map(str, long))
    until_slow(lambda: changed in ran(cluster), "the changed job ran", patience_s=180)
    assert cancelled not in ran(cluster)
    steerer.terminate()
    assert steerer.wait(60) == 0
    log(cluster)


class InThisProcess:
    """A steerer whose rounds the test makes."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.log = SteeringLog(folder)
        options = SteeringOptions("all", "easy")
        programs = InstalledPrograms(PROGRAMS)
        self.steerer: Steerer = steering(options, programs, folder, lambda: int(time.time()), time.monotonic)
        self.steerer.begin()

    def rounds(self, cluster: Cluster) -> None:
        """A round a second until nothing waits or runs."""
        end = time.monotonic() + 600
        is_last = False
        while not is_last:
            assert time.monotonic() < end
            begun = int(time.time())
            is_last = not cluster.run("squeue", "-h").stdout
            self.steerer.round()
            until(lambda begun=begun: int(time.time()) > begun, "the next second")


@pytest.mark.slow
def test_easy_steered_equals_easy_simulated(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SLURM_CONF", "PATH"):
        monkeypatch.setenv(name, cluster.environment[name])
    mine = InThisProcess(cluster.folder / "steer")
    random = np.random.default_rng(7)
    asked = {}
    for limit in (random.permutation(200) + 1).tolist():  # they differ, since a second decides about equal ones
        wide, cores = (int(size) for size in random.integers(1, [4, 5]))
        options = (f"-N{wide}", f"--ntasks-per-node={cores}", f"-t{limit}")
        (number,) = submit(cluster, 1, *options, seconds=f"{random.uniform(0.5, 4):.1f}")
        asked[number] = wide, cores, limit
    mine.rounds(cluster)
    entries = mine.log.entries()
    assert compare_with_slurm(entries).violations == []
    begun = {int(entry.job): entry for entry in entries if entry.event is Event.START}
    ended = {int(entry.job): entry.at for entry in entries if entry.event is Event.ENDED}
    first = min(entry.at for entry in begun.values())
    jobs = [
        actual(
            number, first, first, None, 60 * limit, wide, (cores,), 1, runtime=ended[number] - begun[number].at,
        )
        for number, (wide, cores, limit) in asked.items()
    ]  # fmt: skip
    machine = Platform("all", (NodeGroup("n", NODES, {"cores": 4}),))
    easy = find_dispatcher("easy", ("units_per_node=distinct",))
    schedule = play(machine, jobs, easy, Target(), 1).schedule
    simulated = {
        int(schedule.number[place]): (
            int(schedule.start[place]), sorted(f"n{node}" for node in schedule.placed.of(place)[0].tolist()),
        )
        for place in range(len(jobs))
    }  # fmt: skip
    steered = {number: (entry.at, sorted(names_of(entry.nodes))) for number, entry in begun.items()}
    anew = {number: (at, [f"n{node}" for node in nodes]) for number, (at, nodes) in easy_anew(jobs, machine).items()}
    assert steered == anew
    # The simulation keeps reservations between instants, perhaps on other nodes.
    print(f"{sum(steered[number] == simulated[number] for number in steered)} of {len(steered)} as simulated")


@pytest.mark.slow
def test_each_job_runs_once_whenever_the_steerer_is_killed(cluster: Cluster) -> None:
    random = np.random.default_rng(11)
    jobs: list[int] = []
    for _ in range(KILLS):
        steerer = install(cluster)
        jobs += submit(cluster, 5, "-n1", "-t1", seconds=f"{random.uniform(0.2, 3):.1f}")
        time.sleep(float(random.uniform(0.5, 5)))  # the moment of the kill is random, whatever happens until then
        assert steerer.poll() is None
        steerer.send_signal(signal.SIGKILL)
        steerer.wait()
    left = waiting(cluster)
    begun = time.monotonic()
    until_slow(lambda: not waiting(cluster), f"{left} jobs started by Slurm", patience_s=TAKE_OVER_S + 120)
    assert time.monotonic() - begun < TAKE_OVER_S + LOAD_S + left / 5
    until_slow(lambda: not cluster.run("squeue", "-h").stdout, "all ended")
    assert ran(cluster) == jobs
    assert sum(entry.event is Event.START for entry in log(cluster)) > KILLS


@pytest.mark.slow
def test_lapses_and_restarts_beside_running_jobs(cluster: Cluster) -> None:
    steerer = install(cluster)
    until(cluster.reservations, "the lease")
    long = submit(cluster, 3, "-n4", "-t9", seconds="200")
    until_slow(lambda: ran(cluster) == long, "long jobs run")
    steerer.terminate()
    assert steerer.wait(60) == 0
    steerer = install(cluster)  # Slurm still shows the reservation that has ended
    jobs = submit(cluster, 2, "-n4", "-t1")
    until_slow(lambda: len(ran(cluster)) == 5, "jobs start under the new lease", patience_s=120)
    steerer.send_signal(signal.SIGSTOP)
    jobs += submit(cluster, 2, "-n4", "-t1")
    until_slow(lambda: len(ran(cluster)) == 7, "Slurm starts jobs itself", patience_s=TAKE_OVER_S + 60)
    steerer.send_signal(signal.SIGCONT)
    jobs += submit(cluster, 2, "-n4", "-t1")
    until_slow(lambda: len(ran(cluster)) == 9, "jobs start under the lease that was taken again", patience_s=120)
    assert ran(cluster) == sorted([*long, *jobs])
    cluster.run("scancel", *map(str, long))
    steerer.terminate()
    assert steerer.wait(60) == 0
    log(cluster)


@pytest.mark.slow
def test_slurmctld_that_restarts_is_slow_or_is_absent(cluster: Cluster) -> None:
    steerer = install(cluster)
    until(cluster.reservations, "the lease")
    jobs = submit(cluster, 20, "-n2", "-t1", seconds="2")

    def controller() -> int:
        return int((cluster.folder / "slurmctld.pid").read_text())

    stop([cluster.folder / "slurmctld.pid"])
    cluster.run("slurmctld", "-f", f"{cluster.folder}/slurm.conf")
    jobs += submit(cluster, 20, "-n2", "-t1", seconds="2")
    until_slow(lambda: len(ran(cluster)) > 20, "jobs start after a restart")
    os.kill(controller(), signal.SIGSTOP)
    time.sleep(25)  # longer than the time limit of a call
    os.kill(controller(), signal.SIGCONT)
    jobs += submit(cluster, 10, "-n2", "-t1", seconds="2")
    until_slow(lambda: len(ran(cluster)) > 40, "jobs start after a pause")
    stop([cluster.folder / "slurmctld.pid"])
    time.sleep(LEASE_S + 5)  # the lease ends meanwhile
    cluster.run("slurmctld", "-f", f"{cluster.folder}/slurm.conf")
    jobs += submit(cluster, 10, "-n2", "-t1", seconds="2")
    until_slow(lambda: len(ran(cluster)) == len(jobs), "all jobs have run", patience_s=300)
    assert ran(cluster) == jobs
    assert steerer.poll() is None
    steerer.terminate()
    assert steerer.wait(60) == 0
