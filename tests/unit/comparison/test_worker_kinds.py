"""Workers of each kind give the same tables, outlive lost workers, continue each other's work, and end with Ctrl-C."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.few_nodes import waited, write_files
from kit.keeper import lives
from kit.slurm_cluster import Cluster, missing_programs
from kit.small_site import rows_of

from dardis.api.plain import within
from dardis.cli.main import run
from dardis.comparison import slurm_arrays
from dardis.comparison.task_pool import ATTEMPTS, RepeatingPool, Task
from dardis.comparison.worker_kinds import shared_parent
from dardis.model.choices import worker_choice

ROOT = Path(__file__).resolve().parents[3]
MPIRUN = [str(ROOT / "launch" / "mpirun"), "-n", "4"]
DISPATCHERS = """
import os, signal, time
from pathlib import Path
import dardis

class Once(dardis.Rule):
    def key(self, job, now):
        if not (marker := Path(__file__).with_name("killed")).exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return job.submit

class Waits(dardis.Rule):
    def key(self, job, now):
        Path(__file__).with_name(f"pid-{os.getpid()}").touch()
        time.sleep(60)
"""
needs_mpirun = pytest.mark.skipif(
    not (ROOT / ".venv/bin/mpirun").exists() and not shutil.which("mpirun"), reason="needs mpirun"
)
needs_dask = pytest.mark.skipif(find_spec("distributed") is None, reason="needs the package distributed")
needs_submitit = pytest.mark.skipif(find_spec("submitit") is None, reason="needs the package submitit")
MPI = pytest.param("mpi", marks=needs_mpirun, id="ranks")  # pytest-mpi takes its own word for a mark
DASK = pytest.param("dask", marks=needs_dask)
UNFINISHED = pytest.mark.filterwarnings("ignore:Exception ignored in.*Popen")  # submitit's own
SLURM = pytest.param("slurm", marks=[needs_submitit, UNFINISHED])


class LocalJobs(slurm_arrays.JobQueue):
    """Jobs of submitit's local executor, whose ids are those of processes."""

    def unfinished(self):
        return {one.name for one in Path("/proc").iterdir() if one.name.isdigit() and lives(int(one.name))}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}:{tmp_path}")
    monkeypatch.setattr(slurm_arrays, "_QUEUE_POLL_S", 0.2)
    (tmp_path / "mine.py").write_text(DISPATCHERS)
    return write_files(tmp_path)


@pytest.fixture
def address():
    """A Dask scheduler with two workers."""
    from distributed import LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, host="127.0.0.1") as cluster:
        yield f"dask:{cluster.scheduler_address}"


FILES = ["compare", "t.swf", "--platform", "p.toml", "--dispatchers"]
RUNS = [*FILES, "easy,dardis-balance,mine:Once", "--seeds", "1,2,3"]
WAITS = [*FILES, "mine:Waits", "--seeds", "1,2,3", "--out", "o", "--processes", "2"]


@pytest.fixture
def workers(request):
    """What `--workers` states for a kind."""
    return lambda kind: ["--workers", request.getfixturevalue("address") if kind == "dask" else kind]


def command(kind, *words):
    """The command in a process of its own, or in four."""
    return [*(MPIRUN if kind == "mpi" else []), sys.executable, "-m", "dardis", *words]


def ended(kind, words, monkeypatch):
    """The status of the command."""
    if kind == "mpi":
        return subprocess.run(command(kind, *words), timeout=300, check=False).returncode
    if kind == "slurm":
        monkeypatch.setattr(slurm_arrays, "open_slurm", open_local)
    return run(words)


def open_local(_, shared, parallel):
    return slurm_arrays.SlurmArrays(shared, parallel, LocalJobs(), cluster="local")


def table(out):
    """What each run came to, without what took time here."""
    timed = ("decision_cpu_s", "decision_mean_s", "decision_p99_s", "decision_max_s", "overhead_share")
    return [{key: value for key, value in row.items() if key not in timed} for row in rows_of(out / "compare.csv")]


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """The table of processes, of which none died."""
    folder = write_files(tmp_path_factory.mktemp("expected"))
    (folder / "mine.py").write_text(DISPATCHERS)
    (folder / "killed").touch()
    environment = os.environ | {"PYTHONPATH": f"{ROOT}:{folder}"}
    subprocess.run(command("", *RUNS, "--out", "o"), cwd=folder, env=environment, check=True, timeout=300)
    return table(folder / "o")


@pytest.mark.parametrize("kind", ["processes", MPI, DASK, SLURM])
def test_table_is_the_same_although_a_worker_is_killed(folder, workers, monkeypatch, expected, kind):
    assert ended(kind, [*RUNS, *workers(kind), "--processes", "2", "--out", "o"], monkeypatch) == 0
    assert (folder / "killed").exists()
    assert table(folder / "o") == expected
    assert not list((folder / "o").glob(".part-*"))


@pytest.mark.parametrize("kind", [MPI, DASK, SLURM])
def test_other_workers_continue_a_killed_comparison(folder, workers, monkeypatch, expected, kind):
    (folder / "killed").touch()
    begun = subprocess.Popen(command("", *RUNS, "--processes", "1", "--out", "o"))
    waited(lambda: len(list((folder / "o/runs").glob("*/*/*/run.json"))) > 1)
    begun.kill()
    begun.wait()
    before = {path: path.stat().st_mtime_ns for path in (folder / "o/runs").glob("*/*/*/run.json")}
    assert ended(kind, [*RUNS, *workers(kind), "--out", "o"], monkeypatch) == 0
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert table(folder / "o") == expected


@pytest.mark.parametrize("kind", ["processes", MPI, DASK])
def test_ctrl_c_ends_all_workers(folder, workers, kind):
    process = subprocess.Popen(command(kind, *WAITS, *workers(kind)), stderr=subprocess.PIPE, text=True)
    waited(lambda: len(list(folder.glob("pid-*"))) == 2)
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=60)[1].splitlines()
    assert process.returncode == 130
    # Open MPI may lose the last lines of its ranks.
    assert kind == "mpi" or "dardis: stopped; the same command continues the comparison" in said
    waited(lambda: not any(lives(int(path.name[4:])) for path in folder.glob("pid-*")))


@needs_mpirun
@pytest.mark.slow
def test_500_runs_of_2000_jobs_on_four_ranks(folder, monkeypatch):
    jobs = (f"{n} {400 * n} 0 {60 + n * 7919 % 1800} {1 + n * 31 % 16} -1 -1 -1 2400 -1 1 {n % 7} 1 -1 1 1 -1 -1\n"
            for n in range(1, 2001))  # fmt: skip
    (folder / "t.swf").write_text("".join(jobs))
    words = [*FILES, "easy", "--replicates", "500", "--resample", "shake", "--no-recorded"]
    assert ended("", [*words, "--processes", "2", "--out", "two"], monkeypatch) == 0
    assert ended("mpi", [*words, "--workers", "mpi", "--out", "four"], monkeypatch) == 0
    assert len(table(folder / "two")) == 500
    assert table(folder / "two") == table(folder / "four")


class BadWorkers:
    """A pool whose first workers are lost."""

    size = None

    def __init__(self, lost):
        self.lost, self.tasks = lost, []

    def submit(self, *_, **__):
        self.tasks.append(Task())
        return self.tasks[-1]

    def wait(self, _):
        for number, task in enumerate(self.tasks):
            task.is_lost = number < self.lost
            task.result, task.failure = number, "gone" if task.is_lost else ""

    def close(self):
        self.tasks.clear()


@given(st.integers(0, 2 * ATTEMPTS))
def test_a_task_is_repeated_until_no_worker_is_lost(lost):
    with closing(RepeatingPool(BadWorkers(lost))) as pool:
        task = pool.submit(os.getpid)
        for _ in range(2 * ATTEMPTS):
            pool.wait(0)
    if lost < ATTEMPTS:
        assert (task.failure, task.result, task.is_lost) == ("", lost, False)
    else:
        assert task.failure == f"gone, in each of {ATTEMPTS} attempts"


def test_choice_is_read_as_written():
    for text in ("processes", "mpi", "slurm", "dask:tcp://host:8786", "dask:host:1"):
        assert str(worker_choice(text)) == text


MISTAKES = {
    "mip": "--workers: 'mip'; expected processes, mpi, slurm, or dask:ADDRESS",
    "dask": "--workers: 'dask'; expected",
    "dask:host": "--workers: 'dask:host'; expected",
    "mpi": "--workers mpi: started without an MPI launcher; expected launch/mpirun -n RANKS dardis compare",
    "slurm": "--workers slurm: no program sbatch",
    "slurm, without its library": "--workers slurm: the package submitit is not installed; expected pip install",
    "dask:host:1, without its library": "dask:host:1: the package distributed is not installed; expected pip install",
}


@pytest.mark.parametrize("mistake", [*MISTAKES, pytest.param("dask:127.0.0.1:1", marks=needs_dask)], ids="{}!".format)
def test_workers_that_cannot_be_used_are_one_line_before_any_run(folder, monkeypatch, capsys, mistake):
    workers, _, missing = mistake.partition(", ")
    for name in ("sbatch", "srun") if missing else ():
        (folder / name).touch(0o755)
    for library in ("submitit", "distributed") if missing else ():
        monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.setenv("PATH", str(folder))
    assert run([*FILES, "easy", "--workers", workers, "--out", "o"]) == 2
    said = capsys.readouterr().err
    assert MISTAKES.get(mistake, "no scheduler answers") in said
    assert said.count("\n") == 1
    assert not (folder / "o").exists()


def test_command_line_replaces_the_workers_of_a_file(folder, capsys):
    (folder / "spec.toml").write_text(
        'workers = "mpi"\n[[traces]]\ntrace = "t.swf"\nplatform = "p.toml"\n[[dispatchers]]\nname = "easy"\n'
    )
    assert run(["compare", "spec.toml", "--out", "o"]) == 2
    assert "--workers mpi: started without" in capsys.readouterr().err
    assert run(["compare", "spec.toml", "--out", "o", "--workers", "processes"]) == 0


@needs_submitit
@pytest.mark.slow
@pytest.mark.skipif(bool(missing_programs()), reason=f"needs Slurm: no {', '.join(missing_programs())}")
def test_job_array_of_a_real_slurm(folder, monkeypatch, expected):
    with tempfile.TemporaryDirectory(prefix="slurm-", dir="/tmp") as home, Cluster(Path(home), ["n0", "n1"]) as slurm:
        for name in ("SLURM_CONF", "PATH"):
            monkeypatch.setenv(name, slurm.environment[name])
        assert run([*RUNS, "--workers", "slurm", "--out", "o"]) == 0
        assert table(folder / "o") == expected
        shutil.rmtree("o")
        process = subprocess.Popen(command("", *WAITS, "--workers", "slurm"))
        waited(lambda: list(folder.glob("pid-*")))
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        waited(lambda: not slurm.run("squeue", "-h").stdout)


def test_temporary_files_are_where_all_workers_see_them(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert shared_parent(worker_choice("processes")) is None
    assert shared_parent(worker_choice("dask:tcp://host:8786")) == tmp_path
    assert within(None, lambda folder: {folder.parent}, tmp_path) == {tmp_path}
