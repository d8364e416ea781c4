"""Jobs with parts, nodes, neighbours and alternatives at the command line: run, judged, or refused in one line."""

import json

import pytest
from kit.small_site import rows_of

from dardis.cli.main import run as command
from dardis.dispatch.cp.setups import CP_SETUPS

PLATFORM = """
name = "small"
[[nodes]]
count = 3
prefix = "a"
resources = { cores = 4 }
[[nodes]]
count = 2
prefix = "g"
resources = { cores = 4, gpu = 2 }
[partitions]
gpus = ["g"]
"""
TRACE = """job_id,part,alternative,submit_s,runtime_s,walltime_s,units,nodes,contiguous,req_cores,req_gpu,partition
1,1,1,0,50,60,2,,,4,0,
1,2,1,,,,1,,,1,2,gpus
2,1,1,5,20,30,7,3,1,1,0,
3,1,1,10,10,20,5,,,4,0,
3,1,2,,40,50,1,,,4,0,
4,1,1,10,10,20,9,,,4,0,
4,2,1,,,,9,,,4,0,
5,1,1,12,10,20,1,,,4,0,
"""


@pytest.fixture
def base_words(tmp_path):
    """What to say to `dardis simulate`, but for the dispatcher."""
    (tmp_path / "p.toml").write_text(PLATFORM)
    (tmp_path / "t.csv").write_text(TRACE)
    files = [str(tmp_path / "t.csv"), "--platform", str(tmp_path / "p.toml"), "--out", str(tmp_path / "out")]
    return ["simulate", *files, "--no-report"]


def test_audited_run_reports_the_chosen_alternatives(base_words, tmp_path):
    assert command([*base_words, "--dispatcher", "easy"]) == 0
    assert command(["audit", str(tmp_path / "out")]) == 0
    rows = rows_of(tmp_path / "out" / "jobs.csv")
    told = [[row[name] for name in ("status", "starting_time", "units_by_node", "alternative")] for row in rows]
    assert told == [
        ["completed", "0", "0:1 1:1 3:1", ""],
        ["completed", "5", "2:4 3:2 4:1", ""],
        ["completed", "25", "2:1", "2"],
        ["rejected", "", "", ""],
        ["completed", "25", "4:1", ""],
    ]
    # The first is on 0-1 3, the others side by side; they use 450, 140, 160 and 40 core-seconds of 20 cores.
    metrics = json.loads((tmp_path / "out" / "metrics.json").read_text())
    names = ("mean_fragmentation", "mean_spread", "theoretical_runtime_s", "mean_wait_s", "mean_slowdown")
    assert [metrics[name] for name in names] == pytest.approx(
        [5 / 4, (4 / 3 + 3) / 4, 790 / 20, 28 / 4, (1 + 1 + 55 / 40 + 23 / 10) / 4]
    )
    assert rows[0]["parts"] == "2:cores=4 1:cores=1,gpu=2"
    assert rows[0]["units_by_part"] == "0:1 1:1;3:1"
    assert rows[0]["requested_number_of_resources"] == "9"
    assert command(["report", str(tmp_path / "out")]) == 0


@pytest.mark.parametrize("name", CP_SETUPS)
def test_solver_dispatchers_run_shaped_jobs_and_stored_instances_repeat(name, base_words, tmp_path, capsys):
    trace, kept = tmp_path / "t.csv", tmp_path / "kept"
    trace.write_text(TRACE + "6,1,1,13,10,20,3,3,1,4,0,\n6,2,1,,,,1,,,0,1,gpus\n7,1,1,14,10,20,2,,,4,0,\n")
    assert command([*base_words, "--dispatcher", name, "--deadlines", "factor:5", "--save-instances", str(kept)]) == 0
    assert command(["audit", str(tmp_path / "out")]) == 0
    rows = rows_of(tmp_path / "out" / "jobs.csv")
    assert [row["status"] == "completed" for row in rows] == [True, True, True, False, True, True, True]
    if name == "portfolio":  # too little has been submitted for a model
        return
    capsys.readouterr()
    with_parts = '"parts"' in "".join(file.read_text() for file in sorted(kept.iterdir()))
    assert with_parts == (name != "pcp20")
    for other in ("pcp19", "hcp19", "cp-eurora"):
        assert command(["solve", str(kept), "--dispatcher", other]) == 0
    if with_parts:
        capsys.readouterr()
        assert command(["solve", str(kept), "--dispatcher", "pcp20"]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert "contiguous or alternatives (job " in line


def test_options_without_support_for_job_shapes_are_refused(base_words, tmp_path, capsys):
    wish = tmp_path / "wish.csv"
    wish.write_text("time_s,node,kind,value\n0,*,cores,8\n")
    for more, words in (
        (("--set", "expected=last-two"), "which expected=last-two does not predict"),
        (("--profile", str(wish)), "which do not work with a desired profile"),
    ):
        assert command([*base_words, "--dispatcher", "easy", *more]) == 2
        assert words in capsys.readouterr().err
    (tmp_path / "t.csv").write_text(TRACE.replace("1,2,1,,,,1,,,1,2,gpus", "1,2,1,,,,1,,,0,0,gpus"))
    assert command([*base_words, "--dispatcher", "easy"]) == 2
    assert "t.csv:3: has an empty request; expected a part" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_comparisons_and_forecasts_refuse_before_anything_runs(base_words, tmp_path, capsys):
    compare = ["compare", *base_words[1:-1], "--dispatchers"]
    assert command([*compare, "easy,dardis-throughput"]) == 2
    assert "which dardis-throughput does not obey" in capsys.readouterr().err
    assert command([*compare, "easy,conservative", "--clairvoyant"]) == 2
    told = capsys.readouterr().err
    assert "--clairvoyant: " in told
    assert "t.csv: has jobs with parts" in told
    assert not (tmp_path / "out").exists()
    forecast = ["forecast", *base_words[1:4], "--calendar-start", "2023-07-03T00:00Z", *base_words[4:-1]]
    assert command(forecast) == 2
    assert "t.csv: has jobs with parts" in capsys.readouterr().err


def test_trace_with_job_shapes_is_described_and_converted(tmp_path, base_words, capsys):
    table, again, swf = (tmp_path / name for name in ("t.csv", "again.csv", "t.swf"))
    assert command(["trace", "info", str(table)]) == 0
    assert command(["trace", "convert", str(table), str(again)]) == 0
    assert command(["trace", "convert", str(again), str(tmp_path / "third.csv")]) == 0
    assert again.read_text() == (tmp_path / "third.csv").read_text()
    capsys.readouterr()
    assert command(["trace", "convert", str(table), str(swf)]) == 0
    assert "parts, nodes, contiguous and alternatives of 4 jobs: SWF has no columns" in capsys.readouterr().err
