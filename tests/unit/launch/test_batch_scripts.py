"""The batch scripts, with launchers that run a command once: what they run, where kernels lie, what is left behind."""

import os
import shlex
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

import pytest
import typer
from kit.slurm_cluster import Cluster, missing_programs, until

from dardis.cli.scale_command import scale

LAUNCH = Path(__file__).resolve().parents[3] / "launch"
SCRIPTS = ["scale.slurm", "scale.pbs"]
PYTHON = """#!/usr/bin/env bash
printf '%s ' "$NUMBA_CACHE_DIR" "$0" "$@" >> "$LOG"; echo >> "$LOG"
[ "$FAIL" != "$4" ] || exit 3
[ -d "$NUMBA_CACHE_DIR" ]
"""
STUBS = {
    "srun": 'while [[ $1 == -* ]]; do shift; done; exec "$@"',
    "mpirun": 'while [[ $1 == -* ]]; do shift 2; done; exec "$@"',
    "sbcast": 'shift; cp "$1" "$2"',
}


@pytest.fixture
def checkout(tmp_path):
    """A folder with `launch/`, launchers in `bin/` that log what they are told, and a Python that only logs."""
    shutil.copytree(LAUNCH, tmp_path / "launch")
    for name, text in STUBS.items():
        executable(tmp_path / "bin" / name, f'#!/usr/bin/env bash\necho "{name} $*" >> "$LAUNCHED"\n{text}\n')
    executable(tmp_path / ".venv" / "bin" / "python", PYTHON)
    (tmp_path / "disk").mkdir()
    (tmp_path / "nodefile").write_text("node1\nnode1\nnode1\nnode2\nnode2\nnode2\n")
    return tmp_path


def executable(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def run(checkout, script, **more):
    environment = {
        "PATH": f"{checkout}/bin:{os.environ['PATH']}", "LOG": f"{checkout}/log", "LAUNCHED": f"{checkout}/launched",
        "FAIL": "", "DARDIS_LOCAL": f"{checkout}/disk",
        "SLURM_SUBMIT_DIR": str(checkout), "SLURM_JOB_ID": "7", "SLURM_NTASKS": "6", "SLURM_JOB_NUM_NODES": "2",
        "PBS_O_WORKDIR": str(checkout), "PBS_JOBID": "7.server", "PBS_NODEFILE": f"{checkout}/nodefile",
    }  # fmt: skip
    done = subprocess.run(
        ["bash", str(checkout / "launch" / script)], env=environment | more, cwd="/", text=True, capture_output=True,
        timeout=60, check=False,
    )  # fmt: skip
    calls = [shlex.split(line) for line in (checkout / "log").read_text().splitlines()]
    return done, calls


def parsed(call):
    """The options of a logged call of `dardis scale`, as the command itself takes them."""
    assert call[2:6] == ["-P", "-m", "dardis", "scale"]
    app = typer.Typer()
    app.command()(scale)
    return typer.main.get_command(app).make_context("scale", call[6:]).params


@pytest.mark.parametrize("script", SCRIPTS)
def test_strong_and_weak_scaling_by_bound_ranks_after_the_kernels_once_a_node(checkout, script):
    done, calls = run(checkout, script, DARDIS_OPTIONS="--arity 8 --sample all,4", DARDIS_NODES="500,1000")
    assert done.returncode == 0, done.stderr
    warm, strong, weak = calls
    assert warm[1:] == [f"{checkout}/.venv/bin/python", "-P", "-m", "dardis", "warm"]
    assert {call[0] for call in calls} == {f"{checkout}/disk/dardis-7/kernels"}
    strong, weak = parsed(strong), parsed(weak)
    assert (strong["nodes"], strong["weak"], strong["out"]) == ("500,1000", False, Path("out/scale-6/strong"))
    assert (weak["nodes"], weak["weak"], weak["out"]) == ("16384", True, Path("out/scale-6/weak"))
    for options in (strong, weak):
        assert (options["ranks"], options["arity"], options["sample"]) == ("1,2,4,6", "8", "all,4")
    assert list((checkout / "disk").iterdir()) == []
    told = (checkout / "launched").read_text().splitlines()
    [warm], scaled = ([line for line in told if words in line] for words in ("dardis warm", " scale "))
    once, every, bound = {
        "scale.slurm": ("--ntasks=2 --ntasks-per-node=1", "--ntasks=6", "--cpu-bind=cores"),
        "scale.pbs": ("-n 2 --map-by ppr:1:node", "-n 6 --map-by core", "--bind-to core"),
    }[script]
    assert once in warm
    assert bound not in warm
    assert len(scaled) == 2
    assert all(every in line and bound in line for line in scaled)


@pytest.mark.parametrize("script", SCRIPTS)
def test_the_software_is_unpacked_on_the_nodes(checkout, script):
    with tarfile.open(checkout / "venv.tar", "w") as archive:
        archive.add(checkout / ".venv", ".")
    shutil.rmtree(checkout / ".venv")
    done, calls = run(checkout, script, DARDIS_ARCHIVE=f"{checkout}/venv.tar")
    assert done.returncode == 0, done.stderr
    assert {call[1] for call in calls} == {f"{checkout}/disk/dardis-7/venv/bin/python"}
    assert list((checkout / "disk").iterdir()) == []
    assert (checkout / "venv.tar").exists()


@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.parametrize(("failing", "calls"), [("warm", 1), ("scale", 2)])
def test_a_failure_ends_the_job_and_leaves_nothing(checkout, script, failing, calls):
    done, seen = run(checkout, script, FAIL=failing)
    assert done.returncode == 3
    assert len(seen) == calls
    assert list((checkout / "disk").iterdir()) == []


@pytest.mark.slow
@pytest.mark.skipif(bool(missing_programs()), reason=f"needs Slurm: no {', '.join(missing_programs())}")
def test_a_real_slurm_runs_it(checkout):
    for name in STUBS:
        (checkout / "bin" / name).unlink()
    with tempfile.TemporaryDirectory(prefix="slurm-", dir="/tmp") as folder:  # a socket's path must be short
        Path(folder).chmod(0o755)
        with Cluster(Path(folder), ["n0", "n1", "n2"]) as cluster:
            log = f"{folder}/out.log"
            told = ["--nodes=2", "--ntasks-per-node=2", f"--output={log}"]
            names = f"--export=ALL,LOG={checkout}/log,FAIL=,DARDIS_LOCAL={folder}/disk,DARDIS_SRUN_MPI=none"
            options = shlex.join([*told, names, "launch/scale.slurm"])
            assert "to start at" in cluster.run("bash", "-c", f"cd {checkout} && sbatch --test-only {options}").stderr
            job = cluster.run("bash", "-c", f"cd {checkout} && sbatch --parsable {options}").stdout.strip()
            until(lambda: not cluster.run("squeue", "-h").stdout, "the job has ended")
            assert "JobState=COMPLETED" in cluster.run("scontrol", "show", "job", job).stdout, Path(log).read_text()
    calls = [shlex.split(line) for line in (checkout / "log").read_text().splitlines()]
    assert [call[5] for call in calls] == ["warm"] * 2 + ["scale"] * 8
    assert {parsed(call)["ranks"] for call in calls[2:]} == {"1,2,4"}


@pytest.mark.parametrize("script", [*SCRIPTS, "scale.sh", "mpirun", "demo"])
def test_the_shell_is_sound(script):
    check = ["shellcheck", "-x"] if shutil.which("shellcheck") else ["bash", "-n"]
    done = subprocess.run([*check, f"launch/{script}"], cwd=LAUNCH.parent, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
@pytest.mark.parametrize("unit", ["dardis.service"])
def test_units_are_valid(unit):
    done = subprocess.run(
        ["systemd-analyze", "verify", str(LAUNCH / unit)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
