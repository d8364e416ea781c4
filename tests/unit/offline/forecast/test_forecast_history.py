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
from dardis.workload.swf import write_swf
from dardis.workload.trace import UNKNOWN, Trace
from dardis.workload.trace_reader import read_trace
from offline.forecast.backtest import backtest
from offline.forecast.forecast import forecast
from offline.forecast.scenarios import METHODS
from offline.forecast.submission_history import history_before, known_jobs
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
def test_forecast_is_independent_of_later_jobs(trace, day, method, hours, stated):
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
def test_ended_runtimes_are_known_and_running_jobs_are_extrapolated(trace, day):
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


def test_short_stale_or_mismatched_history_is_refused():
    trace = trace_of([HOUR, 2 * HOUR], [60, 60], [1, 1])
    assert history_before(trace, DAY + HOUR, 24).days == 1
    with pytest.raises(
        InputError, match=r"2 jobs in the 23\.0 h before that day; expected jobs on at least one complete day"
    ):
        history_before(trace, DAY, 24)
    with pytest.raises(InputError, match="no job in the 56 days"):
        history_before(trace, 100 * DAY, 24)
    with pytest.raises(InputError, match="24 or 48"):
        forecast(trace, CALENDAR, 2, 36)


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
    assert "day 0 begins with its first submission" in err
    assert "left out: 24 jobs with more than the 32 cores of small" in err
    jobs = read_trace(folder / "o" / "forecast.csv", strict=True)
    assert jobs.submit.tolist() == [7 * DAY + hour * HOUR for hour in range(24)]
    assert jobs.procs.tolist() == [2] * 24
    rows = list(csv.DictReader((folder / "o" / "demand.csv").read_text().splitlines()))
    assert {row["start_utc"] for row in rows} == {""}, "a start date of the trace"
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


def test_a_runtime_is_known_from_the_instant_on_in_which_the_job_ends():
    def told(run: int) -> int:
        trace = trace_of([0, DAY - 100], [10, run], [1, 1], walltime=[1000, 1000], wait=[0, 0], user=["a", "a"])
        return int(known_jobs(trace, DAY).runtime[1])

    assert (told(99), told(100)) == (99, 100)
    assert told(101) == told(900) != 101
