"""Dispatchers that ask a constraint solver, from command to folder: files, figures, what decisions cost, mistakes."""

import csv
import json

import pytest

from dardis.cli.main import run as command
from dardis.runs.solved_instances import SOLVER_FILE

PLATFORM = 'name = "two"\n[[nodes]]\ncount = 2\nprefix = "n"\nresources = { cores = 4 }\n'
HEADER = "job_id,submit_s,runtime_s,walltime_s,units,req_cores\n"
ROWS = [
    "1,0,100,100,2,3",  # all nodes
    "2,5,20,200,1,4",
    "3,6,30,30,1,4",
    "4,7,10,10,1,4",
    "5,8,40,60,2,4",
    "6,9,5,5,1,9",  # fits no node
]


@pytest.fixture
def simulate(tmp_path, capsys):
    (tmp_path / "p.toml").write_text(PLATFORM)
    (tmp_path / "t.csv").write_text(HEADER + "\n".join(ROWS) + "\n")

    def simulate(dispatcher, *settings, more=(), out="out"):
        words = [word for setting in settings for word in ("--set", setting)]
        status = command([
            "simulate", str(tmp_path / "t.csv"), "--platform", str(tmp_path / "p.toml"), "--dispatcher", dispatcher,
            "--out", str(tmp_path / out), "--force", "--no-report", *words, *more,
        ])  # fmt: skip
        return status, capsys.readouterr().err, tmp_path / out

    return simulate


def read(out):
    with (out / SOLVER_FILE).open() as file:
        return list(csv.DictReader(file)), json.loads((out / "metrics.json").read_text())


def starts(out):
    with (out / "jobs.csv").open() as file:
        return {int(row["job_id"]): int(row["starting_time"]) for row in csv.DictReader(file) if row["starting_time"]}


def check_rows(rows, metrics, *, replanned=False):
    """What holds of every decision that a solver may have been asked about."""
    # At 0 all start; nobody could at 5 to 9; at 100 the short ones do.
    assert [int(row["time"]) for row in rows][:2] == [0, 100]
    assert metrics["solver_decisions"] == len(rows)
    for row in rows:
        assert float(row["first_cpu_s"]) > 0
        assert (float(row["build_cpu_s"]) > 0) == (row["status"] != "")
        assert float(row["solver_cpu_s"]) >= 0  # some systems count in ticks
        assert row["status"] or float(row["solver_cpu_s"]) == 0
        waiting = int(row["waiting"]) + replanned * int(row["started"])
        assert int(row["started"]) <= int(row["planned"]) <= waiting
        assert float(row["bound"]) <= float(row["objective"]) + 1e-9


@pytest.mark.parametrize("name", ["pcp19", "hcp19", "pcp20"])
def test_a_decision_has_its_row_and_metrics_their_sums(simulate, name):
    status, _, out = simulate(name)
    assert status == 0
    rows, metrics = read(out)
    check_rows(rows, metrics)
    assert metrics["solver_asked"] == sum(row["status"] != "" for row in rows)
    assert metrics["stopped_by"] is None
    phases = {"first_cpu_s": "solver_first_cpu_s", "build_cpu_s": "solver_build_cpu_s", "solver_cpu_s": "solver_cpu_s"}
    for column, figure in phases.items():
        assert metrics[figure] == pytest.approx(sum(float(row[column]) for row in rows), rel=1e-6)
    assert metrics["decision_cpu_s"] > sum(metrics[figure] for figure in phases.values())
    for row in rows:
        assert float(row["gap"]) == pytest.approx(1 - float(row["bound"]) / float(row["objective"]), abs=1e-6)
    begun = starts(out)
    # Two of one node each, the shortest first, then the next, then who needs both or who takes longest.
    assert (begun[1], begun[4], begun[3]) == (0, 100, 100)
    assert command(["audit", str(out)]) == 0


def test_the_versions_that_weigh_by_expected_waits_have_them_by_deadlines(simulate):
    for name, settings in (("pcp14", ()), ("pcp19", ("version=0",)), ("hcp19", ("version=2",))):
        status, said, _ = simulate(name, *settings)
        assert (status, len(said.splitlines())) == (2, 1)
        assert "--deadlines none" in said
        assert simulate(name, *settings, more=("--deadlines", "factor:2"), out=name)[0] == 0
    assert simulate("pcp14", "composite=off")[0] == 0


@pytest.mark.parametrize(
    ("name", "setting", "told"),
    [
        ("pcp19", "version=4", "0|1|2|3"),
        ("hcp19", "version=one", "0|1|2|3"),
        ("pcp14", "objective=profit", "makespan|tardiness|late"),
        ("pcp14", "delta_0=-1", "a factor from 0"),
        ("pcp20", "delta=-1", "deterministic seconds above 0"),
        ("pcp20", "delta=nan", "deterministic seconds above 0"),
        ("pcp20", "delta=2", "no more"),
        ("hcp19", "restarts=-1", "a whole number from 0 to"),
        ("hcp19", "expected=oracle", "walltime|last-two|data-driven|used-share|learned|real"),
        ("hcp19", "decision_cost=wall", "none|deterministic"),
        ("replan", "solver=yes", "on|off"),
        ("replan", "delta=20", "no more"),
    ],
)
def test_invalid_setting_is_one_line(simulate, name, setting, told):
    status, said, out = simulate(name, setting)
    assert (status, len(said.splitlines())) == (2, 1)
    assert told in said
    assert not out.exists()


@pytest.mark.slow
def test_solver_time_guard_is_reported(simulate, tmp_path):
    rows = [
        f"{number},{number // 9},{7 + number % 13},{7 + number % 13},{1 + number % 5},{1 + number % 3}"
        for number in range(1, 60)
    ]
    (tmp_path / "t.csv").write_text(HEADER + "\n".join(rows) + "\n")
    _, _, out = simulate("hcp19", "guard_s=1", "delta=16", "conflicts=100000000")
    found, metrics = read(out)
    stopped = {row["stopped_by"] for row in found}
    assert (metrics["stopped_by"] == "time") == ("time" in stopped)
