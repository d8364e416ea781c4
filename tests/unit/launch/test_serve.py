"""What `launch/serve` starts the service by, and when it starts it again; with launchers that only say what they do."""

import fcntl
import os
import shutil
import signal
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from kit.live import Live
from kit.waiting import until

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
    texts = {"dardis": DARDIS, "mpirun": MPIRUN, "srun": SRUN, "squeue": SQUEUE, "python": PYTHON, "shell": SHELL}
    for place, text in texts.items():
        path = tmp_path / ".venv" / "bin" / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
    (tmp_path / "up").mkdir()
    for host in "abc":
        (tmp_path / "up" / host).touch()
    return tmp_path


def environment(checkout, **more):
    return {
        "PATH": f"{checkout}/.venv/bin:{os.environ['PATH']}", "LOG": f"{checkout}/log", "ENDS": f"{checkout}/ends",
        "MPI": "Open MPI 5", "HOME": str(checkout), "STATE": "RUNNING", "UP": f"{checkout}/up",
        "PRTE_MCA_plm_ssh_agent": f"{checkout}/.venv/bin/shell", **more,
    }  # fmt: skip


def run(checkout, *words, ends="0", **more):
    (checkout / "ends").write_text(ends.replace(" ", "\n") + "\n")
    (checkout / "log").unlink(missing_ok=True)
    done = subprocess.run(
        [checkout / "launch" / "serve", *words], env=environment(checkout, **more), cwd="/", text=True,
        capture_output=True, timeout=60, check=False,
    )  # fmt: skip
    return done, (checkout / "log").read_text().splitlines()


@contextmanager
def start_serve(checkout, *words, **more):
    """The same, which goes on."""
    command = [checkout / "launch" / "serve", *words]
    with subprocess.Popen(command, env=environment(checkout, **more), stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def test_unreachable_hosts_are_skipped_until_they_return(checkout):
    (checkout / "up" / "b").unlink()
    (checkout / ".venv" / "bin" / "dardis").write_text(SERVING)
    with start_serve(checkout, "--hosts", "a,b:2", DARDIS_LOOK_S="0.2") as process:
        log = checkout / "log"
        until(lambda: log.exists() and "dardis serves" in log.read_text())
        assert "b:2: unreachable; the service starts without" in process.stderr.readline()
        (checkout / "up" / "b").touch()
        until(lambda: log.read_text().count("dardis serves") == 2)
        process.terminate()
        _, said = process.communicate(timeout=30)
    assert process.returncode == 143
    assert "b:2: a host is reachable again" in said
    calls = log.read_text().splitlines()
    assert [call.split(" --map-by")[0] for call in calls if call.startswith("mpirun")] == [
        "mpirun --host a", "mpirun --host a,b:2",
    ]  # fmt: skip
    assert calls.count("ended") == 2


@pytest.mark.slow
def test_without_the_first_host_there_is_no_service(checkout):
    (checkout / "up" / "a").unlink()
    with start_serve(checkout, "--hosts", "a,b") as process:
        assert "the host of the service, a, is unreachable" in process.stderr.readline()
        process.terminate()
        assert process.wait(30) == 1
    assert not (checkout / "log").exists()


@pytest.mark.parametrize(
    ("words", "line"),
    [
        *((["--hosts", *more], "expected names separated by commas") for more in ((), ("",), ("a,,b",), ("a,",))),
        *(
            (["-n", count], f"dardis: -n: '{count}'; expected a number of hosts")
            for count in ("x", "0", "-1", "1.5", "")
        ),
    ],
)
def test_host_list_and_host_count_are_checked(checkout, words, line):
    command = [checkout / "launch" / "serve", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert line in done.stderr


@pytest.mark.parametrize(
    ("words", "ends", "status"),
    [
        (("-n", "2"), "137 0", 0),
        (("--hosts", "a,b"), "lost 3", 3),  # a launcher that has lost a host and says nothing of it
        pytest.param(("-n", "2"), "137 1 0", 0, marks=pytest.mark.slow),
        pytest.param(("-n", "2"), "143 2", 2, marks=pytest.mark.slow),
    ],
)
def test_dead_processes_restart_until_stop_or_error(checkout, words, ends, status):
    done, calls = run(checkout, *words, ends=ends)
    assert done.returncode == status
    assert calls.count("dardis serve") == len(ends.split())
    assert done.stderr.count("it is restarted") == len(ends.split()) - 1


ONCE = "srun --nodes=4 --ntasks=4 --ntasks-per-node=1 --mem=0 --cpu-bind=none"
KEEPERS = f"{ONCE} --mpi=none --job-name=dardis-keepers --kill-on-bad-exit=0 --wait=0"
ALLOCATION = {"SLURM_JOB_ID": "7", "SLURM_JOB_NUM_NODES": "4"}


@pytest.mark.parametrize(("words", "folder"), [
    (("--folder", "/f//g"), "/f/g"), *(
        pytest.param(*more, marks=pytest.mark.slow)
        for more in (((), "{home}/.local/state/dardis"), (("--folder=/f",), "/f"))
    ),
])  # fmt: skip
def test_keepers_have_their_own_step_in_an_allocation(checkout, words, folder):
    folder = folder.format(home=checkout)
    done, calls = run(checkout, *words, ends="1 0", **ALLOCATION)
    assert done.returncode == 0, done.stderr
    service = " ".join([f"{checkout}/.venv/bin/dardis serve --keepers-apart", *words])
    assert calls.count(f"mpirun --map-by ppr:1:node -n 4 {service}") == 2
    keepers = [call for call in calls if call.startswith("srun")]
    assert set(keepers) == {f"{KEEPERS} {checkout}/launch/keeper {folder}"}
    assert len(keepers) <= 2  # again only where it has ended
    assert "overlap 1" in calls


def test_single_host_needs_no_launcher_and_one_machine_may_be_several_hosts(checkout):
    one, program = ALLOCATION | {"SLURM_JOB_NUM_NODES": "1"}, f"{checkout}/.venv/bin/dardis serve"
    assert run(checkout, "-n", "3")[1] == [f"mpirun -n 3 {program}", "dardis serve"]
    assert run(checkout, "--users", SLURM_JOB_NUM_NODES="1")[1] == ["dardis serve --users"]
    assert run(checkout, SLURMD_NODENAME="n", **one)[1] == ["dardis serve"]
    assert f"mpirun --map-by ppr:1:node -n 1 {program} --keepers-apart" in run(checkout, **one)[1]


@pytest.mark.parametrize(("states", "again"), [
    ("COMPLETING", 0), ("", 0), ("slurm_load_jobs error: Invalid job id specified", 0),
    pytest.param("RUNNING", 1, marks=pytest.mark.slow),
    ("slurm_load_jobs error: Unable to contact slurm controller", 1),
])  # fmt: skip
def test_service_ends_with_its_allocation(checkout, states, again):
    done, calls = run(checkout, ends="1 0", STATE=states, **ALLOCATION)
    assert calls.count("dardis serve --keepers-apart") == 1 + again
    assert done.returncode == 1 - again


@pytest.mark.slow
def test_dead_keeper_restarts_until_its_step_ends(checkout):
    log = checkout / "log"
    variables = {"PATH": os.environ["PATH"], "LOG": str(log)}
    step = subprocess.Popen([checkout / "launch" / "keeper", checkout / "s" / "f"], env=variables)
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


needs_program = pytest.mark.skipif(
    not (LAUNCH.parent / ".venv" / "bin" / "dardis").exists(), reason="scripts/setup would make .venv"
)


@pytest.fixture
def live(tmp_path):
    live = Live(tmp_path)
    live.program, live.environment = (LAUNCH / "serve",), {"PYTHONPATH": str(LAUNCH.parent)}
    try:
        yield live.start()
    finally:
        live.end()


@needs_program
def test_dead_processes_restart_and_a_signal_ends_the_service_but_no_job(live):
    (number,) = live.submit("until [ -e $RAN.go ]; do sleep 0.05; done; echo $DARDIS_JOB_ID >> $RAN")
    until(lambda: live.job(number)["state"] == "running")
    first = live.client.get("/status")
    os.kill(first["pid"], signal.SIGKILL)
    until(lambda: "it is restarted" in live.said())
    live.ready()
    second = live.client.get("/status")
    assert (second["epoch"], second["pid"] == first["pid"]) == (first["epoch"] + 1, False)
    assert live.job(number)["state"] == "running"
    live.service.send_signal(signal.SIGTERM)
    assert live.service.wait(20) == 0
    live.ran.with_suffix(".go").touch()
    until(lambda: live.lines()[number] == 1)


@needs_program
@pytest.mark.slow
def test_service_ends_on_stop(live):
    (number,) = live.submit()
    assert live.ended(number)["state"] == "completed"
    live.client.post("/stop")
    assert live.service.wait(20) == 0
    assert "it is restarted" not in live.said()
