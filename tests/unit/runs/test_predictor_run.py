"""Expected durations from the command to the folder and its report: figures, file, curve, and what is told."""

import json

import numpy as np
import pytest

from dardis.cli.main import run as command
from dardis.metrics.job_metrics import EXPECTATIONS_FILE, read_expectations
from dardis.metrics.jobs_csv import read_jobs
from dardis.model.errors import InputError
from dardis.report.chart import style
from dardis.report.distributions import accuracy
from dardis.report.run_page import draw_report

PLATFORM = 'name = "two"\n[[nodes]]\ncount = 2\nprefix = "n"\nresources = { cores = 4 }\n'
HEADER = "job_id,submit_s,runtime_s,walltime_s,units,req_cores,user,name\n"
ROWS = [
    "1,0,100,400,1,4,ann,fit1",
    "2,150,60,400,1,4,ann,fit2",  # as long as fit1: 40 s too long
    "3,300,100,400,1,2,ann,fit1",  # as long as fit1, with another request
    "4,310,500,400,1,4,bob,fit1",  # nobody knows bob: as long as its walltime, at which it is killed
    "5,800,30,400,1,9,bob,x",  # fits no node
]


@pytest.fixture
def simulate(tmp_path, capsys):
    (tmp_path / "p.toml").write_text(PLATFORM)

    def simulate(*settings, dispatcher="easy", out="out", write=True, more=()):
        if write:
            (tmp_path / "t.csv").write_text(HEADER + "\n".join(ROWS) + "\n")
        words = [word for setting in settings for word in ("--set", setting)]
        status = command([
            "simulate", str(tmp_path / "t.csv"), "--platform", str(tmp_path / "p.toml"), "--dispatcher", dispatcher,
            "--out", str(tmp_path / out), "--force", "--no-report", *words, *more,
        ])  # fmt: skip
        return status, capsys.readouterr(), tmp_path / out

    return simulate


def test_run_reports_prediction_sources_and_errors(simulate):
    status, said, out = simulate("expected=data-driven")
    assert status == 0
    metrics = json.loads((out / "metrics.json").read_text())
    assert metrics["expected_mae_s"] == pytest.approx((300 + 40 + 0 + 0) / 4)
    assert (metrics["expected_under_share"], metrics["expected_over_share"]) == (0, 0.5)
    assert (out / EXPECTATIONS_FILE).read_text().splitlines() == [
        "job_id,expected_s,rule", "1,400,walltime", "2,100,user stem walltime request", "3,100,user name walltime",
        "4,400,walltime", "5,400,walltime",
    ]  # fmt: skip
    assert "walltime: 3" in said.out


@pytest.mark.parametrize(
    ("expected", "dispatcher"),
    [
        ("walltime", "conservative"),
        ("last-two", "rules-wt"),
        ("data-driven", "easy"),
        ("learned", "conservative"),
        ("real", "easy"),
    ],
)
def test_every_predictor_works_and_is_audited(simulate, dispatcher, expected):
    status, _, out = simulate(f"expected={expected}", dispatcher=dispatcher)
    assert status == 0
    assert command(["audit", str(out)]) == 0
    assert json.loads((out / "run.json").read_text())["settings"]["expected"] == expected


def test_prediction_curve_is_drawn_and_a_damaged_file_reported(simulate):
    _, _, out = simulate("expected=last-two")
    assert "Right of 1: longer than expected" in draw_report(out).read_text()
    schedule = read_jobs(out / "jobs.csv")
    expected = read_expectations(out / EXPECTATIONS_FILE, schedule)
    assert expected.duration.tolist()[:3] == [400, 100, 80]
    with style():
        caption = accuracy(schedule, expected).caption
    assert "share of all walltimes: 2, the user's last job: 2, the user's last two jobs: 1" in caption
    path = out / EXPECTATIONS_FILE
    text = path.read_text()
    for damaged, what in (
        (text.replace("expected_s", "seconds"), "wrong columns for expectations.csv"),
        (text.replace("\n2,", "\n77,"), f"{path}:3"),
        (text.replace("\n1,400", "\n1,0"), f"{path}:2"),
        (text.replace("\n1,400", "\n1,401"), f"{path}:2"),
        (text + "1,400,again\n", f"{path}:7"),
        ("job_id,expected_s,rule\n", "jobs that ran are missing"),
    ):
        assert damaged != text
        path.write_text(damaged)
        with pytest.raises(InputError, match=what):
            read_expectations(path, schedule)
        assert command(["report", str(out)]) == 2


def test_missing_walltimes_are_reported_with_predictors(simulate, tmp_path):
    header = HEADER.replace("walltime_s,", "")
    (tmp_path / "t.csv").write_text(header + "1,0,100,1,4,ann,x\n2,5,70,1,4,ann,x\n")
    _, said, out = simulate("expected=last-two", write=False)
    expected = "2 of 2 jobs have their runtimes as walltimes"
    assert expected in said.err
    assert any(expected in line for line in json.loads((out / "run.json").read_text())["warnings"])
    _, said, _ = simulate(write=False)
    assert expected not in said.err


def test_a_forest_plans_a_run_and_the_same_again(simulate, tmp_path):
    chance = np.random.default_rng(3)
    rows = [
        f"{n},{40 * n},{run},{run * int(chance.integers(1, 5))},1,{chance.integers(1, 5)},u{n % 3},"
        for n, run in enumerate(chance.integers(10, 300, 250).tolist())
    ]
    (tmp_path / "t.csv").write_text(HEADER + "\n".join(rows) + "\n")
    _, said, first = simulate("expected=learned", write=False)
    _, _, again = simulate("expected=learned", write=False, out="again")
    assert "forest: " in said.out
    assert (first / "jobs.csv").read_text() == (again / "jobs.csv").read_text()
    assert (first / EXPECTATIONS_FILE).read_text() == (again / EXPECTATIONS_FILE).read_text()
    assert json.loads((first / "metrics.json").read_text())["prediction_cpu_s"] > 0
    assert command(["audit", str(first)]) == 0


def test_only_the_jobs_of_the_window_count(simulate):
    _, _, out = simulate("expected=data-driven", more=("--trim", "100,0"))
    metrics = json.loads((out / "metrics.json").read_text())
    assert (metrics["completed"] + metrics["killed"], metrics["expected_mae_s"]) == (3, pytest.approx(40 / 3))
