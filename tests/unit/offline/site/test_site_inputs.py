"""What planning starts from: the platform holds where the command says nothing; calendars, and stale histories."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import strategies as st
from kit.past_jobs import trace_of
from kit.small_site import (
    DAY_S,
    PLATFORM,
    POWER,
    START,
    START_UNIX,
    called,
    files_of,
    made_up_rows,
    search_less,
    swf,
    write_site,
)

from dardis.cli.main import run
from dardis.config.clocks import parse_utc
from dardis.model.errors import InputError
from dardis.model.platform import NodeGroup, Platform
from dardis.workload.trace_reader import read_trace
from offline.site.calendar import Calendar, calendar_of
from offline.site.current_jobs import freshness
from offline.site.history import trace_that_fits
from offline.site.site_inputs import load_site
from offline.site.site_spec import SiteSpec


@pytest.fixture
def folder(tmp_path):
    return write_site(tmp_path)


@pytest.fixture
def request_of(folder):
    return SiteSpec(**files_of(folder), calendar_start=START)


def test_platform_provides_defaults_of_options(folder, request_of):
    around = f'weather = 12.5\nprices = "prices.csv"\ncarbon = 400\ncalendar_start = "{START}"\n'
    (folder / "small.toml").write_text(around + PLATFORM + POWER)
    site = load_site(SiteSpec(history=folder / "trace.swf", platform=folder / "small.toml"))
    day = site.conditions(8)
    assert (day.temp_c == 12.5).all()
    assert (day.gco2_per_kwh == 400).all()
    assert (day.price_per_kwh == load_site(request_of).conditions(8).price_per_kwh).all()
    found, notes = site.series_ahead(3, 8)
    assert set(found) == {"price"}
    assert notes == ()
    assert load_site(request_of.model_copy(update={"platform": folder / "small.toml"})).conditions(8).temp_c.std() > 1


def test_forecast_inputs_cover_the_days_on_the_trace_clock(request_of):
    site = load_site(request_of)
    found, notes = site.series_ahead(2, 8)
    assert notes == ()
    for series in found.values():
        assert series.start <= 2 * DAY_S
        assert series.end >= 9 * DAY_S
    assert found["temperature"].at(8 * DAY_S + 3 * 3600) == 13.0  # coldest at three
    _, notes = site.series_ahead(-3, 8)
    assert [note.split(",")[0] for note in notes] == [
        "rules ignore the temperature", "rules ignore the price"
    ]  # fmt: skip


def test_the_clock_of_a_trace_in_unix_seconds(folder, request_of):
    (folder / "trace.swf").write_text(swf([replace(row, submit=row.submit + START_UNIX) for row in made_up_rows()]))
    site = load_site(request_of.model_copy(update={"calendar_start": None}))
    assert site.calendar.offset == 0
    assert site.calendar.day(8)[0] == START_UNIX + 8 * DAY_S == parse_utc("2023-07-11T00:00Z")
    told = "the stated start moves the trace from 2023-07-03T00:00:00Z to 2023-07-05"
    notes = load_site(request_of.model_copy(update={"calendar_start": "2023-07-05T00:00Z"})).notes
    assert sum(note.startswith(told) for note in notes) == 1
    assert not any("start moves" in note for note in load_site(request_of).notes)


@pytest.mark.parametrize(
    ("stated", "told"),
    [
        ("2023-07-03T06:00", ["states no offset, so it counts as UTC and day 0 is 2023-07-03"]),
        ("2023-07-03T01:00+02:00", ["is not UTC: day 0 is 2023-07-02, from midnight to midnight UTC"]),
        ("2023-07-03T06:00Z", []),
    ],
)
def test_ambiguous_calendar_start_is_reported(request_of, stated, told):
    notes = load_site(request_of.model_copy(update={"calendar_start": stated})).notes
    assert [note for note in notes if "calendar" in note] == [f"--calendar-start {stated} {one}" for one in told]


TOO_LONG = "a shut-down and a boot take 86400 s, a day or more"


@pytest.mark.parametrize(
    ("platform", "about", "told"),
    [
        (PLATFORM.replace('cooling = "air"\n', "") + POWER, "no cooling",
         "no cooling is stated, so an air-cooled plant of the machine's size counts"),
        (PLATFORM + "power = { idle_w = 100, boot_s = 86000, shutdown_s = 400 }\n", "switch nodes",
         f"plans do not switch nodes n*: {TOO_LONG}"),
        (PLATFORM + "power = { idle_w = 10, off_w = 10 }\n", "switch nodes",
         "plans do not switch nodes n*: an idle node draws 10 W, an off node 10 W"),
        (PLATFORM + "power = { idle_w = 100, boot_s = 80000 }\n", "switch nodes", None),
        (PLATFORM + "always_on = true\npower = { idle_w = 10, off_w = 10 }\n", "switch nodes", None),
        (PLATFORM + "power = { idle_w = 100, off_w = 5 }\n", "boot immediately",
         "the platform has no boot_s for nodes n*, so they boot immediately"),
        (PLATFORM + "power = { idle_w = 100, off_w = 5, boot_s = 60 }\n", "boot immediately", None),
    ],
)  # fmt: skip
def test_assumptions_about_a_platform_are_reported(folder, request_of, platform, about, told):
    (folder / "small.toml").write_text(platform)
    site = load_site(request_of)
    assert [note for note in site.notes if about in note] == ([] if told is None else [told])
    assert site.cooling.watts(20.0, 1000.0) > 0


def test_jobs_larger_than_a_node_are_skipped_and_reported(folder, request_of):
    jobs = [f"{number},{60 * number},60,1,{cores}\n" for number, cores in ((1, 4), (2, 16), (3, 9), (4, 8))]
    (folder / "jobs.csv").write_text("job_id,submit_s,runtime_s,units,req_cores\n" + "".join(jobs))
    notes = load_site(request_of.model_copy(update={"history": folder / "jobs.csv"})).notes
    told = "left out: 2 jobs whose units do not fit the empty nodes of small: platform and trace should"
    assert sum(note.startswith(told) for note in notes) == 1
    assert not any("left out" in note for note in load_site(request_of).notes)


def test_a_table_that_ends_below_the_full_load_is_refused_before_anything_is_planned(folder, request_of):
    table = folder / "pue.csv"
    table.write_text("temp_c,500,1500\n10,1.2,1.2\n20,1.2,1.2\n30,1.2,1.2\n")
    site = load_site(request_of.model_copy(update={"cooling": str(table)}))
    with pytest.raises(InputError, match="0 to 1500 W"):
        site.conditions(8)
    table.write_text("temp_c,500,1507\n10,1.2,1.2\n20,1.2,1.2\n30,1.2,1.2\n")
    assert len(load_site(request_of.model_copy(update={"cooling": str(table)})).conditions(8).temp_c) == 24


JULY_3 = START_UNIX

calendars = st.builds(Calendar, st.integers(0, 2**33), st.integers(0, 2**33))


def test_moment_is_read_as_utc_or_refused():
    for text in ("2023-07-03T00:00Z", "2023-07-03", "2023-07-03 00:00:00", "2023-07-03T02:00:00+02:00"):
        assert parse_utc(text) == JULY_3
    for text in (
        "",
        "tomorrow",
        "2023-02-30",
        "2023-07-03T25:00Z",
        "2023-07-03T00:00:00.5Z",
        "1969-12-31",
        "1688342400x",
    ):
        with pytest.raises(InputError, match=r"--calendar-start: .*2023-07-03T00:00Z"):
            parse_utc(text)


def test_a_trace_knows_its_start_by_its_header_or_its_unix_times_or_not_at_all():
    plain = trace_of([7200, 9000], [60, 60], [1, 1])
    headed = replace(plain, comments=("Version: 2.2", f"UnixStartTime: {JULY_3}"))
    unix = trace_of(np.array([7200, 9000]) + JULY_3, [60, 60], [1, 1])
    for trace in (headed, unix):
        calendar, note = calendar_of(trace)
        assert calendar.text(int(trace.submit[0])) == "2023-07-03T02:00:00Z"
        assert note is None
    calendar, note = calendar_of(plain)
    assert calendar.day(0) == (7200, 7200 + DAY_S)
    assert "day 0 begins with its first submission" in note
    calendar, note = calendar_of(headed, JULY_3 + 3600)
    assert calendar.text(7200) == "2023-07-03T01:00:00Z"
    assert note is None
    assert calendar_of(replace(plain, comments=("UnixStartTime: 0",)))[1] is not None


def test_jobs_larger_than_the_machine_are_skipped_and_reported():
    machine = Platform("m", (NodeGroup("n", 2, {"cores": 8}),))
    trace = trace_of([0, 1, 2], [60] * 3, [16, 17, 1])
    kept, note = trace_that_fits(trace, machine)
    assert kept.procs.tolist() == [16, 1]
    assert "1 jobs with more than the 16" in note
    assert trace_that_fits(kept, machine) == (kept, None)
    with pytest.raises(InputError, match="no job fits"):
        trace_that_fits(trace.take(trace.procs > 16), machine)


NAMES = ("KTH-SP2-1996.swf.gz", "MetaCentrum-Wagap-2013.swf.gz", "CEA-Curie-2012-slice36k.swf.gz")


def daily(*counts: int) -> np.ndarray:
    """So many submissions in each day from time 0 on."""
    return np.concatenate([DAY_S * day + np.arange(count) * 60 for day, count in enumerate(counts)]).astype(np.int64)


@pytest.mark.parametrize(
    ("counts", "why"),
    [
        ([5] * 20, ""),
        ([5] * 18 + [0] * 2, "no job was submitted for 2 days, and each of 18 days before had some"),
        ([5] * 10 + [0] + [5] * 8 + [0], ""),
        ([5] * 20 + [0] + [5] * 20 + [0], "no job was submitted for a day, and 1 of 41 days before had none"),
        ([100] * 14 + [10, 0] * 3 + [110], ""),
        ([304] + [0] * 11, "no job was submitted for 11 days after 304 jobs in 1 days"),
        ([304, 0, 304] + [0] * 12, "no job was submitted for 12 days after 608 jobs in 3 days"),
        ([90] * 10 + [0, 0, 3] + [0] * 15, "no job was submitted for 15 days after 903 jobs in 13 days"),
        ([100] * 13 + [0] + [10, 0] * 3 + [9], "39 jobs were submitted in the last week, but at least 600 in each"),
    ],
)
def test_long_gap_without_jobs_makes_a_history_stale(counts: list[int], why: str) -> None:
    found = freshness(daily(*counts), DAY_S * len(counts))
    assert found.note == "" or not found.stale
    assert found.stale.startswith(why)
    assert bool(found.stale) is bool(why)


@pytest.mark.parametrize("name", NAMES)
def test_real_traces_are_fresh_and_truncated_ones_stale(shared: Path, name: str) -> None:
    submits = read_trace(shared / "traces" / name).submit
    days = range(int(submits.min()) // DAY_S + 1, int(submits.max()) // DAY_S + 1)
    fresh = [day for day in days if not freshness(submits, DAY_S * day).stale]
    assert len(days) - len(fresh) <= len(days) / 100
    for day in fresh:
        early = submits[submits < DAY_S * (day - 2)]
        if len(early) == 0 or freshness(early, DAY_S * day).note:
            continue
        before = np.histogram(early, np.arange(early.min(), early.max() + 1, DAY_S))[0]
        if (before > 0).all():
            assert freshness(early, DAY_S * day).stale, day


def test_plan_and_export_of_a_stale_history_require_force(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    search_less(monkeypatch)
    site = write_site(tmp_path)
    (site / "trace.swf").write_text(swf(made_up_rows(days=12)))
    out = tmp_path / "plan"
    assert called("plan", site, out, day=14) == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert "trace.swf: the history is stale: no job was submitted for 2 days" in said
    assert "--accept-stale" in said
    assert not out.exists()
    assert called("plan", site, out, day=14, force=True, no_report=True) == 0
    assert "the history may end too early" in capsys.readouterr().err
    assert run(["export", str(out), "--format", "csv"]) == 2
    assert "stale history (no job was submitted for 2 days" in capsys.readouterr().err
    assert run(["export", str(out), "--format", "csv", "--accept-stale"]) == 0
