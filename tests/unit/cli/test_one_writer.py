"""Two commands and one folder, and commands that are killed: the second is told, and what is unfinished is seen."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dardis.cli.main import run
from dardis.model.errors import InputError
from dardis.model.folder_lock import LOCK_FILE, locked
from dardis.model.folders import RUN_FOLDER

PLATFORM = 'name = "small"\n[[nodes]]\ncount = 4\nprefix = "n"\nresources = { cores = 8 }\n'


def lines(count):
    return "".join(f"{n} {n} 0 {50 + n % 97} 9 -1 -1 9 200 -1 1 1 1 -1 1 1 -1 -1\n" for n in range(1, count + 1))


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "p.toml").write_text(PLATFORM)
    (tmp_path / "large.toml").write_text(PLATFORM.replace("count = 4", "count = 40"))
    (tmp_path / "t.swf").write_text(lines(40))
    (tmp_path / "long.swf").write_text(lines(30_000))
    return tmp_path


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


def started(arguments, **options):
    return subprocess.Popen([sys.executable, "-m", "dardis", *arguments], stderr=subprocess.PIPE, text=True, **options)


def waited(holds, seconds=60.0):
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.02)


def told(capsys, arguments):
    """Exit status and the lines on standard error of a command in this process."""
    status = run(arguments)
    return status, capsys.readouterr().err.splitlines()


def test_two_simulations_with_one_folder(folder, capsys):
    with started(simulate(folder, trace="long.swf")) as first:
        waited((folder / "out" / LOCK_FILE).exists)
        (folder / "out" / ".part-x").mkdir()
        waited((folder / "out" / LOCK_FILE).read_text)
        for more in ([], ["--force"]):
            status, said = told(capsys, simulate(folder, *more))
            assert (status, len(said)) == (2, 1)
            assert f"--out {folder / 'out'}: is being written by another dardis (process {first.pid} on " in said[0]
        status, said = told(capsys, ["report", str(folder / "out")])
        assert (status, len(said)) == (2, 1)
        assert "is being written by another dardis" in said[0]
        assert (folder / "out" / ".part-x").exists(), "parts are left to who holds the folder"
        first.send_signal(signal.SIGKILL)
    assert told(capsys, simulate(folder)) == (0, [])
    assert json.loads((folder / "out" / "metrics.json").read_text())["jobs"] == 40
    assert {path.name for path in (folder / "out").iterdir()} <= set(RUN_FOLDER.files)


def test_at_the_same_moment_one_of_two_is_told(folder):
    both = [started(simulate(folder, "--seed", seed)) for seed in "12"]
    said = [process.communicate(timeout=120)[1].splitlines() for process in both]
    statuses = [process.returncode for process in both]
    assert sorted(statuses) == [0, 2], said
    lost = statuses.index(2)
    assert len(said[lost]) == 1
    assert "another dardis" in said[lost][0] or "is not empty" in said[lost][0]
    assert json.loads((folder / "out" / "run.json").read_text())["seed"] == 2 - lost


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
def test_every_command_that_writes_a_folder_asks_for_it_first(folder, capsys, monkeypatch, command):
    monkeypatch.chdir(folder)
    (folder / "o").mkdir()
    with locked(folder / "o", "here"):
        status, said = told(capsys, [*command, "o"])
    assert (status, len(said)) == (2, 1)
    assert said[0].startswith(f"dardis: --out o: is being written by another dardis (process {os.getpid()}")


def test_what_is_unfinished_is_seen(folder, capsys):
    assert run(simulate(folder)) == 0
    out = folder / "out"
    (out / "run.json").unlink()
    for command in (["audit"], ["report"]):
        status, said = told(capsys, [*command, str(out)])
        assert (status, len(said)) == (2, 1)
        assert said[0].startswith(f"dardis: {out}: is not finished (a run without run.json)")
    status, said = told(capsys, simulate(folder))
    assert status == 2
    assert "--force" in said[0]
    assert run(simulate(folder, "--force")) == 0
    assert run(["audit", str(out)]) == 0
    assert run(["scale", "--nodes", "40", "--jobs", "5", "--out", str(folder / "s"), "--no-report"]) == 0
    (folder / "s" / "scale.json").unlink()
    status, said = told(capsys, ["report", str(folder / "s")])
    assert (status, len(said)) == (2, 1)
    assert "is not finished (scale experiments without scale.json)" in said[0]


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 128 KiB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", str(disk)], capture_output=True, text=True, check=False
    )
    if made.returncode:
        pytest.skip(f"can't mount a small file system here: {made.stderr.strip()}")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def test_a_disk_that_is_full_is_told_of_the_folder(folder, small_disk, capsys):
    (folder / "t.swf").write_text(lines(1_200))
    arguments = [text.replace(str(folder / "out"), str(small_disk / "out")) for text in simulate(folder)]
    status, said = told(capsys, arguments)
    assert status == 1
    assert len(said) == 1
    assert said[0].startswith(f"dardis: {small_disk / 'out'}/")
    assert said[0].endswith("csv: No space left on device")
    assert ".part" not in said[0]
    assert list(small_disk.iterdir()) == []
    assert run([*arguments, "--jobs", "40"]) == 0
    before = {path.name: path.read_bytes() for path in (small_disk / "out").iterdir()}
    assert run([*arguments, "--force"]) == 1
    assert {path.name: path.read_bytes() for path in (small_disk / "out").iterdir()} == before


# ---------------------------------------------------------------------------------------------- comparisons that die


@pytest.mark.parametrize(
    ("out", "lock"),
    [("o", LOCK_FILE), ("jobs.csv.gz", f".jobs.demand.csv{LOCK_FILE}")],
    ids=["a folder", "a table"],
)
def test_a_second_forecast_of_the_same_name_is_told(folder, capsys, monkeypatch, out, lock):
    monkeypatch.chdir(folder)
    command = ["forecast", "t.swf", "--platform", "p.toml", "--out"]
    (folder / "o").mkdir()
    with locked(folder / out if lock == LOCK_FILE else folder, "here", lock):
        status, said = told(capsys, [*command, out])
        assert (status, len(said)) == (2, 1)
        assert f"--out {out}: is being written by another dardis (process {os.getpid()} on " in said[0]
        assert run([*command, "other.csv"]) == 0
    assert run([*command, out]) == 0
    assert not list(folder.rglob(f"*{LOCK_FILE}"))
    capsys.readouterr()
    assert told(capsys, [*command, out])[0] == 2
    assert run([*command, out, "--force"]) == 0
    status, said = told(capsys, [*command, "none/jobs.csv"])
    assert status == 2
    assert "--out none/jobs.csv: No such file or directory; expected a place to write to" in said[-1]


def children(pid):
    """Processes that this one has started."""
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def runs(pid):
    """Whether there is such a process, and not only what is left of one that nobody has waited for."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in {"Z", "X"}
    except (FileNotFoundError, ProcessLookupError):
        return False


def is_free(folder):
    """Whether nobody holds a folder: a process that is killed lets go with the last of its threads."""
    try:
        with locked(folder, "held"):
            return True
    except InputError:
        return False


@pytest.mark.parametrize("late", [False, True], ids=["as it starts", "as it runs"])
def test_a_child_ends_with_its_parent_and_nothing_of_it_is_counted(folder, capsys, late):
    slow = folder / "o" / "runs" / "long" / "dardis-balance" / "1"
    assert run([*compare(folder, "--jobs", "20")]) == 0
    before = json.loads((slow / "metrics.json").read_text())["schedule_digest"]
    with started(compare(folder, "--force", platform="large.toml")) as parent:
        waited(lambda: children(parent.pid) and children(*children(parent.pid)))
        (nursery,) = children(parent.pid)
        (child,) = children(nursery)
        if late:
            waited((slow / LOCK_FILE).exists)
            time.sleep(1)
        parent.send_signal(signal.SIGKILL)
        parent.wait(60)
    waited(lambda: not runs(nursery) and not runs(child), 2.0)
    waited(lambda: is_free(slow), 2.0)
    told_of = json.loads((folder / "o" / "compare.json").read_text())["runs"]["long/dardis-balance/1"]
    assert told_of["status"] == "begun"
    capsys.readouterr()
    # What it held when it was killed is there, and known for what it is.
    assert run(compare(folder, "--jobs", "20")) == 0
    assert "1 runs: 0 now, 1 kept, 0 failed" in capsys.readouterr().out
    assert json.loads((slow / "metrics.json").read_text())["schedule_digest"] == before
    status, said = told(capsys, compare(folder, "--jobs", "20", platform="large.toml"))
    assert (status, len(said)) == (2, 1)
    assert "with another platform" in said[0]
    assert run(compare(folder, "--jobs", "20", "--force", platform="large.toml")) == 0
    assert json.loads((slow / "run.json").read_text())["platform"]["groups"][0]["count"] == 40


def test_a_child_whose_parent_is_gone_before_it_can_say_so_ends(tmp_path):
    program = "from dardis.comparison.end_with_parent import end_with_parent; end_with_parent(); print('on')"
    done = subprocess.run([sys.executable, "-c", program], env=os.environ | {"DARDIS_PARENT": "1"}, check=False)
    assert done.returncode == 1


@pytest.mark.parametrize("parent", ["abc", "1.5", "9" * 5000])
def test_a_parent_that_is_no_process_is_told_in_a_line(parent):
    words = [sys.executable, "-m", "dardis.cli.worker"]
    done = subprocess.run(
        words, env=os.environ | {"DARDIS_PARENT": parent}, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    assert done.stderr.startswith("dardis: DARDIS_PARENT: ")


def test_a_second_comparison_in_a_folder_is_told(folder, capsys):
    with started(compare(folder)) as first:
        waited((folder / "o" / "compare.json").exists)
        status, said = told(capsys, compare(folder, "--force"))
        assert (status, len(said)) == (2, 1)
        assert f"is being written by another dardis (process {first.pid} on " in said[0]
        first.send_signal(signal.SIGINT)
        first.communicate(timeout=60)
    assert first.returncode == 130
