"""Every row of the table of mistakes: one clear line, the right exit status, nothing lost, no traceback."""

import gzip
import json
import resource
import signal
import subprocess
import sys

import pytest
from kit.few_nodes import PLATFORM, started, swf, waited

from dardis.cli.main import run
from dardis.metrics.audit import Audit
from dardis.model.out_folder import LOCK_FILE


def line(number, submit, runtime=50, procs=4):
    return f"{number} {submit} 0 {runtime} {procs} -1 -1 {procs} 100 -1 1 1 1 -1 1 1 -1 -1\n"


TRACE = "; MaxProcs: 32\n" + "".join(line(n, 10 * n) for n in range(1, 41))


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "p.toml").write_text(PLATFORM)
    (tmp_path / "t.swf").write_text(TRACE)
    return tmp_path


@pytest.fixture
def simulate(folder, capsys):
    """Run `dardis simulate` with defaults that arguments override; return (status, lines on standard error)."""

    def call(*more, trace="t.swf", platform="p.toml", dispatcher="dardis-throughput", out="out"):
        status = run(
            ["simulate", str(folder / trace), "--platform", str(folder / platform), "--dispatcher", dispatcher,
             "--out", str(folder / out), "--no-report", *map(str, more)]
        )  # fmt: skip
        return status, capsys.readouterr().err.splitlines()

    return call


@pytest.fixture
def refused(simulate, folder):
    """It ends with 2 and one line that says so, and leaves no file but what was there."""

    def call(*arguments, said=(), **options):
        before = contents(folder)
        status, lines = simulate(*arguments, **options)
        assert (status, len(lines)) == (2, 1)
        for part in said:
            assert part in lines[0]
        assert contents(folder) == before

    return call


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def record(folder, name="run.json"):
    return json.loads((folder / "out" / name).read_text())


BAD_LINES = {
    "three fields": ("1 2 3\n", "3 fields"),
    "text in a number": (line(99, 7).replace("50", "abc", 1), "'abc' is not a number"),
    "negative time": (line(99, -7), "negative submit"),
}


@pytest.mark.parametrize(("bad", "reason"), BAD_LINES.values(), ids=BAD_LINES)
def test_malformed_line_is_counted_and_refused_on_request(simulate, refused, folder, capsys, bad, reason):
    assert simulate(out="good") == (0, [])
    (folder / "t.swf").write_text(TRACE + bad)
    status, said = simulate()
    assert (status, len(said)) == (0, 1)
    for part in ("t.swf", reason, "line 42"):
        assert part in said[0]
    assert record(folder, "metrics.json")["completed"] == 40
    assert reason in str(record(folder)["skipped"])
    assert run(["trace", "convert", str(folder / "t.swf"), str(folder / "t.csv")]) == 0
    assert capsys.readouterr().err.splitlines() == said
    refused("--strict", out="strict", said=("t.swf:42", reason))


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("t.swf.gz", gzip.compress(TRACE.encode())[:-20], ("t.swf.gz", "truncated")),
        ("none.swf", None, ("none.swf", "No such file")),
        ("t.swf", b"; only a header\n", ("t.swf", "no valid job")),
    ],
)
def test_invalid_traces_are_refused(refused, folder, name, content, said):
    if content is not None:
        (folder / name).write_bytes(content)
    refused(trace=name, said=said)


@pytest.mark.parametrize(
    ("dispatcher", "settings", "known"),
    [
        ("dardis-throughput", ["generator=last"], "first|uniform|exponential"),
        ("dardis-throughput", ["start_grain_s=0"], "a whole number from 1"),
        ("dardis-throughput", ["ordering=relaxed"], "unknown setting"),
        ("aucsched", ["bids=some"], "all|contiguous"),
        ("easy", ["order=most:gpu"], "no 'gpu'; expected cores"),
        ("easy", ["selection=random"], "event_order=batched|per-event"),
        ("rules-fcfs", ["backfill=on", "ordering=relaxed"], "backfill=off"),
    ],
)
def test_unknown_settings_list_the_known(refused, folder, dispatcher, settings, known):
    refused(*(f"--set={setting}" for setting in settings), dispatcher=dispatcher, said=(known,))
    assert not (folder / "out").exists()


@pytest.mark.parametrize(
    "arguments",
    [("--seed", "x"), ("--seed", "-1"), ("--jobs", "0"), ("--colour", "red"), ("--trim", "1"), ("--deadlines", "soon"),
     ("--task-managers", "0"), ("--from", "9999999"), ("--profile", "none.csv"), ("--sample", "0"),
     ("--sample", "few"), ("--trim", "999,0"), ("--to", str(2**63)), ("--from", str(-(2**63) - 1)),
     ("--jobs", str(2**63))],
)  # fmt: skip
def test_wrong_arguments(refused, folder, arguments):
    of_file = {"9999999": "submit times from 9999999 on", "none.csv": "none.csv"}
    refused(*arguments, said=(of_file.get(arguments[1], arguments[0]),))
    assert not (folder / "out").exists()


def test_values_out_of_range_are_one_line(simulate, folder):
    around = 'prices = 1e300\ncalendar_start = "2023-07-03T00:00Z"\n'
    power = "power = { idle_w = 1e9, core_w = 1e9 }\n"
    (folder / "p.toml").write_text(around + PLATFORM + power + "[tariff]\ndemand_eur_per_kw = 1e308\n")
    status, said = simulate()
    (line,) = (line for line in said if "warning" not in line)
    assert (status, "infinite or undefined" in line) == (2, True)


def test_folder_change_during_an_audit_is_reported(simulate, folder, monkeypatch, capsys):
    simulate()
    path, judged = folder / "out" / "run.json", Audit.check_remaining

    def rest(self, *words, **named):
        path.write_text(path.read_text() + "\n")
        return judged(self, *words, **named)

    monkeypatch.setattr(Audit, "check_remaining", rest)
    assert run(["audit", str(folder / "out")]) == 2
    assert "changed while it was read" in capsys.readouterr().err


def command(folder):
    return [
        "simulate", str(folder / "t.swf"), "--platform", str(folder / "p.toml"), "--dispatcher", "dardis-throughput",
        "--out", str(folder / "out"), "--no-report",
    ]  # fmt: skip


def test_full_disk_leaves_the_earlier_run_intact(folder, simulate):
    simulate()
    before = contents(folder / "out")
    # Room for all files but the largest: it fails when some have been written.
    limit = sum(sorted(map(len, before.values()))[-2:]) // 2
    done = subprocess.run(
        [sys.executable, "-m", "dardis", *command(folder), "--force"], capture_output=True, text=True, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )  # fmt: skip
    assert done.returncode == 1
    (said,) = done.stderr.splitlines()
    assert said.startswith(f"dardis: {folder / 'out'}/")
    assert said.endswith(": File too large")
    assert ".part" not in said, "not where files lie until all are written"
    assert contents(folder / "out") == before
    (folder / "out" / ".part-left").mkdir()
    assert simulate("--force", "--seed", "7")[0] == 0
    assert record(folder)["seed"] == 7
    assert not (folder / "out" / ".part-left").exists()


def test_ctrl_c_ends_with_130(folder):
    (folder / "t.swf").write_text(swf(60_000))
    process = started(command(folder))
    lock = folder / "out" / LOCK_FILE
    waited(lambda: lock.exists() and lock.read_text())
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert said.strip() == "dardis: interrupted"
    assert not (folder / "out").exists()
