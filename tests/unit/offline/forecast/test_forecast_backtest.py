"""Errors against a hand-made example, the days that are judged by, and the command."""

import csv
import gzip

import numpy as np
import pytest
from kit.past_jobs import DAY, HOUR, trace_of

from dardis.cli.main import run
from dardis.model.errors import InputError
from dardis.workload.read import read_trace
from dardis.workload.swf import write_swf
from offline.forecast.backtest import backtest, backtest_days, score
from offline.forecast.forecast import Forecast
from offline.forecast.ranges import Range
from offline.forecast.scenarios import Band, Demand
from offline.site.calendar import Calendar

CALENDAR = Calendar(0, 0)


def test_errors_by_hand():
    expected = np.array([1.0, 3.0, 0.0])
    band = Band(np.array([0.0, 2.0, 0.0]), expected, np.array([2.0, 3.0, 0.0]))
    submitted = Band(expected, expected, expected)
    jobs = trace_of([HOUR], [HOUR], [4])
    nothing = Range(0.0, 0.0, 0.0)
    made = Forecast(jobs, Demand(band, submitted), np.arange(4) * HOUR, "mean", nothing, nothing, np.ones(1))
    result = score("mean", [made, made], np.array([[1.0, 1, 0], [2, 3, 2]]), np.array([[1.0, 3, 6], [1, 3, 0]]))
    assert result.mae == pytest.approx((0 + 2 + 0 + 1 + 0 + 2) / 6)
    assert result.rmse == pytest.approx(np.sqrt((4 + 1 + 4) / 6))
    assert result.total == pytest.approx((2 + 3) / 2)
    assert result.submitted_mae == pytest.approx(1)
    assert result.inside == pytest.approx(4 / 6)
    assert result.submitted_inside == pytest.approx(5 / 6)
    assert result.jobs_mae == pytest.approx((1 + 3 + 0 + 2 + 1 + 2) / 6)


def cores_by_day(cores):
    """A job an hour of so many cores on each day, an hour long, with a walltime of two."""
    procs = np.repeat(cores, 24)
    count = len(procs)
    return trace_of(np.arange(count) * HOUR, np.full(count, HOUR), procs, np.full(count, 2 * HOUR), np.zeros(count))


def test_a_backtest_by_hand():
    trace = cores_by_day([2, 4, 1, 5, 3])
    result = backtest(trace, CALENDAR, [2, 3], 24)
    of = {score.method: score for score in result.scores}
    assert result.mean_in_use == 3
    # Yesterday: 4 for 1, and 1 for 5. The mean of two and of three days: 3 for 1, and 7/3 for 5.
    assert of["previous-day"].mae == pytest.approx((3 + 4) / 2)
    assert of["previous-day"].jobs_mae == of["previous-day"].mae
    assert of["previous-day"].rmse == pytest.approx(np.sqrt((9 + 16) / 2))
    assert of["previous-day"].total == pytest.approx(24 * 3.5)
    assert of["mean"].mae == pytest.approx((2 + 8 / 3) / 2)
    assert of["previous-week"].mae == of["previous-day"].mae


def test_days_have_history_before_and_truth_to_their_end():
    trace = cores_by_day([1] * 10)
    assert backtest_days(trace, CALENDAR, 24) == [1, 2, 3, 4, 5, 6, 7, 8]
    assert backtest_days(trace, CALENDAR, 48) == [1, 2, 3, 4, 5, 6, 7]
    assert backtest_days(trace, CALENDAR, 24, (3, 4)) == [3, 4]
    assert backtest_days(cores_by_day([1] * 20), CALENDAR, 24)[0] == 7
    shifted = Calendar(0, 18 * HOUR)
    assert backtest_days(trace, shifted, 24)[0] == 2
    many = backtest_days(trace_of(np.arange(1000) * DAY, [60] * 1000, [1] * 1000), CALENDAR, 24)
    assert len(many) == 365
    assert (many[0], many[-1]) == (7, 998)
    assert set(np.diff(many)) <= {2, 3}


def test_no_such_day_is_told():
    with pytest.raises(InputError, match="expected days 1 to 8"):
        backtest_days(cores_by_day([1] * 10), CALENDAR, 24, (20, 30))
    with pytest.raises(InputError, match="a trace of a day of history and 48 h after it"):
        backtest_days(cores_by_day([1, 1]), CALENDAR, 48)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "p.toml").write_text('name = "small"\n[[nodes]]\ncount = 4\nprefix = "n"\nresources = { cores = 8 }\n')
    write_swf(cores_by_day([2, 4, 9, 5, 3, 30, 2, 8, 40]), tmp_path / "t.swf")
    return tmp_path


@pytest.fixture
def call(folder, capsys):
    def call(*more, trace="t.swf"):
        status = run(["forecast", str(folder / trace), "--platform", str(folder / "p.toml"), *map(str, more)])
        told = capsys.readouterr()
        return status, told.out, told.err

    return call


def test_the_command_writes_jobs_that_are_read_and_demand_in_utc(call, folder):
    status, out, err = call("--out", folder / "o", "--method", "previous-day", "--day", 7)
    assert status == 0, err
    assert "day 0 begins with its first submit" in err
    assert "left out: 24 jobs of more cores than the 32 of small" in err
    jobs = read_trace(folder / "o" / "forecast.csv", strict=True)
    assert jobs.submit.tolist() == [7 * DAY + hour * HOUR for hour in range(24)]
    assert jobs.procs.tolist() == [2] * 24
    rows = list(csv.DictReader((folder / "o" / "demand.csv").read_text().splitlines()))
    assert len(rows) == 24
    assert {row["start_utc"] for row in rows} == {""}, "nobody knows when the trace began"
    assert "24 jobs from day 7, 00:00, 24 h" in out
    assert [row["in_use_mean_cores"] for row in rows] == ["2.000"] * 24
    assert [row["submitted_mean_core_h"] for row in rows] == ["2.000"] * 24
    assert float(rows[0]["in_use_high_cores"]) > 2
    assert run(
        ["simulate", str(folder / "o" / "forecast.csv"), "--platform", str(folder / "p.toml"), "--dispatcher", "easy",
         "--out", str(folder / "s"), "--no-report"]
    ) == 0  # fmt: skip


def test_the_same_command_writes_the_same_bytes_and_48_hours_to_a_file(call, folder):
    for name in ("a.csv.gz", "b.csv.gz"):
        status, out, _ = call("--out", folder / name, "--hours", 48, "--calendar-start", "2023-07-03T06:00Z")
        assert status == 0
        assert "seasonal" in out
        assert "2023-07-12T00:00:00Z" in out
    assert (folder / "a.csv.gz").read_bytes() == (folder / "b.csv.gz").read_bytes()
    assert gzip.decompress((folder / "a.csv.gz").read_bytes()).startswith(b"job_id,")
    assert len((folder / "a.demand.csv").read_text().splitlines()) == 49


def test_the_table_of_a_backtest(call):
    status, out, _ = call("--backtest")
    assert status == 0
    lines = out.splitlines()
    assert "of the UTC days 1 to 6" in lines[1]
    rows = {line.split()[0]: line.split() for line in lines[3:7]}
    assert list(rows) == ["previous-day", "previous-week", "mean", "seasonal"]
    assert rows["seasonal"][1] == "*"
    assert rows["previous-day"][2] == "1.000"
    errors = [abs(a - b) for a, b in zip([2, 4, 9, 5, 3, 30], [4, 9, 5, 3, 30, 2], strict=True)]
    assert rows["previous-day"][1] == f"{np.mean(errors):.1f}"
    assert call("--backtest")[1] == out


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ([], "neither --out nor --backtest"),
        (["--backtest", "--out", "x"], "--out: has no meaning with --backtest"),
        (["--backtest", "--day", "3"], "--day: has no meaning"),
        (["--backtest", "--days", "5-3"], "--days: '5-3'"),
        (["--backtest", "--days", "70-80"], "expected days 1 to 6"),
        (["--out", "x.csv", "--days", "1-2"], "--days: is for --backtest"),
        (["--out", "x.csv", "--hours", "36"], "--hours: 36; expected 24 or 48"),
        (["--out", "x.csv", "--method", "prophet"], "method: 'prophet'"),
        (["--out", "x.csv", "--calendar-start", "noon"], "--calendar-start: 'noon'"),
        (["--out", "x.csv", "--day", "0"], "forecast: 0 jobs in the 0.0 h before that day"),
        (["--out", "x.csv", "--calendar-start", "2023-07-03T12:00Z", "--day", "1"], "12 jobs in the 12.0 h before"),
    ],
)
def test_mistakes_are_one_line_and_status_2(call, folder, options, told, monkeypatch):
    monkeypatch.chdir(folder)
    status, out, err = call(*options)
    assert status == 2
    assert out == ""
    assert told in next(line for line in err.splitlines() if "note:" not in line)
    assert not (folder / "x.csv").exists()


def test_nothing_is_replaced_unasked(call, folder):
    (folder / "f.demand.csv").write_text("mine")
    status, _, err = call("--out", folder / "f.csv")
    assert status == 2
    assert "f.demand.csv: exists" in err
    assert not (folder / "f.csv").exists()
    assert call("--out", folder / "f.csv", "--force")[0] == 0


def test_jobs_that_have_not_ended_are_arrivals_too(call, folder):
    """A job that still runs when the history was written was submitted all the same."""
    lines = (folder / "t.swf").read_text().splitlines()
    jobs = [line for line in lines if not line.startswith(";")]
    open_ended = [" ".join([*line.split()[:3], "-1", *line.split()[4:]]) for line in jobs[-5:]]
    (folder / "now.swf").write_text("\n".join([*lines[: -len(open_ended)], *open_ended]) + "\n")
    found = {}
    for trace in ("t.swf", "now.swf"):
        assert call("--out", folder / f"{trace}-out", "--method", "previous-day", trace=trace)[0] == 0
        found[trace] = read_trace(folder / f"{trace}-out" / "forecast.csv", strict=True)
    assert found["now.swf"].submit.tolist() == found["t.swf"].submit.tolist()
