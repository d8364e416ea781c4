"""The program that keeps idle nodes on, against a real slurmctld whose power saving switches them."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from kit.plan_folder import onoff, profile, schedule
from kit.slurm_cluster import Cluster, missing_programs, until

from dardis.model.platform import NodeGroup, NodePower, Platform
from dardis.model.step_function import StepFunction
from dardis.model.target import Switching
from offline.export.slurm_export import Mode, export_slurm
from offline.folder.plan_folder import PlanFolder

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(missing_programs()), reason=f"needs Slurm: no {', '.join(missing_programs())}"),
]
NAMES = [f"n{i}" for i in range(6)]
POWER = NodePower(idle_w=100.0, off_w=10.0, boot_s=1, shutdown_s=1)
PLATFORM = Platform("loop", (NodeGroup("n", 6, {"cores": 4}, POWER),))
IDLE_S = 3


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with tempfile.TemporaryDirectory(prefix="slurm-", dir="/tmp") as folder:  # a socket's path must be short
        Path(folder).chmod(0o755)
        with Cluster(Path(folder), NAMES, idle_s=IDLE_S, resume_s=8) as running:
            yield running


def program(cluster: Cluster, steps: list[tuple[int, int]], name: str = "spares", length_s: int = 600) -> Path:
    """That of a plan that began 5 s ago: (s from now, spares)."""
    now = int(time.time())
    spares = StepFunction.from_steps(6, [(now - 5, steps[0][1]), *((now + later, count) for later, count in steps[1:])])
    plan = PlanFolder(
        PLATFORM, 0, profile(now - 5, 1, length_s), onoff(()), schedule(), {}, {},
        Switching(spares={0: spares}, idle_s=IDLE_S),
    )  # fmt: skip
    path = cluster.folder / f"{name}.sh"
    path.write_text(export_slurm(plan, NAMES, mode=Mode.SPARES).text)
    return path


def command(cluster: Cluster, path: Path, *options: str) -> list[str]:
    folder = cluster.folder
    kept = ["--state", str(folder / "kept"), "--include", str(folder / "spares.conf"), "--poll-s", "1"]
    return ["bash", str(path), *kept, *options]


@contextmanager
def running(cluster: Cluster, path: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    log = (cluster.folder / "log").open("a")
    process = subprocess.Popen(command(cluster, path, *options), env=cluster.environment, text=True, stdout=log,
                               stderr=subprocess.STDOUT)  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        log.close()


def logged(cluster: Cluster) -> str:
    return (cluster.folder / "log").read_text()


def ended(cluster: Cluster, path: Path, *options: str, status: int = 0) -> str:
    done = cluster.run(*command(cluster, path, *options), check=False)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def on(cluster: Cluster) -> set[str]:
    return {name for name, state in cluster.states().items() if state in {"IDLE", "MIXED", "ALLOCATED"}}


def idle(cluster: Cluster) -> set[str]:
    return {name for name, state in cluster.states().items() if state == "IDLE"}


def test_idle_reserve_follows_the_plan_and_keeps_site_exclusions(cluster: Cluster) -> None:
    theirs = "SuspendExcNodes=n5\n"
    (cluster.folder / "spares.conf").write_text(theirs)
    cluster.run("scontrol", "reconfigure")
    path = program(cluster, [(0, 2), (25, 3)])
    dry = ended(cluster, path, "--dry-run")
    assert dry.count("SuspendExcNodes=n[0-5]:") == 2
    assert not (cluster.folder / "kept").exists()
    assert cluster.config("SuspendExcNodes") == "n5"
    with running(cluster, path) as first:
        until(lambda: cluster.config("SuspendExcNodes") == "n[0-5]:2,n5", "two stay on")
        for again in ([], ["--rollback"]):
            assert f"another copy runs (process {first.pid})" in ended(cluster, path, *again, status=1)
        until(lambda: idle(cluster) == {"n0", "n1", "n5"}, "the others off")
        for node in ("n0", "n1"):
            cluster.run("sbatch", "-w", node, "--exclusive", "-o", "/dev/null", "--wrap", "sleep 100")
        until(lambda: len(idle(cluster) - {"n0", "n1"}) == 2, "another node beside the one that is idle")
        assert len([line for line in cluster.power_log() if line.startswith("resume")]) == 1
        until(lambda: cluster.config("SuspendExcNodes") == "n[0-5]:3,n5", "three stay on")
        until(lambda: len(idle(cluster)) == 3, "and so they are")
    before = len(cluster.power_log())  # killed: it holds no lock, and has nothing to do again
    with running(cluster, path):
        time.sleep(4)
        assert cluster.config("SuspendExcNodes") == "n[0-5]:3,n5"
        assert len(idle(cluster)) == 3
    assert len(cluster.power_log()) == before
    ended(cluster, path, "--rollback")
    assert cluster.config("SuspendExcNodes") == "n5"
    assert (cluster.folder / "spares.conf").read_text() == theirs
    # What had gone off is powered up; and Slurm's own rule holds again, which suspends after three seconds here.
    assert any(line.startswith("resume") for line in cluster.power_log()[before:])
    assert "nothing to undo" in ended(cluster, path, "--rollback")
    assert "2 PENDING" not in cluster.run("squeue", "-h", "-o", "%i %T").stdout


def test_next_day_plan_continues_and_accepts_changes_of_the_site(cluster: Cluster) -> None:
    today, tomorrow = program(cluster, [(0, 2)], "today"), program(cluster, [(0, 1)], "tomorrow")
    with running(cluster, today):
        until(lambda: cluster.config("SuspendExcNodes") == "n[0-5]:2", "today's")
    with running(cluster, tomorrow):
        until(lambda: cluster.config("SuspendExcNodes") == "n[0-5]:1", "tomorrow's, not both")
        (cluster.folder / "spares.conf").write_text("SuspendExcNodes=n4\n")
        cluster.run("scontrol", "reconfigure")
        until(lambda: cluster.config("SuspendExcNodes") == "n[0-5]:1,n4", "the site's with it")
    assert "SuspendExcNodes is n4 now: it counts as the site's" in logged(cluster)
    ended(cluster, tomorrow, "--rollback")
    assert cluster.config("SuspendExcNodes") == "n4"


def test_drained_reserved_and_down_nodes_are_unchanged_and_unresponsive_nodes_skipped(cluster: Cluster) -> None:
    until(lambda: on(cluster) == set(), "all off")
    cluster.run("scontrol", "update", "nodename=n0", "state=drain", "reason=x")
    cluster.run("scontrol", "update", "nodename=n1", "state=down", "reason=x")
    cluster.run("scontrol", "create", "reservation", "ReservationName=theirs", "StartTime=now", "Duration=60",
                "Nodes=n2", "Users=root")  # fmt: skip
    (cluster.folder / "n3.dead").touch()
    begun = len(cluster.power_log())
    with running(cluster, program(cluster, [(0, 2)])):
        until(lambda: idle(cluster) == {"n4", "n5"}, "two of those that can")
        until(lambda: "n3 does not boot" in logged(cluster), "it is said once")
        time.sleep(3)
    log = cluster.power_log()[begun:]
    assert not [line for line in log if any(name in line for name in ("n0", "n1", "n2"))]
    assert len([line for line in log if line.startswith("resume") and "3" in line]) == 1
    assert logged(cluster).count("n3 does not boot") == 1


def test_missing_requirement_is_reported_and_nothing_changes(cluster: Cluster) -> None:
    path = program(cluster, [(0, 2)])
    config = cluster.folder / "slurm.conf"
    config.write_text(config.read_text().replace("Include", "# Include"))
    cluster.run("scontrol", "reconfigure")
    said = ended(cluster, path, status=1)
    assert "slurm.conf must include" in said
    assert (cluster.folder / "spares.conf").read_text() == "# none\n"
    lines = ended(cluster, path, "--slurm-conf")
    assert f"SuspendTime={IDLE_S}\n" in lines
    assert "Include /etc/slurm/dardis-spares.conf" not in lines  # --include says which
    assert f"Include {cluster.folder}/spares.conf" in lines
    over = program(cluster, [(0, 2)], "over", length_s=2)
    assert "this plan ended" in ended(cluster, over, status=1)
    assert ended(cluster, path, "--most-pending", "no", status=2)
    if shutil.which("shellcheck"):
        cluster.run("shellcheck", str(path))
