import json
import math
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.error_lines import line_of

from dardis.config.clocks import european_clock
from dardis.config.prices import read_carbon, read_prices
from dardis.config.weather import read_weather
from dardis.model.errors import InputError
from dardis.model.moments import parse_utc, utc_text
from dardis.model.platform import Money

MAY = parse_utc("2023-05-01T00:00Z")
DAY = 86_400
load_carbon, load_prices, load_weather = (
    lambda path, within=None, read=read, **money: read(path).over(within, **money)
    for read in (read_carbon, read_prices, read_weather)
)


@pytest.fixture
def file(tmp_path):
    def write(text):
        path = tmp_path / "f.csv"
        path.write_text(text)
        return path

    return write


def own(column, values, step=3600, start=MAY):
    rows = [f"{utc_text(start + step * i)},{value}" for i, value in enumerate(values)]
    return "\n".join([f"start_utc,{column}", *rows, ""])


def test_prices_in_another_currency_are_converted_or_refused(file):
    dollars = file(own("price_usd_per_mwh", [100.0, -20.0]))
    with pytest.raises(InputError, match=r"f.csv:1: prices in USD; expected EUR as in the platform"):
        load_prices(dollars)
    assert load_prices(dollars, money=Money("USD")).values.tolist() == [0.1, -0.02]
    assert load_prices(dollars, money=Money("EUR", {"USD": 0.5})).values.tolist() == [0.05, -0.01]
    euros = file(own("price_eur_per_kwh", [0.1]))
    with pytest.raises(InputError, match=r"prices in EUR; expected USD"):
        load_prices(euros, money=Money("USD", {"CHF": 1.1}))
    # the column that is read says it, not one that stands beside it
    both = file("start_utc,price_usd_per_mwh,price_eur_per_kwh\n2023-05-01T00:00Z,100,0.1\n")
    assert load_prices(both).values.tolist() == [0.1]


def test_native_price_format_is_read_hourly_and_by_quarter(file):
    for step in (3600, 1800, 900):
        series = load_weather(file(own("temp_c", [1.5, -2, 3], step)))
        assert series.edges.tolist() == [MAY + step * i for i in range(4)]
        assert series.values.tolist() == [1.5, -2, 3]
    unknown_yet = load_prices(file(own("price_eur_per_kwh", [-0.5, 0.1, "n/e", "-"])))
    assert (unknown_yet.values.tolist(), unknown_yet.end) == ([-0.5, 0.1], MAY + 7200)
    np.testing.assert_allclose(load_prices(file(own("price_eur_per_mwh", [95.18, -500]))).values, [0.09518, -0.5])
    assert load_carbon(file(own("gco2_per_kwh", [380, 0]))).values.tolist() == [380, 0]


def test_time_step_may_become_finer_once(file):
    day, quarters = [0.1] * 24, [0.2] * 96
    text = own("price_eur_per_kwh", day) + own("price_eur_per_kwh", quarters, 900, MAY + DAY).partition("\n")[2]
    series = load_prices(file(text))
    assert len(series.values) == 120
    assert series.end == MAY + 2 * DAY


def without(text, *lines):
    return "\n".join(line for i, line in enumerate(text.splitlines(), start=1) if i not in lines)


@pytest.mark.parametrize(("change", "message"), [
    (lambda rows: [*rows[:5], rows[4], *rows[5:]], "a second value at 2023-05-01T03:00Z"),
    (lambda rows: [*rows[:3], rows[4], rows[3], *rows[5:]], "no values from|out of order"),
    (lambda rows: [*rows[:3], rows[3].replace(",2", ",cold"), *rows[4:]], "temp_c 'cold'; expected a number"),
    (lambda rows: [*rows[:3], "yesterday,2", *rows[4:]], "time 'yesterday'; expected a time such as"),
    (lambda rows: [*rows[:3], "2023-05-01T02:00Z", *rows[4:]], "1 fields; expected 2"),
    (lambda rows: [*rows[:3], f"{10**20},2", *rows[4:]], "time '10+'; expected Unix seconds of a year"),
    (lambda rows: ["time_local_utc+99,temperature_c", *rows[1:]], "unknown clock; expected an offset from UTC"),
    (lambda rows: ["time,warmth", *rows[1:]], r"unknown format; expected start_utc.*Open-Meteo.*EPW"),
])  # fmt: skip
def test_a_mistake_in_a_file_is_one_line_with_its_place(file, change, message):
    path = file("\n".join(change(own("temp_c", range(10)).splitlines())))
    with pytest.raises(InputError, match=message) as caught:
        load_weather(path)
    assert str(caught.value).startswith(str(path))


@pytest.mark.parametrize(("load", "column", "values", "message"), [
    (load_weather, "temp_c", [283.0, 290.5], "look like K"),
    (load_weather, "temp_c", [48.0, 81.5], "look like °F"),
    (load_prices, "price_eur_per_kwh", [95.2, 120.3], "look like prices per MWh"),
    (load_prices, "price_eur_per_mwh", [0.09, 0.12] * 12, "look like prices per kWh"),
    (load_carbon, "gco2_per_kwh", [380_000], "more than any power plant"),
    (load_carbon, "gco2_per_kwh", [-1, 2], "below 0"),
])  # fmt: skip
def test_wrong_unit_is_detected_from_the_values(file, load, column, values, message):
    with pytest.raises(InputError, match=message):
        load(file(own(column, values)))


@given(st.integers(0, 20 * 24 - 1), st.integers(0, 18 * 24), st.integers(1, 47))
def test_missing_hours_are_refused_and_not_interpolated(tmp_path_factory, hole, first, length):
    path = tmp_path_factory.mktemp("p") / "f.csv"
    path.write_text(without(own("price_eur_per_kwh", [i / 1000 for i in range(480)]), hole + 2))
    low, high = MAY + 3600 * first, MAY + 3600 * min(first + length, 480)
    try:
        series = load_prices(path, (low, high))
    except InputError:
        assert first - 24 <= hole < first + length + 24
        assert first <= hole < first + length
        return
    within = np.arange(max(series.start, low), min(series.end, high), 3600)
    assert ((within - MAY) // 3600 != hole).all()
    np.testing.assert_allclose(series.at(within), (within - MAY) / 3.6e6)


def entsoe(rows, head='"MTU (CET/CEST)","Area","Sequence","Day-ahead Price (EUR/MWh)"'):
    return "\n".join([head, *rows, ""])


def test_entsoe_rows_of_today_with_the_first_auction_alone(file):
    rows = [
        f'"01/05/2023 0{h}:00:00 - 01/05/2023 0{h + 1}:00:00","BZN|DE-LU","Sequence Sequence {s}","{10 * h + s}"'
        for h in range(3)
        for s in (1, 2)
    ]
    series = load_prices(file(entsoe(rows)))
    assert series.edges[0] == parse_utc("2023-04-30T22:00Z")
    np.testing.assert_allclose(series.values, [0.001, 0.011, 0.021])
    two = rows[::2] + [row.replace("DE-LU", "FR") for row in rows[::2]]
    assert "only one of them" in line_of(load_prices, file(entsoe(sorted(two))))


def local_hours(day, marked):
    """The hours of a day in Central Europe, as an export lists them."""
    zone = european_clock.__globals__["_EUROPE"]
    first = datetime.fromisoformat(f"{day}T00:00").replace(tzinfo=zone).astimezone(UTC)
    hours = [(first + timedelta(hours=h)).astimezone(zone) for h in range(25)]
    return [
        f'"{t:%d/%m/%Y %H:%M:%S}{f" ({t.tzname()})" * marked} - x","A","1","{i}"'
        for i, t in enumerate(hours)
        if t.isoformat()[:10] == day
    ]


@pytest.mark.parametrize("marked", [True, False])
@pytest.mark.parametrize(("day", "hours"), [("2023-03-26", 23), ("2023-10-29", 25), ("2023-07-01", 24)])
def test_days_on_which_the_clocks_change_have_23_and_25_hours(file, day, hours, marked):
    series = load_prices(file(entsoe(local_hours(day, marked))))
    assert len(series.values) == hours
    assert (np.diff(series.edges) == 3600).all()


def test_missing_or_invented_hour_at_a_clock_change_is_reported(file):
    autumn = local_hours("2023-10-29", marked=False)
    with pytest.raises(InputError, match=r"no values from 2023-10-29T01:00Z to 2023-10-29T02:00Z.*summer time"):
        load_prices(file(entsoe(autumn[:2] + autumn[3:])))
    spring = local_hours("2023-03-26", marked=False)
    made_up = '"26/03/2023 02:00:00 - 26/03/2023 03:00:00","A","1","7"'
    with pytest.raises(InputError, match="here summer time begins"):
        load_prices(file(entsoe([*spring[:2], made_up, *spring[2:]])))
    empty = made_up.replace('"7"', '"n/e"')
    assert len(load_prices(file(entsoe([*spring[:2], empty, *spring[2:]]))).values) == 23


META = "latitude,elevation,utc_offset_seconds,timezone_abbreviation\n50.1,113.0,7200,GMT+2\n\n"


def test_open_meteo_exports_are_read_on_the_clock_that_they_name(file):
    rows = "2023-05-01T02:00,70,9.5\n2023-05-01T03:00,71,9.1\n"
    text = META + "time,relative_humidity_2m (%),temperature_2m (°C)\n" + rows
    series = load_weather(file(text + "\ntime,temperature_2m_max (°C)\n2023-05-01,18\n"))
    assert series.start == MAY
    assert series.values.tolist() == [9.5, 9.1]
    named = ("2023-05-01T02:00", "2023-05-01T03:00", "2023-05-01T04:00")
    for times in (named, (MAY, MAY + 3600, MAY + 7200)):
        from_json = load_weather(file(open_meteo(times, (9.5, 9.1, None), 7200)))
        assert (from_json.edges == series.edges).all()
        assert (from_json.values == series.values).all()


def open_meteo(times=("2023-05-01T00:00", "2023-05-01T01:00"), values=(5.0, 6.0), offset_s=0):
    return json.dumps({
        "utc_offset_seconds": offset_s,
        "hourly_units": {"temperature_2m": "°C"},
        "hourly": {"time": times, "temperature_2m": values},
    })  # fmt: skip


@pytest.mark.parametrize(("text", "message"), [
    (open_meteo(values=(5.0, math.nan)), r"hourly\[1\]: temperature_2m 'NaN'; expected a number"),
    (open_meteo(values=(5.0,)), "JSON of another format"),
    (open_meteo().replace("C", "F"), r"hourly_units.temperature_2m: '.*F'; expected .*C"),
    (open_meteo(times=(10**30, 10**30 + 3600)), r"hourly\[0\]: time '10+'; expected Unix seconds of a year"),
    (open_meteo(offset_s=10**9), "unknown clock; expected an offset from UTC of less than a day"),
])  # fmt: skip
def test_a_damaged_open_meteo_file_is_refused(file, text, message):
    assert load_weather(file(open_meteo())).values.tolist() == [5, 6]
    with pytest.raises(InputError, match=message):
        load_weather(file(text))


def typical(write_row, head):
    start = datetime(2001, 1, 1, tzinfo=UTC)
    hours = [start + timedelta(hours=h) for h in range(8760)]
    return head + "".join(write_row(t, f"{i % 24 + t.month / 100:.2f}") + "\n" for i, t in enumerate(hours))


def epw(zone=-6.0):
    head = f"LOCATION,Chicago,IL,USA,TMYx,725300,41.9,-87.9,{zone},205\n" + "X\n" * 7
    return typical(lambda t, v: f"1999,{t.month},{t.day},{t.hour + 1},60,?9,{v},-8.9,68,99832", head)


def test_a_typical_year_is_repeated_on_its_own_clock_and_a_leap_day_is_like_the_day_before(file, tmp_path):
    series = load_weather(file(epw()))
    assert read_weather(file(epw())).assumed is None
    noon = parse_utc("2023-05-01T12:00Z") + 6 * 3600
    assert series.at(noon) == 12.05
    assert series.at(parse_utc("1996-12-31T23:00Z") + 6 * 3600) == 23.12
    leap = series.at(parse_utc("2024-02-29T07:00Z") + 6 * 3600)
    assert leap == 7.02
    assert series.at(parse_utc("2024-03-01T07:00Z") + 6 * 3600) == 7.03
    head = "source_year,month-day,hour_1_24,dry_bulb_c\n"
    table = load_weather(file(typical(lambda t, v: f"2016,{t:%m-%d},{t.hour + 1},{v}", head)))
    assert "f.csv: a typical year without a time zone" in read_weather(tmp_path / "f.csv").assumed
    assert (table.values == series.values).all()
    assert (table.edges + 6 * 3600 == series.edges).all()
    head = "date,time,dry_bulb_c,relative_humidity_pct\n"
    other = load_weather(file(typical(lambda t, v: f"{t:%m/%d}/1988,{t.hour + 1:02d}:00,{v},80", head)))
    assert (other.values == series.values).all()


@pytest.mark.parametrize(("change", "message"), [
    (lambda lines: lines[:100] + lines[101:], "no value for 01-04 hour 21; expected all 8760 hours"),
    (lambda lines: [*lines, lines[50]], r"f\.csv:8769: a second value for 01-02 hour 19"),
    (lambda lines: [*lines[:9], lines[9].replace(",1.01,", ",99.9,"), *lines[10:]], "a missing temperature"),
    (lambda lines: [lines[0].replace("-6.0", "CST"), *lines[1:]], r"f\.csv:1: missing offset from UTC"),
    (lambda lines: [lines[0].replace("-6.0", "99"), *lines[1:]], r"f\.csv:1: 99 hours ahead of UTC"),
    (lambda lines: [*lines[:9], lines[9].replace(",1,1,2,", ",1,1,25,"), *lines[10:]], "hour 1 to 24"),
    (lambda lines: [*lines[:9], lines[9].replace(",1,1,2,", f",{10**20},1,2,"), *lines[10:]], "hour 1 to 24"),
])  # fmt: skip
def test_incomplete_typical_year_is_refused(file, change, message):
    with pytest.raises(InputError, match=message):
        load_weather(file("\n".join(change(epw().splitlines()))))


def test_electricity_maps_and_traces_made_of_it_are_read(file):
    intensity = "Carbon intensity gCO₂eq/kWh"
    head = f"Datetime (UTC),Country,Zone name,Zone id,{intensity} (direct),{intensity} (Life cycle)\n"
    rows = "2023-05-01 00:00:00,Germany,Germany,DE,300,380\n2023-05-01 01:00:00,Germany,Germany,DE,310,390\n"
    series = load_carbon(file(head + rows))
    assert series.start == MAY
    assert series.values.tolist() == [380, 390]
    head = "datetime,timestamp,zone_name,carbon_intensity_avg\n"
    rows = "2023-05-01 00:00:00+00:00,1,DE,380\n2023-05-01 01:00:00+00:00,2,DE,390\n"
    assert (load_carbon(file(head + rows)).edges == series.edges).all()
    mixed = "start_utc,gco2_per_kwh,kind\n2023-05-01T00:00Z,380,average\n2023-05-01T01:00Z,700,marginal\n"
    with pytest.raises(InputError, match="kind 'marginal' after 'average'"):
        load_carbon(file(mixed))


def test_the_real_files_are_read_as_they_come(shared):
    weather = [load_weather(shared / "weather" / f"frankfurt-2023-{x}.csv") for x in ("hourly", "utc")]
    prices = [load_prices(shared / "prices" / f"DE-LU-{x}.csv") for x in ("dayahead-2023-hourly", "2023-utc")]
    for one, other in (weather, prices):
        assert (one.edges == other.edges).all()
        np.testing.assert_allclose(one.values, other.values, rtol=1e-12)
    assert len(weather[0].values) == 8760
    assert weather[0].values.max() == 35.0
    assert prices[0].values.min() == -0.5
    for city in ("chicago-tmyx", "phoenix-tmyx", "greensboro-tmy3"):
        assert load_weather(shared / "weather" / f"{city}-hourly.csv").at(MAY) < 40


def test_a_real_file_with_days_missing_serves_the_days_it_has(shared):
    path = shared / "prices" / "IT-North-dayahead-2022-12_2024-08-hourly.csv"
    with pytest.raises(InputError, match=r"csv:26: no values from 2022-12-11T23:00Z to 2022-12-26T23:00Z"):
        load_prices(path)
    spring = parse_utc("2023-03-20T00:00Z")
    assert load_prices(path, (spring, spring + 10 * DAY)).end >= spring + 10 * DAY
    autumn = parse_utc("2023-10-29T00:00Z")  # the source has this day without its 25th hour
    with pytest.raises(InputError, match="2023-10-29T0"):
        load_prices(path, (autumn, autumn + DAY))
