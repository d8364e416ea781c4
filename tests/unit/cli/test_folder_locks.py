"""Two commands and one folder, and commands that are killed: the second is told, and what is unfinished is seen."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from kit.few_nodes import PLATFORM, started, swf, waited, write_files

from dardis.cli.main import run
from dardis.model.errors import InputError
from dardis.model.out_folder import LOCK_FILE, RUN_FOLDER, lock_folder


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "large.toml").write_text(PLATFORM.replace("count = 4", "count = 40"))
    (tmp_path / "long.swf").write_text(swf(30_000))
    return write_files(tmp_path)


def simulate(folder, *more, trace="t.swf"):
    return [
        "simulate", str(folder / trace), "--platform", str(folder / "p.toml"), "--dispatcher", "dardis-throughput",
        "--out", str(folder / "out"), "--no-report", *more,
    ]  # fmt: skip


def compare(folder, *more, platform="p.toml"):
    return [
        "compare", str(folder / "long.swf"), "--platform", str(folder / platform), "--dispatchers", "dardis-balance",
        "--out", str(folder / "o"), *more,
    ]  # fmt: skip


@pytest.fixture
def refused(capsys):
    """A command in this process ends with 2 and one line that says so."""

    def call(arguments, *said):
        capsys.readouterr()
        assert run(arguments) == 2
        (line,) = capsys.readouterr().err.splitlines()
        for part in said:
            assert part in line

    return call


def test_second_simulation_in_a_folder_is_refused(folder, refused):
    out = folder / "out"
    (out / ".part-old").mkdir(parents=True)
    with started(simulate(folder, trace="long.swf")) as first:
        waited(lambda: not (out / ".part-old").exists())  # the lock is held, and what others left is removed
        (out / ".part-x").mkdir()
        for more in ([], ["--force"]):
            refused(simulate(folder, *more), f"{out}: is in use by another dardis process (process {first.pid} on ")
        refused(["report", str(out)], "is in use by another dardis process")
        assert (out / ".part-x").exists(), "parts are left to who holds the folder"
        first.send_signal(signal.SIGKILL)
    assert run(simulate(folder)) == 0
    assert json.loads((out / "metrics.json").read_text())["jobs"] == 40
    assert {path.name for path in out.iterdir()} <= set(RUN_FOLDER.files)


@pytest.mark.parametrize(
    "command",
    [
        ["scale", "--nodes", "40", "--jobs", "5", "--out"],
        ["plan", "--history", "t.swf", "--platform", "p.toml", "--day", "1", "--out"],
        ["hybrid", "--history", "t.swf", "--platform", "p.toml", "--days", "1-1", "--out"],
        ["compare", "t.swf", "--platform", "p.toml", "--dispatchers", "easy", "--out"],
        ["simulate", "t.swf", "--platform", "p.toml", "--dispatcher", "easy", "--out"],
    ],
    ids=lambda command: command[0],
)
def test_commands_refuse_folders_of_other_commands(folder, refused, monkeypatch, command):
    monkeypatch.chdir(folder)
    (folder / "o").mkdir()
    with lock_folder(folder / "o", "here"):
        refused([*command, "o"], f"dardis: --out o: is in use by another dardis process (process {os.getpid()}")
    (folder / "o" / "table.csv").write_text("mine")
    refused([*command, "o", "--force"], "has other content")
    assert [path.name for path in (folder / "o").iterdir()] == ["table.csv"]
    refused([*command, "t.swf/below"], "t.swf/below")


def test_unfinished_folder_is_detected(folder, refused):
    assert run(simulate(folder)) == 0
    out, scale = folder / "out", folder / "s"
    (out / "run.json").unlink()
    for command in ("audit", "report"):
        refused([command, str(out)], f"dardis: {out}: is not finished (a run without run.json)")
    refused(simulate(folder), "--force")
    assert run(simulate(folder, "--force")) == 0
    assert run(["audit", str(out)]) == 0
    assert run(["scale", "--nodes", "40", "--jobs", "5", "--out", str(scale), "--no-report"]) == 0
    (scale / "scale.json").unlink()
    refused(["report", str(scale)], "is not finished (scale experiments without scale.json)")


@pytest.mark.parametrize(
    ("out", "lock"), [("o", LOCK_FILE), ("jobs.csv.gz", f".jobs.demand.csv{LOCK_FILE}")], ids=["a folder", "a table"]
)
def test_concurrent_forecast_of_the_same_name_is_refused(folder, refused, monkeypatch, out, lock):
    monkeypatch.chdir(folder)
    command = ["forecast", "t.swf", "--platform", "p.toml", "--out"]
    (folder / "o").mkdir()
    with lock_folder(folder / out if lock == LOCK_FILE else folder, "here", lock):
        refused([*command, out], f"--out {out}: is in use by another dardis process (process {os.getpid()} on ")
        assert run([*command, "other.csv"]) == 0
    assert run([*command, out]) == 0
    assert not list(folder.rglob(f"*{LOCK_FILE}"))
    assert run([*command, out]) == 2
    assert run([*command, out, "--force"]) == 0
    assert run([*command, "none/jobs.csv"]) == 2


def children(pid):
    """Processes that this one has started, by whichever of its threads."""
    threads = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for thread in threads for child in thread.read_text().split()]


def grandchildren(pid):
    """What those have started."""
    return [grandchild for child in children(pid) for grandchild in children(child)]


def runs(pid):
    """Whether there is such a process, and not only what is left of one that nobody has waited for."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in {"Z", "X"}
    except (FileNotFoundError, ProcessLookupError):
        return False


def is_free(folder):
    """Whether nobody holds a folder: a process that is killed lets go with the last of its threads."""
    try:
        with lock_folder(folder, "held"):
            return True
    except InputError:
        return False


@pytest.mark.parametrize(
    "late", [True, pytest.param(False, marks=pytest.mark.slow)], ids=["as it runs", "as it starts"]
)
def test_child_process_ends_with_its_parent_and_its_run_is_discarded(folder, capsys, refused, late):
    slow = folder / "o" / "runs" / "long" / "dardis-balance" / "1"
    assert run([*compare(folder, "--jobs", "20")]) == 0
    before = json.loads((slow / "metrics.json").read_text())["schedule_digest"]
    with started(compare(folder, "--force", platform="large.toml")) as parent:
        waited(lambda: len(grandchildren(parent.pid)) == 1)
        started_by_it = [*children(parent.pid), *grandchildren(parent.pid)]
        if late:
            waited((slow / LOCK_FILE).exists)
        parent.send_signal(signal.SIGKILL)
        parent.wait(60)
    waited(lambda: not any(map(runs, started_by_it)))
    waited(lambda: is_free(slow))
    told_of = json.loads((folder / "o" / "compare.json").read_text())["runs"]["long/dardis-balance/1"]
    assert told_of["status"] == "begun"
    capsys.readouterr()
    # What it held when it was killed is there, and known for what it is.
    assert run(compare(folder, "--jobs", "20")) == 0
    assert "1 runs: 0 now, 1 kept, 0 failed" in capsys.readouterr().out
    assert json.loads((slow / "metrics.json").read_text())["schedule_digest"] == before
    refused(compare(folder, "--jobs", "20", platform="large.toml"), "with another platform")


@pytest.mark.parametrize("parent", ["abc", "9" * 5000])
def test_invalid_parent_process_is_reported_in_one_line(parent):
    words, said = [sys.executable, "-m", "dardis.comparison.preload"], os.environ | {"DARDIS_PARENT": parent}
    done = subprocess.run(words, env=said, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    assert done.stderr.startswith("dardis: DARDIS_PARENT: ")
