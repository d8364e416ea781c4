"""Processes that jobs begin on their nodes through the keepers there: what they write, how they end, and MPI's own."""

import os
import random
import re
import signal
import sys
import time
from base64 import b64decode
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from kit.live import Live
from kit.live_ranks import ROOT, Ranks
from kit.waiting import until

from dardis.model.errors import DardisError, InputError

EXEC = f"PYTHONPATH={ROOT} {sys.executable} -m dardis exec"
MPIRUN = ROOT / ".venv" / "bin" / "mpirun"
HYDRA = Path("/usr/bin/mpiexec.hydra")
LAUNCHERS = [
    pytest.param(f"OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 {MPIRUN}", id="Open MPI",
                 marks=pytest.mark.skipif(not MPIRUN.exists(), reason="needs mpirun in .venv")),
    pytest.param(str(HYDRA), id="MPICH", marks=pytest.mark.skipif(not HYDRA.exists(), reason=f"needs {HYDRA}")),
]  # fmt: skip


@contextmanager
def serving(service):
    try:
        yield service.start()
    finally:
        service.end()


@pytest.fixture(scope="module")
def live(tmp_path_factory):
    """One host; its service and keeper may be killed, and are there again after a test."""
    with serving(Live(tmp_path_factory.mktemp("parts"))) as live:
        yield live


@pytest.fixture(scope="module")
def ranks(tmp_path_factory):
    if not MPIRUN.exists():
        pytest.skip("needs mpirun in .venv")
    with serving(Ranks(tmp_path_factory.mktemp("ranks"))) as live:
        yield live


SETTING = "export HOME=$PWD SECOND=$(echo $DARDIS_NODES | cut -d, -f2)"
EACH = "for n in $(echo $DARDIS_NODES | tr , ' '); do "
TICKS = "echo once >> $RAN; i=0; while [ $i -lt 25 ]; do i=$((i+1)); printf $i; sleep 0.1; echo .; done; exit 5"
TICKED = [*(f"{n}." for n in range(1, 26)), "ended 5"]


def begun(live, command, **more):
    """A job of several nodes, and the file of its output."""
    out = live.ran.parent / "out-%j"
    (number,) = live.submit(f"{SETTING}; {command}", **{"output": str(out), "error": str(out), "nodes": 2} | more)
    return number, live.ran.parent / f"out-{number}"


def said(live, command, **more):
    """What a job has written that has ended well."""
    number, out = begun(live, command, **more)
    job = live.ended(number)
    assert job["state"] == "completed", (job, out.read_text())
    return out.read_text().splitlines()


def nodes_of(live, number):
    until(lambda: live.job(number)["state"] == "running")
    return live.job(number)["nodes"]


def sleeping(seconds):
    """The processes that sleep so long."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if (place / "cmdline").read_bytes() == f"sleep\0{seconds}\0".encode():
                found.append(int(place.name))
    return found


def ancestors(pid):
    """Those that have begun a process, the nearest first."""
    found = []
    while pid > 1:
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        found.append(pid)
    return found


def test_job_step_forwards_output_and_exit_code_of_each_node(live):
    told = said(
        live, EACH + f"{EXEC} $n -- sh -c 'echo $DARDIS_RUN $DARDIS_JOB_ID $A; echo err >&2; pwd; exit 3' 2>$n.err; "
        "echo $n $?; cat $n.err; done", chdir=str(live.ran.parent),
    )  # fmt: skip
    number = told[0].split(".")[0]
    for at, lines in enumerate((told[:4], told[4:])):
        run, job = lines[0].split()
        assert run.startswith(f"{number}.1.")
        assert job == number
        assert lines[1:] == [str(live.ran.parent), f"{live.job(int(number))['nodes'][at]} 3", "err"]
    assert list((live.folder / "parts").iterdir()) == []


def test_exit_codes_of_job_steps_are_those_of_ssh(live):
    told = said(
        live, f"{EXEC} $SECOND -- sh -c 'kill -9 $$'; echo $?; {EXEC} $SECOND /nowhere/x; echo $?; "
        f"{EXEC} n9 true; echo $?; {EXEC} $SECOND; echo $?; DARDIS_RUN= {EXEC} $SECOND true; echo $?",
    )  # fmt: skip
    assert [line for line in told if line.isdecimal()] == ["137", "255", "2", "2", "2"]
    lines = [line for line in told if not line.isdecimal()]
    assert [line.partition(": ")[0] for line in lines] == ["dardis"] * 4
    assert "failed to start: /nowhere/x: No such file or directory" in lines[0]
    assert "'n9'; expected a node of the job: n" in lines[1]
    assert "expected a process of a job" in lines[3]


def test_repeated_step_request_runs_once_and_invalid_request_is_refused(live):
    (number,) = live.submit("sleep 60", nodes=2)
    first, second = nodes_of(live, number)
    asked = {
        "attempt": 1, "number": 7, "node": second, "argv": ["sh", "-c", "echo once >> $RAN.once; printf abcde; exit 4"],
        "cwd": "/", "environment": {"PATH": os.environ["PATH"], "RAN": str(live.ran)},
    }  # fmt: skip
    path = f"/jobs/{number}/parts"

    def told(**more):
        lines = list(live.client.lines(path, asked | more))
        return b"".join(b64decode(line.get("out", "")) for line in lines), lines[-1]["end"]["code"]

    assert [told(), told(), told(out=3), told(out=5)] == [(b"abcde", 4), (b"abcde", 4), (b"de", 4), (b"", 4)]
    assert live.ran.with_name("ran.once").read_text() == "once\n"
    for wrong, line in [
        ({"node": "n9"}, f"NODE: 'n9'; expected a node of the job: {first}, {second}"), ({"argv": []}, "argv"),
        ({"number": -1}, "number"), ({"number": 1 << 63}, "number"), ({"number": "7"}, "number"), ({"cwd": "x"}, "cwd"),
        ({"argv": [1]}, "argv"), ({"environment": {"a=b": ""}}, "environment"), ({"environment": {"a": 1}}, "a"),
        ({"out": -1}, "out"), ({"environment": {"a": "b" * (9 << 20)}}, "exec: words and environment of"),
    ]:  # fmt: skip
        with pytest.raises(InputError, match=f"^{re.escape(line)}"):
            told(**wrong)
    with pytest.raises(DardisError, match=r"does not run, or not in attempt 2"):
        told(attempt=2)
    live.client.delete(f"{path}/1.7")
    with pytest.raises(InputError, match="has ended"):
        told()
    live.client.post(f"/jobs/{number}/cancel")
    assert live.ended(number)["state"] == "cancelled"
    with pytest.raises(DardisError, match="does not run"):
        told(number=8)


def test_cancelled_job_ends_its_remote_steps_and_frees_their_nodes(live):
    number, _ = begun(live, f"{EXEC} $SECOND sleep 6101", cpus=4)
    nodes = nodes_of(live, number)
    until(lambda: sleeping(6101))
    live.client.post(f"/jobs/{number}/cancel")
    assert live.ended(number)["state"] == "cancelled"
    until(lambda: not sleeping(6101))
    blockers = [live.submit("sleep 30", nodes=2, cpus=4)[0] for _ in range(2)]
    assert {node for one in blockers for node in nodes_of(live, one)} >= set(nodes)
    for one in blockers:
        live.client.post(f"/jobs/{one}/cancel")


def test_signal_to_the_waiting_client_ends_the_job_step(live):
    own = f"6104{os.getpid()}"  # others may test beside
    there = f"pgrep -f '^sleep {own}' > /dev/null; do sleep 0.1; done"
    told = said(
        live, f"{EXEC} $SECOND sleep {own} & p=$!; while ! {there}; kill -TERM $p; wait $p; echo $?; while {there}"
    )
    assert told == ["143"]


def test_service_restart_during_a_job_step_neither_loses_nor_repeats_output(live):
    number, out = begun(live, f"{EXEC} $SECOND -- sh -c '{TICKS}'; echo ended $?")
    for lines in (3, 9):
        until(lambda lines=lines: out.exists() and len(out.read_text().splitlines()) > lines)
        live.kill("service")
        live.service.wait()
        live.start()
    assert live.ended(number)["state"] == "completed"
    assert out.read_text().splitlines() == TICKED


@pytest.mark.slow
def test_job_step_of_a_killed_keeper_ends_with_its_job(live):
    number, out = begun(live, f"{EXEC} $SECOND sleep 6105; echo ended $?")
    until(lambda: sleeping(6105))
    live.kill("keeper")
    until(lambda: live.keeper is not None)
    live.ready()
    assert len(sleeping(6105)) == 1
    os.kill(sleeping(6105)[0], signal.SIGTERM)
    live.ended(number)
    assert out.read_text().splitlines()[-1] in {"ended 143", "ended 255"}  # as far as the kernel tells it


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_mpi_starts_its_processes_through_keepers_and_ends_with_the_job(live, launcher):
    own = int(f"6106{os.getpid()}")  # others may test beside
    number, out = begun(live, f"{launcher} sleep {own}; echo $?", cpus=2)
    until(lambda: len(sleeping(own)) == 4 or live.job(number)["state"] not in {"waiting", "running"})
    assert len(sleeping(own)) == 4, out.read_text()
    above = [[Path(f"/proc/{one}/cmdline").read_text() for one in ancestors(rank)] for rank in sleeping(own)]
    lines = [" < ".join(line).replace("\0", " ") for line in above]
    through = [line for line in lines if "prted" in line or "hydra_pmi_proxy" in line]
    assert len(through) >= 2
    assert all("remote_shell" not in line and "-m dardis.live.keeper" in line for line in through)
    live.client.post(f"/jobs/{number}/cancel")
    assert live.ended(number)["state"] == "cancelled"
    until(lambda: not sleeping(own))


@pytest.mark.slow
def test_restart_of_a_service_of_several_hosts_keeps_step_output(ranks):
    number, out = begun(ranks, f"{EXEC} n5 -- sh -c '{TICKS}'; echo ended $?", nodes=6)
    until(lambda: out.exists() and len(out.read_text().splitlines()) > 3)
    os.kill(ranks.ranks()[2], signal.SIGKILL)
    ranks.ready()
    assert ranks.ended(number)["state"] == "completed"
    assert out.read_text().splitlines() == TICKED


@pytest.mark.slow
@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_mpi_runs_on_several_hosts_and_ends_with_its_job(ranks, launcher):
    number, out = begun(ranks, f"{launcher} sleep 6107", nodes=6)
    until(lambda: len(sleeping(6107)) == 6)
    keepers = {
        keeper for process in sleeping(6107) for keeper in ranks.keepers().values() if keeper in ancestors(process)
    }
    assert keepers == set(ranks.keepers().values()), out.read_text()
    ranks.client.post(f"/jobs/{number}/cancel")
    assert ranks.ended(number)["state"] == "cancelled"
    until(lambda: not sleeping(6107))


PART = (
    "exec 9>> $HERE/lock; flock -n 9 || echo $DARDIS_RUN >> $RAN.beside; echo $DARDIS_RUN >> $RAN.parts; sleep 0.$1; "
    "echo said $DARDIS_RUN"
)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_job_steps_run_at_most_once_and_never_beside_an_earlier_attempt_under_kills(tmp_path, seed):
    rng = random.Random(seed)  # noqa: S311 (a seed is to say it all)
    (tmp_path / "part").write_text(PART)
    job = f"export HERE=$PWD/$DARDIS_JOB_ID; mkdir -p $HERE; {EXEC} $SECOND -- sh part %d; {EXEC} $SECOND -- sh part 1"
    with serving(Live(tmp_path)) as live:
        jobs = [
            begun(live, f"cd {tmp_path}; {job % rng.randrange(1, 10)}", requeue=rng.random() < 0.7, chdir=str(tmp_path))
            for _ in range(40)
        ]
        for _ in range(12):
            time.sleep(rng.random() * 2)
            which = rng.choice(["service", "service", "keeper"])
            live.kill(which)
            if which == "service":
                live.service.wait()
                live.start()
        ended = [(live.ended(number), out.read_text() if out.exists() else "") for number, out in jobs]
    began = (tmp_path / "ran.parts").read_text().split()
    assert len(began) == len(set(began))
    assert not (tmp_path / "ran.beside").exists()
    done = [(one, said) for one, said in ended if one["state"] == "completed" and "dardis" not in said]
    assert len(done) > len(jobs) // 3, [one["state"] for one, _ in ended]
    for one, said in done:
        parts = [run for run in began if run.startswith(f"{one['id']}.{one['attempt']}.")]
        assert len(parts) == 2
        assert said.split("\n")[-3:-1] == [f"said {run}" for run in parts]
