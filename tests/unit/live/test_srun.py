"""srun within real jobs: tasks, their cores, output and exit codes, also while the service dies."""

import random
import signal
import sys
import time
from pathlib import Path

import pytest
from kit.error_lines import line_of
from kit.waiting import until

from dardis.live.slurm_programs.srun import SRUN, _run_mpi_program, read_programs, task_request
from dardis.live.slurm_programs.srun_mpi import mpi_library, mpirun_command
from dardis.live.task_request import TaskRequest


def begun(live, command, **more):
    """A job, and the file of its output."""
    out = live.ran.parent / f"out{random.random()}"  # noqa: S311 (a name)
    request = {"output": str(out), "error": str(out), "nodes": 2, "tasks": 4, "cpus": 2, **more}
    return live.submit(f"cd {live.ran.parent}\n{command}", **request)[0], out


def ran(live, command, **more):
    """Lines that a job has written, and its exit code."""
    number, out = begun(live, command, **more)
    job = live.ended(number)
    return out.read_text().splitlines(), job["code"]


def test_tasks_fill_the_job_in_blocks_and_are_labelled(live):
    lines, code = ran(
        live, "srun -l sh -c 'echo $SLURM_PROCID $SLURM_LOCALID $SLURM_NODEID $SLURM_NTASKS $SLURM_STEP_ID'"
    )
    assert sorted(lines) == ["0: 0 0 0 4 0", "1: 1 1 0 4 0", "2: 2 0 1 4 0", "3: 3 1 1 4 0"]
    assert code == 0


def test_highest_exit_code_is_returned_and_failed_tasks_are_named(live):
    lines, code = ran(live, "srun -n 3 sh -c 'exit $SLURM_PROCID'; echo $?; srun -n 1 sh -c 'kill -9 $$'; exit $?")
    assert sorted(line.partition(": task")[2] for line in lines[:2]) == [
        " 1: Exited with exit code 1", " 2: Exited with exit code 2",
    ]  # fmt: skip
    assert lines[2] == "2"
    assert "Killed by signal 9" in lines[3]
    assert code == 137


def test_concurrent_steps_share_the_cores_of_the_job(live):
    """At no time more tasks than cores run; each has a core of its own."""
    step = "srun -n 1 --exclusive sh -c 'echo begin >> log; sleep 0.2; echo end >> log' &"
    lines, code = ran(live, f"rm -f log; for i in 1 2 3 4 5 6; do {step} done; wait; cat log", nodes=1, tasks=2)
    running = most = 0
    for line in lines:
        running += 1 if line == "begin" else -1
        most = max(most, running)
    assert (code, running, lines.count("begin")) == (0, 0, 6)
    assert most <= 2
    lines, _ = ran(
        live, "srun -n 2 sleep 5 & sleep 0.5; srun --overlap -n 1 echo beside; kill $!; wait", nodes=1, tasks=2
    )
    assert "beside" in lines


def test_output_goes_to_files_and_input_comes_from_files_and_pipes(live):
    script = """
    srun -o 'o-%j-%t' sh -c 'echo task $SLURM_PROCID'; cat o-$SLURM_JOB_ID-*
    printf '1\\n2\\n' > numbers; srun -n 2 -N 1 -l cat < numbers
    (echo piped; seq 30000) | srun -n 2 -N 1 sh -c 'if [ $SLURM_PROCID = 0 ]; then head -1; else tail -1; fi'
    sleep 3 | srun -n 1 -N 1 echo early; echo short | srun -n 1 -N 1 sh -c 'sleep 0.5; cat'
    srun -n 1 --input none cat; srun -n 1 -o none echo nothing
    printf '0-1 echo a%%t\\n# text\\n* sh -c "echo rest \\\\\\n %%o"\\n' > programs; srun --multi-prog -l programs
    srun -n 1 sh -c 'echo ${SLURM_CPUS_PER_TASK-unset}'; srun -n 1 -c 2 sh -c 'echo $SLURM_CPUS_PER_TASK'
    """
    lines, code = ran(live, script)
    assert sorted(lines[:4]) == [f"task {rank}" for rank in range(4)]
    assert sorted(lines[4:8]) == ["0: 1", "0: 2", "1: 1", "1: 2"]
    assert sorted(lines[8:10]) == ["30000", "piped"]
    assert lines[10:12] == ["early", "short"]
    assert sorted(lines[12:16]) == ["0: a0", "1: a1", "2: rest 0", "3: rest 1"]
    assert lines[16:] == ["unset", "2"]
    assert code == 0


def test_remaining_tasks_end_after_a_failure_a_limit_and_a_signal(live):
    began = time.monotonic()
    lines, code = ran(live, "srun -K1 sh -c '[ $SLURM_PROCID = 2 ] && exit 7; sleep 60'; exit $?")
    assert code == 7
    assert "task 2: Exited with exit code 7" in lines[0]
    lines, code = ran(live, "srun -t 1s sleep 60; exit $?")
    assert (lines, code) == (["srun: error: the time limit of the step was reached"], 124)
    lines, code = ran(live, "srun sleep 60 & sleep 0.7; kill -TERM $!; wait $!; exit $?")
    assert code == 143
    assert time.monotonic() - began < 40


def test_timed_signal_reaches_the_tasks_but_not_the_script(live):
    task = "trap 'echo task; exit 0' USR1; touch ready; while :; do sleep 0.05; done"
    number, out = begun(
        live, f"trap 'echo script' USR1; srun -n 1 sh -c \"{task}\"", walltime_s=6,
        signal={"number": int(signal.SIGUSR1), "before_s": 3, "batch": False},
    )  # fmt: skip
    assert live.ended(number)["state"] == "completed"
    assert out.read_text().splitlines()[0] == "task"
    assert "script" not in out.read_text()


def test_signals_reach_tasks_through_srun_and_scancel(live):
    task = "trap 'echo got; exit 0' USR1; echo ready; while :; do sleep 0.05; done"
    lines, code = ran(live, f'srun -n 1 sh -c "{task}" & sleep 1; kill -USR1 $!; wait $!; exit $?')
    assert (lines[0], "got" in lines, code) == ("ready", True, 0)
    lines, code = ran(live, f'srun -n 1 sh -c "{task}" & sleep 1; scancel -s USR1 $SLURM_JOB_ID; wait $!; exit $?')
    assert (lines[0], "got" in lines, code) == ("ready", True, 0)


def test_tasks_and_their_output_survive_kills_of_the_service(live):
    ticks = "i=0; while [ $i -lt 20 ]; do i=$((i+1)); echo $SLURM_PROCID.$i; sleep 0.1; done; exit 5"
    number, out = begun(live, f"srun sh -c '{ticks}'; echo ended $?")
    until(lambda: out.exists() and "0.3\n" in out.read_text())
    for _ in range(2):
        live.service.kill()
        live.service.wait()
        live.start()
        time.sleep(0.3)
    live.ended(number)
    lines = out.read_text().splitlines()
    ticks = [line for line in lines if "." in line and ":" not in line]
    assert sorted(ticks) == sorted(f"{rank}.{tick}" for rank in range(4) for tick in range(1, 21))
    assert lines[-1] == "ended 5"


@pytest.mark.parametrize(("words", "line"), [
    ("-n 99 true", "srun: error: --ntasks: 99 tasks do not fit the job"),
    ("-n x true", "srun: error: -n: 'x'"),
    ("--pty true", "srun: error: --pty: is not supported (terminals"),


    ("-y true", "srun: error: srun: unknown"),
    ("-w nowhere true", "srun: error: --nodelist: 'nowhere'"),
    ("--input /no/such cat", "srun: error: --input: '/no/such'"),
    ("", "srun: error: srun: no command"), ("-o %q true", "srun: error: -o: '%q'"),
    ("--multi-prog /no/such", "srun: error: /no/such: cannot be read"),
    ("--jobid 999999 true", "srun: error: --jobid: 999999"),
])  # fmt: skip
def test_wrong_options_are_one_line(live, words, line):
    lines, code = ran(live, f"srun {words}; exit $?")
    assert [one.startswith(line) for one in lines] == [True], lines
    assert code == 1


@pytest.mark.parametrize(("words", "environment", "expected"), [
    ("", {}, {"tasks": 1}), ("", {"SLURM_NTASKS": "4", "SLURM_CPUS_PER_TASK": "2"}, {"tasks": 4, "cpus": 2}),
    ("-n2 -c3", {"SLURM_NTASKS": "4", "SLURM_CPUS_PER_TASK": "2"}, {"tasks": 2, "cpus": 3}),
    ("-N3", {"SLURM_NNODES": "4"}, {"tasks": 4, "nodes": 3}), ("-N4 -n2", {}, {"tasks": 2, "nodes": 2}),
    ("--ntasks-per-node=2", {"SLURM_NNODES": "3"}, {"tasks": 6, "tasks_per_node": 2}),
    ("", {"SLURM_CPUS_ON_NODE": "8", "SLURM_TASKS_PER_NODE": "2(x2)"}, {"tasks": 1, "cpus": 4}),
    ("--exact", {"SLURM_CPUS_ON_NODE": "8"}, {"tasks": 1, "cpus": 1}),
    ("-n 2", {"SLURM_GPUS_PER_TASK": "1", "SRUN_CPUS_PER_TASK": "3"}, {"tasks": 2, "cpus": 3, "gpus_per_task": 1}),
    ("-w n[1-2] -x n4", {}, {"tasks": 2, "nodes": 2, "nodelist": ("n1", "n2"), "exclude": ("n4",)}),
    ("-O --overlap -n 9", {}, {"tasks": 9, "cpus": 0, "overlap": True}),
    ("--gres=gpu:2", {}, {"gpus_per_node": 2}), ("--gpus-per-task=1 -n2", {}, {"tasks": 2, "gpus_per_task": 1}),
    ("-G 4 -n2 -N2", {}, {"tasks": 2, "nodes": 2, "gpus_per_node": 2}),
])  # fmt: skip
def test_options_and_variables_make_the_request(words, environment, expected):
    options, _ = SRUN.split(words.split(), "srun")
    assert task_request({option.name: option for option in options}, environment) == TaskRequest(**expected)


@pytest.mark.parametrize(
    ("text", "line"),
    [("0 a", "no line for task 1"), ("0-2 a", ":1: task 2"), ("x a", ":1: 'x'"), ("0\n", ":1: no program")],
)  # fmt: skip
def test_invalid_program_files_are_refused(tmp_path, text, line):
    (tmp_path / "p").write_text(text)
    assert line in line_of(read_programs, tmp_path / "p", 2)


def start_of_mpi_program(monkeypatch, *words):
    """Command that srun becomes for a program of mpi4py, in a job with two tasks on each node."""
    started = []
    monkeypatch.setenv("SLURM_NTASKS_PER_NODE", "2")
    monkeypatch.setattr("os.execv", lambda _, line: started.append(line))
    monkeypatch.setattr("dardis.live.slurm_programs.srun.mpirun_command", lambda *_: ["mpirun", "-n", "4"])
    options, command = SRUN.split([*words, sys.executable, "-c", "import mpi4py"], "srun")
    _run_mpi_program({option.name: option for option in options}, TaskRequest(tasks=4), command)
    return started[0]


@pytest.mark.parametrize("option", ["--label", "--export=NONE", "--ntasks-per-node=3", "--gpus-per-task=1", "-ox"])
def test_options_that_mpirun_does_not_get_are_rejected(option, monkeypatch):
    line = line_of(start_of_mpi_program, monkeypatch, option)
    assert f"{option.partition('=')[0].removesuffix('x')} with an MPI program" in line


def test_options_without_effect_on_mpirun_are_accepted(monkeypatch):
    assert start_of_mpi_program(monkeypatch, "--export=ALL", "--ntasks-per-node=2", "-n4") == ["mpirun", "-n", "4"]


def test_mpi_programs_are_recognised_and_started_by_mpirun(tmp_path, monkeypatch):
    (tmp_path / "a.py").write_text("import mpi4py\n")
    (tmp_path / "b.py").write_text("import os\n")
    assert mpi_library([sys.executable, str(tmp_path / "a.py")]) == Path("mpi4py")
    assert mpi_library([sys.executable, "-c", "from mpi4py import MPI"]) == Path("mpi4py")
    assert mpi_library([sys.executable, str(tmp_path / "b.py"), "mpi4py.txt"]) is None
    assert mpi_library(["true"]) is mpi_library(["/no/such"]) is None
    mpirun = tmp_path / "bin" / "mpirun"
    mpirun.parent.mkdir()
    mpirun.write_text("#!/bin/sh\necho mpirun '(Open MPI)' 5\n")
    mpirun.chmod(0o755)
    library = tmp_path / "lib" / "libmpi.so"
    assert mpirun_command(library, ["x"], 4, 1) == [str(mpirun), "-n", "4", "x"]
    assert mpirun_command(library, ["x"], 4, 2) == [str(mpirun), "-n", "4", "--map-by", "slot:PE=2", "x"]
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "there is no mpirun" in line_of(mpirun_command, Path("mpi4py"), ["x"], 4, 1)
