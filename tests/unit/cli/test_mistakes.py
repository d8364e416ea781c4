"""Every row of the table of mistakes: one clear line, the right exit status, nothing lost, no traceback."""

import gzip
import json
import resource
import signal
import subprocess
import sys
import time

import pytest

from dardis.cli.main import run
from dardis.metrics.table import read_jobs
from dardis.model.job import Status

PLATFORM = 'name = "small"\n[[nodes]]\ncount = 4\nprefix = "n"\nresources = { cores = 8 }\n'


def line(number, submit, runtime=50, procs=4, walltime=100):
    return f"{number} {submit} 0 {runtime} {procs} -1 -1 {procs} {walltime} -1 1 1 1 -1 1 1 -1 -1\n"


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


def test_a_good_run_is_quiet(simulate, folder):
    assert simulate() == (0, [])
    assert json.loads((folder / "out" / "metrics.json").read_text())["completed"] == 40


BAD_LINES = {
    "three fields": ("1 2 3\n", "3 fields"),
    "text in a number": (line(99, 7).replace("50", "abc", 1), "'abc' is no number"),
    "negative time": (line(99, -7), "negative submit"),
}


@pytest.mark.parametrize(("bad", "reason"), BAD_LINES.values(), ids=BAD_LINES)
def test_a_malformed_line_is_counted_and_told(simulate, folder, bad, reason):
    (folder / "t.swf").write_text(TRACE + bad)
    status, said = simulate()
    assert status == 0
    assert len(said) == 1
    assert "t.swf" in said[0]
    assert reason in said[0]
    assert "line 42" in said[0]
    assert json.loads((folder / "out" / "metrics.json").read_text())["jobs"] == 40
    assert reason in str(json.loads((folder / "out" / "run.json").read_text())["skipped"])


@pytest.mark.parametrize("bad", BAD_LINES.values(), ids=BAD_LINES)
def test_convert_says_of_a_malformed_line_what_a_run_says(simulate, folder, capsys, bad):
    (folder / "t.swf").write_text(TRACE + bad[0])
    _, said = simulate()
    assert run(["trace", "convert", str(folder / "t.swf"), str(folder / "t.csv")]) == 0
    assert capsys.readouterr().err.splitlines() == said


@pytest.mark.parametrize(("bad", "reason"), BAD_LINES.values(), ids=BAD_LINES)
def test_strict_refuses_a_malformed_line(simulate, folder, bad, reason):
    (folder / "t.swf").write_text(TRACE + bad)
    status, said = simulate("--strict")
    assert status == 2
    assert len(said) == 1
    assert "t.swf:42" in said[0]
    assert reason in said[0]


def test_a_job_wider_than_the_machine_is_rejected(simulate, folder):
    (folder / "t.swf").write_text(TRACE + line(99, 500, procs=33))
    status, said = simulate()
    assert status == 0
    assert said == ["dardis: job 99 rejected: asks for 5 units of (7 cores); the machine holds 4"]
    schedule = read_jobs(folder / "out" / "jobs.csv")
    assert schedule.number[schedule.status == Status.REJECTED].tolist() == [99]
    assert json.loads((folder / "out" / "metrics.json").read_text())["rejected"] == 1


def expect_refusal(result, *parts):
    status, said = result
    assert status == 2
    assert len(said) == 1
    for part in parts:
        assert part in said[0]


def test_truncated_gzip(simulate, folder):
    (folder / "t.swf.gz").write_bytes(gzip.compress(TRACE.encode())[:-20])
    expect_refusal(simulate(trace="t.swf.gz"), "t.swf.gz", "truncated")


def test_missing_trace(simulate):
    expect_refusal(simulate(trace="none.swf"), "none.swf", "No such file")


def test_missing_platform(simulate):
    expect_refusal(simulate(platform="none.toml"), "none.toml", "No such file")


@pytest.mark.parametrize("text", ["", "; only a header\n"])
def test_empty_trace(simulate, folder, text):
    (folder / "t.swf").write_text(text)
    expect_refusal(simulate(), "t.swf", "no valid job")


def test_unknown_key(simulate, folder):
    (folder / "p.toml").write_text(PLATFORM + "colour = 1\n")
    expect_refusal(simulate(), "p.toml", "colour")


def test_unknown_dispatcher_lists_the_known(simulate):
    expect_refusal(simulate(dispatcher="slurm"), "'slurm'", "dardis-throughput", "rules-fcfs", "conservative")


@pytest.mark.parametrize(
    ("setting", "known"),
    [
        ("speed=9", "units_per_node=distinct|pack"),
        ("generator=last", "first|uniform|exponential"),
        ("start_grain_s=0", "a whole number from 1"),
        ("start_grain_s=x", "a whole number from 1"),
        ("backfill", "KEY=VALUE"),
    ],
)
def test_unknown_settings_list_the_known(simulate, setting, known):
    expect_refusal(simulate("--set", setting), setting, known)


@pytest.mark.parametrize(
    ("setting", "known"),
    [
        ("bids=some", "all|contiguous"),
        ("alpha=2", "paper|exact"),
        ("slurm_bids=yes", "off"),
        *((f"{name}=0", "a whole number from 1") for name in ("window", "step", "bids_per_job", "search_nodes")),
        ("age_weight=-1", "a whole number from 0"),
        ("delta=1", "unknown setting"),
    ],
)
def test_terms_that_no_auction_has(simulate, folder, setting, known):
    expect_refusal(simulate("--set", setting, dispatcher="aucsched"), setting, known)
    assert not (folder / "out").exists()


@pytest.mark.parametrize(
    ("dispatcher", "settings", "known"),
    [
        ("easy", ["order=lifo"], "fcfs|df|wt|sjbf"),
        ("easy", ["order=most:"], "most:KIND"),
        ("rules-fcfs", ["rule=rule"], "fcfs|df|wt|sjbf"),
        ("easy", ["order=most:gpu"], "no 'gpu'; expected cores"),
        ("conservative", ["ordering=relaxed"], "backfill=off"),
        ("rules-fcfs", ["backfill=on", "ordering=relaxed"], "backfill=off"),
        ("easy", ["backfill_depth=none"], "a whole number from 1"),
        ("easy", ["profile_check=never"], "instant|span"),
        ("easy", ["selection=random"], "event_order=batched|per-event"),
        ("easy", ["about=nothing"], "unknown setting"),
        ("dardis-throughput", ["ordering=relaxed"], "unknown setting"),
    ],
)
def test_settings_of_central_dispatchers(simulate, folder, dispatcher, settings, known):
    arguments = [argument for setting in settings for argument in ("--set", setting)]
    expect_refusal(simulate(*arguments, dispatcher=dispatcher), known)
    assert not (folder / "out").exists()


@pytest.mark.parametrize(
    "arguments",
    [("--seed", "x"), ("--seed", "-1"), ("--jobs", "0"), ("--colour", "red"), ("--trim", "1"), ("--deadlines", "soon"),
     ("--task-managers", "0"), ("--from", "9999999"), ("--profile", "none.csv"), ("--sample", "0"),
     ("--sample", "few")],
)  # fmt: skip
def test_wrong_arguments(simulate, arguments):
    expect_refusal(simulate(*arguments))


def test_no_such_command(capsys):
    assert run(["schedule"]) == 2
    assert "schedule" in capsys.readouterr().err


def test_mean_waits_that_the_trace_does_not_have(simulate, folder):
    (folder / "t.swf").write_text(TRACE.replace(" 0 50 ", " -1 50 "))
    expect_refusal(simulate("--deadlines", "mean-wait:queue"), "wait")


def test_out_that_cannot_be_made(simulate, folder):
    (folder / "file").write_text("")
    expect_refusal(simulate(out="file/out"), "file/out")


def test_out_that_holds_something_else(simulate, folder):
    (folder / "out").mkdir()
    (folder / "out" / "thesis.tex").write_text("dear")
    expect_refusal(simulate(), "something else")
    expect_refusal(simulate("--force"), "something else")
    assert (folder / "out" / "thesis.tex").read_text() == "dear"


def test_an_earlier_run_is_replaced_only_by_force(simulate, folder):
    simulate()
    before = (folder / "out" / "run.json").read_text()
    expect_refusal(simulate("--seed", "2"), "--force")
    assert (folder / "out" / "run.json").read_text() == before
    assert simulate("--seed", "2", "--force")[0] == 0
    assert json.loads((folder / "out" / "run.json").read_text())["seed"] == 2


def test_a_mistake_leaves_an_earlier_run_as_it_was(simulate, folder):
    simulate()
    before = {path.name: path.read_bytes() for path in (folder / "out").iterdir()}
    expect_refusal(simulate("--force", "--set", "speed=9"))
    expect_refusal(simulate("--force", "--trim", "999,0"), "--trim")
    assert {path.name: path.read_bytes() for path in (folder / "out").iterdir()} == before


def test_a_mistake_makes_no_folder(simulate, folder):
    expect_refusal(simulate("--set", "speed=9"))
    expect_refusal(simulate("--trim", "999,0"))
    assert not (folder / "out").exists()


def test_many_malformed_lines_are_few_words(simulate, folder):
    (folder / "t.swf").write_text(TRACE + "".join(f"x{n} 1\n" for n in range(300)) + "1 2 3\n" + line(99, -7))
    status, said = simulate()
    assert status == 0
    assert len(said) == 2
    assert "301 malformed" in said[0]
    assert "negative submit" in said[1]


def test_a_profile_that_ends_before_the_trace(simulate, folder):
    (folder / "d.csv").write_text("time_s,node,kind,value\n0,*,cores,16\n100,*,cores,8\n")
    status, said = simulate("--profile", folder / "d.csv")
    assert status == 0
    assert len(said) == 1
    assert "d.csv" in said[0]
    assert "last value holds" in said[0]


@pytest.mark.parametrize("row", ["0,*,cores,x", "0,9,cores,1", "0,*,colour,1", "0,*,cores,-1", "0,*,cores"])
def test_a_malformed_profile(simulate, folder, row):
    (folder / "d.csv").write_text(f"time_s,node,kind,value\n{row}\n")
    expect_refusal(simulate("--profile", folder / "d.csv"), "d.csv:2")


def command(folder, out):
    return [
        sys.executable, "-m", "dardis.cli.main", "simulate", str(folder / "t.swf"),
        "--platform", str(folder / "p.toml"), "--dispatcher", "dardis-throughput",
        "--out", str(folder / out), "--no-report",
    ]  # fmt: skip


def test_a_full_disk_leaves_whole_files_or_none(folder):
    """A limit on the size of a file stands for a full disk: both fail in the middle of writing."""
    done = subprocess.run(
        command(folder, "out"), capture_output=True, text=True, timeout=120, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2048, 2048)),
    )  # fmt: skip
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert "File too large" in done.stderr
    assert f"{folder / 'out' / 'jobs.csv'}: " in done.stderr, "not where it was to lie until all were written"
    assert not (folder / "out").exists()


def test_a_full_disk_leaves_the_earlier_run_whole(folder, simulate):
    simulate()
    before = {path.name: path.read_bytes() for path in (folder / "out").iterdir()}
    # Room for all files but the largest: it fails when some have been written.
    limit = sum(sorted(map(len, before.values()))[-2:]) // 2
    done = subprocess.run(
        [*command(folder, "out"), "--force", "--seed", "7"], capture_output=True, text=True, timeout=120, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )  # fmt: skip
    assert done.returncode == 1
    assert {path.name: path.read_bytes() for path in (folder / "out").iterdir()} == before
    (folder / "out" / ".part-left").mkdir()
    assert simulate("--force", "--seed", "7")[0] == 0
    assert json.loads((folder / "out" / "run.json").read_text())["seed"] == 7
    assert not (folder / "out" / ".part-left").exists()


def test_ctrl_c_ends_with_130(folder):
    (folder / "t.swf").write_text("".join(line(n, n, procs=9, walltime=100 + n % 97) for n in range(1, 60_001)))
    process = subprocess.Popen(command(folder, "out"), stderr=subprocess.PIPE, text=True)
    while not (folder / "out").exists():
        time.sleep(0.05)
    time.sleep(2)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert said.strip() == "dardis: interrupted"
    assert not (folder / "out").exists()


@pytest.mark.parametrize("setting", ["plan_jobs=0", "exchanges=-1", "weights=heavy"])
def test_settings_of_plans_that_do_not_exist(simulate, setting):
    status, lines = simulate("--set", setting, dispatcher="replan")
    assert status == 2
    assert len(lines) == 1
    assert setting.partition("=")[0] in lines[0]


@pytest.mark.parametrize("words", [[], ["simulate"], ["trace", "info"], ["export"]])
def test_help_has_a_short_word(words, capsys):
    assert run([*words, "-h"]) == 0
    short = capsys.readouterr().out
    assert run([*words, "--help"]) == 0
    assert capsys.readouterr().out == short
    assert "Usage" in short
