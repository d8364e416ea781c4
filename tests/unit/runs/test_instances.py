"""Decisions that a run keeps, and models that are asked about them again."""

import csv
from pathlib import Path

import pytest

from dardis.cli.main import run as command
from dardis.runs.solved_instances import SOLVER_FILE

PLATFORM = 'name = "two"\n[[nodes]]\ncount = 2\nprefix = "n"\nresources = { cores = 4 }\n'
HEADER = "job_id,submit_s,runtime_s,walltime_s,units,req_cores\n"
ROWS = [f"{number},{number},{20 + 7 * number % 50},90,{1 + number % 2},{1 + number % 4}" for number in range(1, 16)]
MODELS = ("pcp19", "hcp19", "pcp20")
LARGE = str(2**62)


@pytest.fixture
def call(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.toml").write_text(PLATFORM)
    (tmp_path / "t.csv").write_text(HEADER + "\n".join(ROWS) + "\n")

    def call(*words):
        status = command(list(words))
        return status, capsys.readouterr().err

    return call


def simulate(call, dispatcher, *more):
    return call("simulate", "t.csv", "--platform", "p.toml", "--dispatcher", dispatcher, "--out", "out",
                "--save-instances", "kept", "--no-report", *more)  # fmt: skip


def rows_of(path):
    """All of a CSV file but the seconds of the processor, which are not the same twice."""
    with path.open() as file:
        return [{key: value for key, value in row.items() if not key.endswith("cpu_s")} for row in csv.DictReader(file)]


@pytest.mark.parametrize(
    ("name", "settings"),
    [(name, ()) for name in MODELS]
    + [("pcp19", ("--set", "decision_cost=deterministic")), ("hcp19", ("--set", "shortcuts=off", "--seed", LARGE))],
)
def test_stored_decisions_repeat_with_the_same_result(call, tmp_path, name, settings):
    assert simulate(call, name, *settings) == (0, "")
    assert call("solve", "kept", "--dispatcher", name, *settings, "--out", "again.csv") == (0, "")
    before, again = rows_of(tmp_path / "out" / SOLVER_FILE), rows_of(tmp_path / "again.csv")
    assert len(before) == len(again) > 5
    for number, (one, other) in enumerate(zip(before, again, strict=True)):
        assert other.pop("instance") == f"kept/decision-{number:06}.json"
        starting = other.pop("starting").split()
        assert len(starting) == int(other["started"])
        if name == "hcp19":  # who starts on sums may find no nodes
            assert int(one.pop("started")) <= int(other.pop("started"))
        assert one == other


def test_any_model_solves_stored_instances(call, tmp_path):
    assert simulate(call, "hcp19", "--deadlines", "window:60")[0] == 0
    for name in (*MODELS, "pcp14"):
        assert call("solve", "kept", "--dispatcher", name, "--out", f"{name}.csv") == (0, "")
        told = rows_of(tmp_path / f"{name}.csv")
        assert len(told) == len(rows_of(tmp_path / "out" / SOLVER_FILE))
        assert all(float(row["bound"]) <= float(row["objective"]) + 1e-9 for row in told if row["bound"])


def test_a_folder_is_not_written_over(call, tmp_path):
    assert simulate(call, "hcp19")[0] == 0
    count = len(list((tmp_path / "kept").iterdir()))
    (tmp_path / "kept/decision-999999.json").write_text("{}")
    status, error = simulate(call, "hcp19", "--out", "other")
    assert status == 2
    assert "--save-instances kept: is not empty" in error
    assert simulate(call, "hcp19", "--force")[0] == 0
    assert len(list((tmp_path / "kept").iterdir())) == count
    (tmp_path / "kept/mine.txt").write_text("keep me")
    status, error = simulate(call, "hcp19", "--force")
    assert (status, "has other content" in error) == (2, True)
    assert (tmp_path / "kept/mine.txt").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("simulate", "t.csv", "--platform", "p.toml", "--dispatcher", "easy", "--out", "o", "--save-instances", "k"),
         "easy has no model instances"),
        (("simulate", "t.csv", "--platform", "p.toml", "--dispatcher", "hcp19", "--out", "o", "--save-instances",
          "t.csv"), "--save-instances t.csv"),
        (("simulate", "t.csv", "--platform", "p.toml", "--dispatcher", "hcp19", "--out", "o", "--save-instances",
          "o/k"), "is inside --out o"),
        (("solve", "kept", "--dispatcher", "easy"), "--dispatcher easy: has no model"),
        (("solve", "kept", "--dispatcher", "pcp19", "--set", "version=7"), "--set version=7"),
        (("solve", "nowhere", "--dispatcher", "pcp19"), "nowhere"),
        (("solve", ".", "--dispatcher", "pcp19"), "holds no decisions"),
        (("solve", "t.csv", "--dispatcher", "pcp19"), "t.csv: is not JSON"),
        (("solve", "kept", "--dispatcher", "pcp14"), "has no latest start"),
        (("solve", "kept", "--dispatcher", "hcp19", "--set", "version=2"), "has no latest start"),
    ],
)  # fmt: skip
def test_instance_errors_are_reported(call, words, said):
    assert simulate(call, "hcp19")[0] == 0
    status, error = call(*words)
    assert status == 2
    assert said in error
    assert error.count("\n") == 1


@pytest.mark.parametrize("name", ["pcp19", "cp-eurora"])
def test_stored_decisions_within_a_reservation_repeat(call, tmp_path, name):
    site = (
        '[[queues]]\nname = "r"\n[[reservations]]\nname = "c"\nqueue = "r"\nnodes = "0-1"\nstart_s = 50\nend_s = 90\n'
    )
    more = '[[nodes]]\ncount = 2\nprefix = "b"\nresources = { cores = 4 }\n[partitions]\npb = ["b"]\n'
    Path("p.toml").write_text(PLATFORM + more + site)
    rows = ["1,0,20,30,2,4,r", "2,1,9,10,2,4,r", "3,2,20,30,2,4,r"]
    Path("t.csv").write_text(HEADER.replace("\n", ",queue\n") + "\n".join(rows) + "\n")
    settings = ("--set", "shortcuts=off")
    assert simulate(call, name, *settings)[0] == 0
    assert call("solve", "kept", "--dispatcher", name, *settings, "--out", "again.csv") == (0, "")
    before, again = rows_of(tmp_path / "out" / SOLVER_FILE), rows_of(tmp_path / "again.csv")
    assert before
    assert [one["objective"] for one in before] == [one["objective"] for one in again]
