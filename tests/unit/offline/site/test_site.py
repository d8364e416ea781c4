"""What planning starts from: the platform's own words hold where the command says nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest
from kit.small_site import (
    DAY_S,
    PLATFORM,
    POWER,
    START,
    START_UNIX,
    crowded_rows,
    hourly,
    made_up_rows,
    swf,
    table,
    write_site,
)

from dardis.config.clocks import parse_utc
from dardis.model.errors import InputError
from dardis.workload.trace import UNKNOWN
from offline.site.history import replayed
from offline.site.site import SiteRequest, load_site


@pytest.fixture
def folder(tmp_path):
    return write_site(tmp_path)


@pytest.fixture
def request_of(folder):
    return SiteRequest(folder / "trace.swf", folder / "small.toml", folder / "weather.csv", folder / "prices.csv",
                       calendar_start=START)  # fmt: skip


def test_the_platform_says_what_the_command_does_not(folder, request_of):
    around = f'weather = 12.5\nprices = "prices.csv"\ncarbon = 400\ncalendar_start = "{START}"\n'
    (folder / "small.toml").write_text(around + PLATFORM + POWER)
    site = load_site(SiteRequest(folder / "trace.swf", folder / "small.toml"))
    day = site.conditions(8)
    assert (day.temp_c == 12.5).all()
    assert (day.gco2_per_kwh == 400).all()
    assert (day.price_per_kwh == load_site(request_of).conditions(8).price_per_kwh).all()
    found, notes = site.known_ahead(3, 8)
    assert set(found) == {"price"}
    assert notes == ()
    assert load_site(replace(request_of, platform=folder / "small.toml")).conditions(8).temp_c.std() > 1


@pytest.mark.parametrize(("charged", "known"), [(0, {"price", "temperature"}), (80, {"price", "temperature", "CO2"})])
def test_rules_look_at_co2_where_it_is_charged(folder, request_of, charged, known):
    (folder / "carbon.csv").write_text(table("gco2_per_kwh", hourly([100.0 + hour % 24 for hour in range(24 * 12)])))
    (folder / "small.toml").write_text(f"{PLATFORM}{POWER}[tariff]\nco2_eur_per_t = {charged}\n")
    site = load_site(replace(request_of, carbon=folder / "carbon.csv"))
    assert site.known_ahead(3, 8)[0].keys() == known


def test_what_is_known_ahead_covers_the_days_on_the_trace_s_clock(request_of):
    site = load_site(request_of)
    found, notes = site.known_ahead(2, 8)
    assert notes == ()
    for series in found.values():
        assert series.start <= 2 * DAY_S
        assert series.end >= 9 * DAY_S
    assert found["temperature"].at(8 * DAY_S + 3 * 3600) == 13.0  # coldest at three
    _, notes = site.known_ahead(-3, 8)
    assert [note.split(",")[0] for note in notes] == [
        "rules do not look at the temperature", "rules do not look at the price"
    ]  # fmt: skip


def test_waits_are_those_of_the_schedule(folder, request_of):
    (folder / "trace.swf").write_text(swf(crowded_rows()))
    site = load_site(request_of)
    past = replayed([job for job in site.jobs if job.submit < 5 * DAY_S], site.platform)
    waited = site.waited(past)
    wait = dict(zip(past.number.tolist(), (past.start - past.submit).tolist(), strict=True))
    assert waited.wait.tolist() == [wait.get(number, UNKNOWN) for number in waited.number.tolist()]
    assert waited.wait.max() > 0


def test_the_clock_of_a_trace_in_unix_seconds(folder, request_of):
    rows = [replace(row, submit=row.submit + START_UNIX) for row in made_up_rows()]
    (folder / "trace.swf").write_text(swf(rows))
    site = load_site(replace(request_of, calendar_start=None))
    assert site.calendar.offset == 0
    assert site.calendar.day(8)[0] == START_UNIX + 8 * DAY_S == parse_utc("2023-07-11T00:00Z")


def test_a_stated_start_that_moves_unix_seconds_is_told(folder, request_of):
    """As a platform's calendar_start does to a dump of Slurm's accounting, whose first job is another every day."""
    rows = [replace(row, submit=START_UNIX + row.submit) for row in made_up_rows()]
    (folder / "trace.swf").write_text(swf(rows))
    told = "the trace's own times begin 2023-07-03T00:00:00Z: the stated calendar_start moves them to 2023-07-05"
    notes = load_site(replace(request_of, calendar_start="2023-07-05T00:00Z")).notes
    assert sum(note.startswith(told) for note in notes) == 1
    assert not any("moves them" in note for note in load_site(request_of).notes)


def test_an_unmeasured_plant_is_assumed_and_told(folder, request_of):
    (folder / "small.toml").write_text(PLATFORM.replace('cooling = "air"\n', "") + POWER)
    site = load_site(request_of)
    assert "no cooling is stated: an air-cooled plant of the machine's size" in site.notes
    assert site.cooling.watts(20.0, 1000.0) > 0


@pytest.mark.parametrize(
    ("stated", "told"),
    [
        ("2023-07-03T06:00", ["states no offset: taken as UTC, so that day 0 is 2023-07-03"]),
        ("2023-07-03T01:00+02:00", ["is not UTC: day 0 is 2023-07-02, from midnight to midnight UTC"]),
        ("2023-07-03T06:00Z", []),
    ],
)
def test_a_calendar_that_is_not_plainly_utc_is_told(folder, request_of, stated, told):
    site = load_site(replace(request_of, calendar_start=stated))
    assert [note for note in site.notes if "calendar" in note] == [f"--calendar-start {stated} {one}" for one in told]


@pytest.mark.parametrize(
    ("power", "why"),
    [
        (
            "idle_w = 100, boot_s = 86000, shutdown_s = 400",
            "shutting one down and booting it takes 86400 s, a day or more",
        ),
        ("idle_w = 10, off_w = 10", "idle one draws 10 W, off 10 W"),
        ("idle_w = 100, boot_s = 80000", None),
    ],
)
def test_nodes_that_are_never_switched_are_told(folder, request_of, power, why):
    (folder / "small.toml").write_text(PLATFORM + f"power = {{ {power} }}\n")
    told = [note for note in load_site(request_of).notes if "switches nodes" in note]
    assert told == ([] if why is None else [f"no plan of a day switches nodes n*: {why}"])
    (folder / "small.toml").write_text(PLATFORM + f"always_on = true\npower = {{ {power} }}\n")
    assert not [note for note in load_site(request_of).notes if "switches nodes" in note]


def test_nodes_that_boot_at_once_are_told(folder, request_of):
    """An import has no boot_s, and a plan that takes boots for nothing switches all the more."""
    notes = []
    for boot_s in ("", ", boot_s = 60"):
        (folder / "small.toml").write_text(PLATFORM + f"power = {{ idle_w = 100, off_w = 5{boot_s} }}\n")
        notes.append([note for note in load_site(request_of).notes if "boot at once" in note])
    assert notes == [["the platform has no boot_s for nodes n*: they are taken to boot at once"], []]


def test_jobs_wider_than_the_machine_are_left_out_and_told(folder, request_of):
    rows = [*made_up_rows(), replace(made_up_rows()[-1], number=9_999, cores=81)]
    (folder / "trace.swf").write_text(swf(rows))
    site = load_site(request_of)
    assert 9_999 not in {job.number for job in site.jobs}
    assert any("1 " in note and "cores" in note for note in site.notes)


def test_jobs_of_more_than_a_node_has_are_left_out_and_told(folder, request_of):
    """As where Slurm counts hardware threads, and the platform whole cores."""
    jobs = [f"{number},{60 * number},60,1,{cores}\n" for number, cores in ((1, 4), (2, 16), (3, 9), (4, 8))]
    (folder / "jobs.csv").write_text("job_id,submit_s,runtime_s,units,req_cores\n" + "".join(jobs))
    notes = load_site(replace(request_of, history=folder / "jobs.csv")).notes
    told = "left out: 2 jobs whose units no nodes of small hold, even empty: a core of the platform should be what"
    assert sum(note.startswith(told) for note in notes) == 1
    assert not any("left out" in note for note in load_site(request_of).notes)


def test_a_table_that_ends_below_the_full_load_is_refused_before_anything_is_planned(folder, request_of):
    table = folder / "pue.csv"
    table.write_text("temp_c,500,1500\n10,1.2,1.2\n20,1.2,1.2\n30,1.2,1.2\n")
    site = load_site(replace(request_of, cooling=str(table)))
    with pytest.raises(InputError, match="0 to 1500 W"):
        site.conditions(8)
    table.write_text("temp_c,500,1507\n10,1.2,1.2\n20,1.2,1.2\n30,1.2,1.2\n")
    assert len(load_site(replace(request_of, cooling=str(table))).conditions(8).temp_c) == 24
