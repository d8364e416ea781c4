"""What a forecast knows of the past, how it is judged by it, and its command."""

from __future__ import annotations

import csv
import gzip
from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.effort import examples
from kit.past_jobs import DAY, HOUR, trace_of, traces

from dardis.cli.main import run
from dardis.model.errors import InputError
from dardis.workload.read import read_trace
from dardis.workload.swf import write_swf
from dardis.workload.trace import UNKNOWN, Trace
from offline.forecast.backtest import backtest, backtest_days, score
from offline.forecast.donors import METHODS
from offline.forecast.forecast import Forecast, forecast
from offline.forecast.past import by_hour, in_use, known_jobs, look_back
from offline.forecast.ranges import Range
from offline.forecast.scenarios import Band, Demand
from offline.site.calendar import Calendar

CALENDAR = Calendar(0, 0)


def same(one, other):
    for field in fields(Trace):
        assert np.array_equal(getattr(one.trace, field.name), getattr(other.trace, field.name)), field.name
    for demand in ("in_use", "submitted"):
        for side in ("low", "mean", "high"):
            ours, theirs = (getattr(getattr(it.demand, demand), side) for it in (one, other))
            assert np.array_equal(ours, theirs)
    assert (one.method, one.notes) == (other.method, other.notes)


@examples(0.6)
@given(traces(), st.integers(1, 8), st.sampled_from(list(METHODS)), st.sampled_from([24, 48]), st.booleans())
def test_the_future_changes_nothing(trace, day, method, hours, stated):
    origin = day * DAY
    if not stated:  # then the runtimes stand in their place
        trace = replace(trace, walltime=trace.runtime)
    start = trace.submit + np.maximum(trace.wait, 0)
    later = trace.submit >= origin
    goes_on = ~later & (start + trace.runtime > origin)
    waits = goes_on & (start > origin)
    rng = np.random.default_rng(day)
    other = rng.integers(1, DAY, len(trace))
    runtime = np.where(later, other, trace.runtime)
    runtime = np.where(goes_on, np.maximum(origin - start, 0) + other, runtime)
    changed = replace(
        trace,
        runtime=runtime,
        wait=np.where(later, 5, np.where(waits, trace.wait + other, trace.wait)),
        walltime=np.where(later, 1, trace.walltime) if stated else runtime,
        procs=np.where(later, 999, trace.procs),
        submit=np.where(later, trace.submit + other, trace.submit),
        number=np.where(later, trace.number + 10_000, trace.number),
    )
    try:
        known = forecast(trace, CALENDAR, day, hours, method)
    except InputError:
        with pytest.raises(InputError):
            forecast(changed, CALENDAR, day, hours, method)
        return
    same(known, forecast(changed, CALENDAR, day, hours, method))
    same(known, forecast(trace.take(~later), CALENDAR, day, hours, method))


@examples(0.6)
@given(traces(), st.integers(1, 8))
def test_what_has_ended_is_known_and_what_has_not_is_expected_to_run_on(trace, day):
    origin = day * DAY
    before = trace.take(trace.submit < origin)
    known = known_jobs(before, origin)
    start = before.submit + np.maximum(before.wait, 0)
    ended = start + before.runtime <= origin
    assert np.array_equal(known.runtime[ended], np.minimum(before.runtime, before.walltime)[ended])
    elapsed = np.maximum(origin - start, 0)
    assert (known.runtime >= 1).all()
    assert (known.runtime <= known.walltime).all()
    assert (known.wait[start > origin] == UNKNOWN).all()
    longer = (known.runtime > elapsed) | (known.runtime == known.walltime)
    assert longer[~ended].all()


def test_a_job_that_runs_is_expected_by_its_users_last_two():
    trace = trace_of(
        [0, 100, DAY - HOUR, DAY - HOUR], [600, 1000, 9999, 9999], [1] * 4, [7200] * 4, [0] * 4, ["a", "a", "a", ""]
    )
    known = known_jobs(trace, DAY - HOUR + 60)
    assert known.runtime.tolist()[:3] == [600, 1000, 800]
    assert known.runtime[3] == int(7200 * 1600 / 14400)  # nobody's: by what all used of their walltimes


@examples(0.4)
@given(traces(days=2, most=12), st.integers(0, 20))
def test_demand_by_hour_is_what_a_count_by_the_minute_finds(trace, skipped):
    minutes = replace(trace, submit=trace.submit // 60 * 60, runtime=trace.runtime // 60 * 60 + 60)
    start, hours = skipped * HOUR, 20
    used, work = np.zeros(hours), np.zeros(hours)
    minutes = replace(minutes, walltime=trace.walltime // 60 * 60 + 60)
    lengths = np.minimum(minutes.runtime, minutes.walltime)
    for submit, ran, procs in zip(minutes.submit, lengths, minutes.procs, strict=True):
        if start <= submit < start + hours * HOUR:
            work[(submit - start) // HOUR] += procs * ran / HOUR
            for minute in range(submit, min(submit + ran, start + hours * HOUR), 60):
                used[(minute - start) // HOUR] += procs / 60
    hourly = by_hour(minutes, start, hours, hours)
    assert np.allclose(in_use(hourly.load), used)
    assert np.allclose(hourly.work, work)


def test_less_than_a_day_or_one_long_ago_or_other_hours_are_refused():
    trace = trace_of([HOUR, 2 * HOUR], [60, 60], [1, 1])
    assert look_back(trace, DAY + HOUR, 24).days == 1
    with pytest.raises(InputError, match=r"2 jobs in the 23\.0 h before that day; expected jobs of one whole day"):
        look_back(trace, DAY, 24)
    with pytest.raises(InputError, match="no job in the 56 days"):
        look_back(trace, 100 * DAY, 24)
    with pytest.raises(InputError, match="24 or 48"):
        forecast(trace, CALENDAR, 2, 36)


def test_days_before_the_record_begins_are_not_days_without_jobs():
    """Slurm is asked for ten days, and tells of a job that runs since forty."""
    submit = [-30 * DAY, *range(HOUR, 10 * DAY, HOUR)]
    trace = trace_of(submit, [100 * DAY, *[60] * (len(submit) - 1)], None, wait=np.zeros(len(submit)))
    past = look_back(trace, 10 * DAY, 24)
    assert (past.days, len(past.jobs)) == (10, len(submit) - 1)


def test_a_runtime_is_known_from_the_instant_on_in_which_the_job_ends():
    def told(run: int) -> int:
        trace = trace_of([0, DAY - 100], [10, run], [1, 1], walltime=[1000, 1000], wait=[0, 0], user=["a", "a"])
        return int(known_jobs(trace, DAY).runtime[1])

    assert (told(99), told(100)) == (99, 100)
    assert told(101) == told(900) != 101


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
    assert {row["start_utc"] for row in rows} == {""}, "nobody knows when the trace began"
    assert "24 jobs from day 7, 00:00, 24 h" in out
    assert [row["in_use_mean_cores"] for row in rows] == ["2.000"] * 24
    assert [row["submitted_mean_core_h"] for row in rows] == ["2.000"] * 24
    assert float(rows[0]["in_use_high_cores"]) > 2
    words = ["--platform", str(folder / "p.toml"), "--out", str(folder / "s"), "--dispatcher", "easy", "--no-report"]
    assert run(["simulate", str(folder / "o" / "forecast.csv"), *words]) == 0


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

    open_ended = [" ".join([*line.split()[:3], "-1", *line.split()[4:]]) for line in lines[-5:]]
    (folder / "now.swf").write_text("\n".join([*lines[:-5], *open_ended]) + "\n")
    found = []
    for trace in ("t.swf", "now.swf"):
        assert call("--out", folder / f"{trace}-out", "--method", "previous-day", trace=trace)[0] == 0
        found.append(read_trace(folder / f"{trace}-out" / "forecast.csv", strict=True).submit.tolist())
    assert found[0] == found[1]
