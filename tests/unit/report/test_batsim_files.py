"""A run as Batsim writes it: its columns in their order, its figures, and resources that are cores."""

import csv

import pytest

from dardis.cli.main import run as command
from dardis.report.batsim_files import JOBS


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    tmp_path = tmp_path_factory.mktemp("batsim")
    (tmp_path / "p.toml").write_text('name = "p"\n[[nodes]]\ncount = 2\nprefix = "n"\nresources = { cores = 4 }\n')
    rows = [(1, 10, 20, 6, 30), (2, 12, 50, 4, 40), (3, 12, 5, 2, 30), (4, 13, 5, 9, 30)]
    text = "".join(f"{n} {s} -1 {r} {p} -1 -1 {p} {w} -1 1 1 1 -1 1 1 -1 -1\n" for n, s, r, p, w in rows)
    (tmp_path / "t.swf").write_text(text)
    run = ["simulate", str(tmp_path / "t.swf"), "--platform", str(tmp_path / "p.toml"), "--dispatcher", "easy"]
    assert command([*run, "--out", str(tmp_path / "out"), "--no-report"]) == 0
    return tmp_path


def rows(path):
    with path.open(newline="") as file:
        return [*csv.DictReader(file)]


def test_batsim_files_are_written(folder, capsys):
    assert command(["report", str(folder / "out"), "--batsim", str(folder / "b")]) == 0
    assert f"batsim: {folder / 'b_jobs.csv'}" in capsys.readouterr().out
    jobs, (figures,) = rows(folder / "b_jobs.csv"), rows(folder / "b_schedule.csv")
    assert tuple(jobs[0]) == JOBS.names
    assert [*figures] == sorted(figures)
    assert [job["final_state"] for job in jobs] == [
        "COMPLETED_SUCCESSFULLY", "COMPLETED_WALLTIME_REACHED", "COMPLETED_SUCCESSFULLY", "REJECTED",
    ]  # fmt: skip
    assert [job["starting_time"] for job in jobs] == ["10.000000", "30.000000", "30.000000", ""]
    assert [job["allocated_resources"] for job in jobs][3] == ""
    assert figures["nb_computing_machines"] == "8"
    counts = [figures[f"nb_jobs{what}"] for what in ("", "_finished", "_success", "_killed", "_rejected")]
    assert counts == ["4", "3", "2", "1", "1"]
    assert figures["makespan"] == "70.000000"
    assert figures["max_waiting_time"] == "18.000000"
    assert figures["mean_waiting_time"] == "9.000000"  # over all four, as Batsim has it
    assert float(figures["time_computing"]) == 6 * 20 + 4 * 40 + 2 * 5
    assert float(figures["time_computing"]) + float(figures["time_idle"]) == 8 * 60


@pytest.mark.filterwarnings("ignore")  # its calls that pandas deprecates are its own
def test_evalys_reads_it(folder):
    jobset = pytest.importorskip("evalys.jobset", reason="evalys is not installed")
    command(["report", str(folder / "out"), "--batsim", str(folder / "b")])
    jobs = jobset.JobSet.from_csv(str(folder / "b_jobs.csv"))
    assert jobs.df["proc_alloc"].tolist() == [6, 4, 2, 0]
    assert jobs.utilisation["load"].max() == 6
