"""The exported Slurm script against a real slurmctld and real slurmd on this machine."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from kit.plan_folder import onoff, profile, schedule
from kit.slurm_cluster import Cluster, missing_programs, until

from dardis.model.hostlist import hostlist
from dardis.model.platform import NodeGroup, NodePower, Platform
from offline.export.slurm_export import Mode, export_slurm
from offline.folder.plan_folder import PlanFolder

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(missing_programs()), reason=f"needs Slurm: no {', '.join(missing_programs())}"),
]
NAMES = [f"n{i}" for i in range(4)]
POWER = NodePower(idle_w=100.0, off_w=10.0, boot_s=4, shutdown_s=2)
PLATFORM = Platform("loop", (NodeGroup("n", 4, {"cores": 4}, POWER),))


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with tempfile.TemporaryDirectory(prefix="slurm-", dir="/tmp") as folder:  # a socket's path must be short
        Path(folder).chmod(0o755)
        with Cluster(Path(folder), NAMES) as running:
            yield running


def script(cluster: Cluster, actions: list[tuple[int, int, bool]], start: int, length_s: int = 600) -> Path:
    """The script of a plan that begins at `start` (Unix) with actions (s after it, node, on)."""
    moved = tuple((start + time, node, on) for time, node, on in sorted(actions))
    plan = PlanFolder(PLATFORM, 0, profile(start, 1, length_s), onoff(moved), schedule(), {})
    path = cluster.folder / "plan.sh"
    path.write_text(export_slurm(plan, NAMES, mode=Mode.WINDOWS).text)
    return path


def ended(cluster: Cluster, *command: str, status: int = 0) -> str:
    done = cluster.run("bash", *command, "--state", str(cluster.folder / "kept"), check=False)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def start_script(cluster: Cluster, path: Path, *options: str) -> subprocess.Popen[str]:
    """The script, looking after nodes every second."""
    command = ["bash", str(path), "--poll-s", "1", "--state", str(cluster.folder / "kept"), *options]
    return subprocess.Popen(
        command, env=cluster.environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )


def test_steps_reservations_catching_up_and_rollback(cluster: Cluster) -> None:
    start = int(time.time()) - 5
    actions = [(0, 0, False), (0, 1, False), (1, 2, False), (3, 2, True), (9, 3, False), (16, 0, True)]
    path = script(cluster, actions, start)
    dry = ended(cluster, str(path), "--dry-run")
    assert cluster.reservations() == {}
    assert cluster.power_log() == []
    assert dry.count("create reservation") == 4
    running = start_script(cluster, path)
    try:
        until(lambda: "POWERED_DOWN" in cluster.states()["n0"], "n0 off")
        told = cluster.states()
        assert "POWER" in told["n1"]
        assert "POWER" not in told["n2"]  # its time off is over
        kept = cluster.reservations()
        assert {"n0", "n1", "n3"} <= {r["Nodes"] for r in kept.values()}
        assert all(name.startswith("dardis_") for name in kept)
        out, _ = running.communicate(timeout=60)
    finally:
        running.kill()
    assert running.returncode == 0, out
    assert "all steps done" in out
    states = cluster.states()
    assert {name for name, state in states.items() if "POWERED_DOWN" in state or "POWERING_DOWN" in state} == {
        "n1",
        "n3",
    }
    assert "resume n0" in cluster.power_log()
    assert "n2" not in " ".join(cluster.power_log())
    before = set(cluster.reservations())
    ended(cluster, str(path), "--poll-s", "1")  # again: nothing twice
    assert set(cluster.reservations()) <= before
    assert cluster.power_log().count("suspend n3") == 1
    ended(cluster, str(path), "--rollback")
    assert cluster.reservations() == {}
    until(lambda: all("POWER" not in state for state in cluster.states().values()), "all up")


def test_busy_node_goes_down_after_its_job_and_jobs_avoid_reserved_nodes(cluster: Cluster) -> None:
    cluster.run("sbatch", "-w", "n0", "-o", "/dev/null", "--wrap", "sleep 8")
    until(lambda: "MIXED" in cluster.states()["n0"] or "ALLOCATED" in cluster.states()["n0"], "the job runs")
    path = script(cluster, [(0, 0, False), (0, 1, False)], int(time.time()))
    running = start_script(cluster, path)
    try:
        until(lambda: "POWERED_DOWN" in cluster.states()["n1"], "the idle one is off")
        state = cluster.states()["n0"]
        assert "POWER" not in state
        assert "DRAIN" not in state
        cluster.run("sbatch", "-N1", "--exclusive", "-o", "/dev/null", "--wrap", "sleep 30", "-w", "n1")
        cluster.run("sbatch", "-N1", "--exclusive", "-o", "/dev/null", "--wrap", "sleep 1")
        out, _ = running.communicate(timeout=60)
    finally:
        running.kill()
    assert running.returncode == 0, out
    until(lambda: "POWERED_DOWN" in cluster.states()["n0"], "off when its job has ended")
    # Job 2 waits for the end of the reservation, and wakes no node.
    assert "2 PENDING" in cluster.run("squeue", "-h", "-o", "%i %T").stdout
    assert cluster.run("scontrol", "show", "job", "1").stdout.count("JobState=COMPLETED")
    assert not any(line.startswith("resume") for line in cluster.power_log())
    # A job that was sent to a node that has been brought back does run.
    ended(cluster, str(path), "--rollback")
    until(
        lambda: ["2", "RUNNING"] in [x.split() for x in cluster.run("squeue", "-h", "-o", "%i %T").stdout.splitlines()],
        "job 2",
    )


def test_reservations_of_others_are_unchanged(cluster: Cluster) -> None:
    now = int(time.time())
    theirs = ("ReservationName=theirs", "StartTime=now", "Duration=60", "Nodes=n[1-2]", "Users=root")
    cluster.run("scontrol", "create", "reservation", *theirs)
    path = script(cluster, [(0, 0, False), (0, 1, False), (0, 2, False), (300, 1, True)], now)
    out = ended(cluster, str(path), "--now")
    assert "n1 has another reservation (theirs): it does not change" in out
    assert cluster.power_log() == ["suspend n0"]
    assert {field["Nodes"] for field in cluster.reservations().values()} == {"n0", "n[1-2]"}
    ended(cluster, str(path), "--rollback")
    assert set(cluster.reservations()) == {"theirs"}


def test_no_node_goes_down_while_many_jobs_wait(cluster: Cluster) -> None:
    for node in ("n2", "n3"):
        cluster.run("sbatch", "-w", node, "--exclusive", "-o", "/dev/null", "--wrap", "sleep 6")
    for _ in range(3):
        cluster.run("sbatch", "-w", "n3", "--exclusive", "-o", "/dev/null", "--wrap", "sleep 1")
    running = start_script(cluster, script(cluster, [(0, 0, False)], int(time.time())), "--most-pending", "2")
    try:
        assert running.stdout is not None
        until(lambda: "jobs wait for nodes: none is powered down" in running.stdout.readline(), "it says so")
        assert cluster.power_log() == []
        until(lambda: "POWERED_DOWN" in cluster.states()["n0"], "when fewer wait")
    finally:
        running.kill()
        running.communicate()


def test_hostlists_and_shell_are_sound(cluster: Cluster) -> None:
    for text in ("n0 n1 n2 n7", "n08 n09 n10 n11", "a1 a01 b a2", "x-9 x-10 r1c2 r1c3"):
        names = text.split()
        told = cluster.run("scontrol", "show", "hostnames", hostlist(names)).stdout.split()
        assert sorted(told) == sorted(names)
    if shutil.which("shellcheck"):
        cluster.run("shellcheck", str(script(cluster, [(0, 0, False)], 0)))
