"""What `launch/serve` starts the service by, and when it starts it again; with launchers that only say what they do."""

import fcntl
import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from kit.keeper import until

LAUNCH = Path(__file__).resolve().parents[3] / "launch"
DARDIS = """#!/usr/bin/env bash
echo "dardis $*" >> "$LOG"
read -r status < "$ENDS"
sed -i 1d "$ENDS"
case $status in
0) echo "dardis: stopped" ;;
lost) exit 0 ;;
esac
exit "$status"
"""
SERVING = """#!/usr/bin/env bash
trap 'echo ended >> "$LOG"; echo "dardis: stopped"; exit 0' TERM
echo "dardis serves" >> "$LOG"
while true; do sleep 0.05; done
"""
MPIRUN = """#!/usr/bin/env bash
if [ "$1" = --version ]; then echo "$MPI"; exit; fi
echo "mpirun $*" >> "$LOG"
while [[ $1 == -* ]]; do shift 2; done
exec "$@"
"""
SRUN = """#!/usr/bin/env bash
echo "srun $*" >> "$LOG"
echo "overlap ${SLURM_OVERLAP:-}" >> "$LOG"
while [[ $1 == -* ]]; do shift; done
[[ $1 != */launch/keeper ]] || exec sleep 0.5
exec "$@"
"""
PYTHON = """#!/usr/bin/env bash
echo "python $*" >> "$LOG"
trap 'echo told >> "$LOG"; exit' TERM
sleep 0.5
echo over >> "$LOG"
"""
SHELL = """#!/usr/bin/env bash
[ "$2" = true ] && [ -e "$UP/$1" ]
"""
SQUEUE = """#!/usr/bin/env bash
[ "$1 $2" = "--noheader --jobs=7" ] && echo "$STATE"
"""


@pytest.fixture
def checkout(tmp_path):
    (tmp_path / "launch").mkdir()
    for name in ("serve", "mpirun", "keeper"):
        shutil.copy(LAUNCH / name, tmp_path / "launch")
    for place, text in {
        "dardis": DARDIS,
        "mpirun": MPIRUN,
        "srun": SRUN,
        "squeue": SQUEUE,
        "python": PYTHON,
        "shell": SHELL,
    }.items():
        path = tmp_path / ".venv" / "bin" / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
    (tmp_path / "up").mkdir()
    for host in "abc":
        (tmp_path / "up" / host).touch()
    return tmp_path


def run(checkout, *words, ends="0", mpi="Open MPI 5", **more):
    (checkout / "ends").write_text(ends.replace(" ", "\n") + "\n")
    environment = {
        "PATH": f"{checkout}/.venv/bin:{os.environ['PATH']}", "LOG": f"{checkout}/log", "ENDS": f"{checkout}/ends",
        "MPI": mpi, "HOME": str(checkout), "STATE": "RUNNING", "UP": f"{checkout}/up",
        "PRTE_MCA_plm_ssh_agent": f"{checkout}/.venv/bin/shell", **more,
    }  # fmt: skip
    done = subprocess.run(
        [checkout / "launch" / "serve", *words], env=environment, cwd="/", text=True, capture_output=True, timeout=60,
        check=False,
    )  # fmt: skip
    return done, (checkout / "log").read_text().splitlines()


@pytest.mark.parametrize(("mpi", "words"), [
    ("mpirun (Open MPI) 5.0.8", "--host a,b,c --map-by ppr:1:node -n 3"),
    ("HYDRA build details", "-hosts a,b,c -ppn 1 -n 3"),
])  # fmt: skip
def test_hosts_are_a_rank_each(checkout, mpi, words):
    done, calls = run(checkout, "--hosts", "a,b,c", "--folder", "/f", mpi=mpi)
    assert done.returncode == 0, done.stderr
    assert calls == [
        f"mpirun {words} {checkout}/.venv/bin/dardis serve --folder /f", "dardis serve --folder /f",
    ]  # fmt: skip


def test_hosts_that_cannot_be_reached_are_left_out(checkout):
    (checkout / "up" / "b").unlink()
    done, calls = run(checkout, "--hosts", "a,b:2,c", ends="1 0")
    assert done.returncode == 0, done.stderr
    assert [call.split(" --map-by")[0] for call in calls if call.startswith("mpirun")] == ["mpirun --host a,c"] * 2
    assert "b:2 can't be reached; the others serve" in done.stderr


def test_all_hosts_serve_when_one_that_was_absent_is_back(checkout):
    (checkout / "up" / "b").unlink()
    (checkout / ".venv" / "bin" / "dardis").write_text(SERVING)
    environment = {
        "PATH": f"{checkout}/.venv/bin:{os.environ['PATH']}", "LOG": f"{checkout}/log", "MPI": "Open MPI",
        "UP": f"{checkout}/up", "PRTE_MCA_plm_ssh_agent": f"{checkout}/.venv/bin/shell", "DARDIS_LOOK_S": "0.2",
    }  # fmt: skip
    words = [checkout / "launch" / "serve", "--hosts", "a,b"]
    with subprocess.Popen(words, env=environment, stderr=subprocess.PIPE, text=True) as process:
        try:
            log = checkout / "log"
            until(lambda: log.exists() and "dardis serves" in log.read_text())
            time.sleep(0.6)
            assert "ended" not in log.read_text()
            (checkout / "up" / "b").touch()
            until(lambda: log.read_text().count("dardis serves") == 2)
            process.terminate()
            _, said = process.communicate(timeout=30)
        finally:
            process.kill()
    assert process.returncode == 143
    assert "b: reached again" in said
    calls = log.read_text().splitlines()
    assert [call.split(" --map-by")[0] for call in calls if call.startswith("mpirun")] == [
        "mpirun --host a", "mpirun --host a,b",
    ]  # fmt: skip
    assert calls.count("ended") == 2


def test_without_the_first_host_there_is_no_service(checkout):
    (checkout / "up" / "a").unlink()
    environment = {
        "PATH": f"{checkout}/.venv/bin:{os.environ['PATH']}", "LOG": f"{checkout}/log", "UP": f"{checkout}/up",
        "PRTE_MCA_plm_ssh_agent": f"{checkout}/.venv/bin/shell",
    }  # fmt: skip
    words = [checkout / "launch" / "serve", "--hosts", "a,b"]
    with subprocess.Popen(words, env=environment, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert "a can't be reached" in process.stderr.readline()
            process.terminate()
            assert process.wait(30) == 1
        finally:
            process.kill()
    assert not (checkout / "log").exists()


def test_its_help_is_that_of_the_service(checkout):
    done, calls = run(checkout, "--help", ends="lost")
    assert (done.returncode, calls) == (0, ["dardis serve --help"])
    for more in ((), ("",), ("a,,b",), ("a,",)):
        words = [checkout / "launch" / "serve", "--hosts", *more]
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=30)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert "expected names with commas between them" in done.stderr


@pytest.mark.parametrize("count", ["x", "0", "-1", "1.5", ""])
def test_a_number_of_hosts_is_one(checkout, count):
    words = [checkout / "launch" / "serve", "-n", count]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=30)
    assert (done.returncode, done.stderr) == (2, f"dardis: -n: '{count}'; expected how many hosts\n")


def test_one_machine_may_be_several_hosts_or_itself(checkout):
    assert run(checkout, "-n", "3")[1] == [f"mpirun -n 3 {checkout}/.venv/bin/dardis serve", "dardis serve"]
    (checkout / "log").unlink()
    assert run(checkout, "--users", SLURM_JOB_NUM_NODES="1")[1] == ["dardis serve --users"]


def test_what_dies_is_started_again_until_it_is_stopped_or_says_what_is_wrong(checkout):
    for ends, status in [("137 1 0", 0), ("143 2", 2), ("137 3", 3)]:
        done, calls = run(checkout, "-n", "2", ends=ends)
        assert done.returncode == status
        assert calls.count("dardis serve") == len(ends.split())
        assert done.stderr.count("it is started again") == len(ends.split()) - 1
        (checkout / "log").unlink()


def test_a_launcher_that_has_lost_a_host_and_says_nothing_of_it_is_started_again(checkout):
    done, calls = run(checkout, "--hosts", "a,b", ends="lost 0")
    assert done.returncode == 0
    assert calls.count("dardis serve") == 2
    assert done.stderr.count("it is started again") == 1


ONCE = "srun --nodes=4 --ntasks=4 --ntasks-per-node=1 --mem=0 --cpu-bind=none"
KEEPERS = f"{ONCE} --mpi=none --job-name=dardis-keepers --kill-on-bad-exit=0 --wait=0"
ALLOCATION = {"SLURM_JOB_ID": "7", "SLURM_JOB_NUM_NODES": "4"}


@pytest.mark.parametrize(("words", "folder"), [
    ((), "{home}/.local/state/dardis"), (("--folder", "/f//g"), "/f/g"), (("--folder=/f",), "/f"),
])  # fmt: skip
def test_in_an_allocation_keepers_are_a_step_of_their_own(checkout, words, folder):
    folder = folder.format(home=checkout)
    done, calls = run(checkout, *words, ends="1 0", **ALLOCATION)
    assert done.returncode == 0, done.stderr
    service = " ".join([f"{checkout}/.venv/bin/dardis serve --keepers-apart", *words])
    assert calls.count(f"mpirun --map-by ppr:1:node -n 4 {service}") == 2
    keepers = [call for call in calls if call.startswith("srun")]
    assert set(keepers) == {f"{KEEPERS} {checkout}/launch/keeper {folder}"}
    assert len(keepers) <= 2  # again only where it has ended
    assert "overlap 1" in calls


def test_ranks_may_be_started_by_srun(checkout):
    done, calls = run(checkout, ends="1 0", DARDIS_SRUN_MPI="pmi2", **ALLOCATION)
    assert done.returncode == 0, done.stderr
    service = f"{checkout}/.venv/bin/dardis serve --keepers-apart"
    assert calls.count(f"{ONCE} --mpi=pmi2 --kill-on-bad-exit=1 {service}") == 2


def test_a_host_is_served_where_it_is(checkout):
    """By a step where whoever has an allocation of one host isn't there."""
    one = ALLOCATION | {"SLURM_JOB_NUM_NODES": "1"}
    assert run(checkout, SLURMD_NODENAME="n", **one)[1] == ["dardis serve"]
    (checkout / "log").unlink()
    assert (
        f"mpirun --map-by ppr:1:node -n 1 {checkout}/.venv/bin/dardis serve --keepers-apart" in run(checkout, **one)[1]
    )


@pytest.mark.parametrize(("states", "again"), [
    ("COMPLETING", 0), ("", 0), ("slurm_load_jobs error: Invalid job id specified", 0), ("RUNNING", 1),
    ("slurm_load_jobs error: Unable to contact slurm controller", 1),
])  # fmt: skip
def test_it_ends_with_its_allocation(checkout, states, again):
    done, calls = run(checkout, ends="1 0", STATE=states, **ALLOCATION)
    assert calls.count("dardis serve --keepers-apart") == 1 + again
    assert done.returncode == 1 - again


def test_a_host_has_a_keeper_again_when_it_dies_until_its_step_is_told_to_end(checkout):
    log = checkout / "log"
    environment = {"PATH": os.environ["PATH"], "LOG": str(log)}
    step = subprocess.Popen([checkout / "launch" / "keeper", checkout / "s" / "f"], env=environment)
    words = f"python -P -m dardis.live.keeper {checkout}/s/f/keeper --step --cgroups=none"
    try:
        until(lambda: log.exists() and log.read_text().splitlines().count(words) >= 3)
        with (checkout / "s" / "f" / "keeper" / "keeper.lock").open() as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # another one has it
            until(lambda: log.read_text().splitlines()[-1] == "over")
            time.sleep(1.5)
            count = len(log.read_text().splitlines())
            time.sleep(1.5)
            assert len(log.read_text().splitlines()) == count
        until(lambda: len(log.read_text().splitlines()) > count)
        step.terminate()
        assert step.wait(10) == 0
        assert log.read_text().splitlines()[-1] in {"over", "told"}
    finally:
        step.kill()
        step.wait()
    assert ((checkout / "s").stat().st_mode & 0o777, (checkout / "s" / "f" / "keeper").stat().st_mode & 0o777) == (
        0o700,
    ) * 2
