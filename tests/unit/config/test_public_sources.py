import gzip
import json
from datetime import date

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.error_lines import line_of
from kit.public_sources import CARBON, HOUR, PRICES, WEATHER, entsoe, entsoe_series

from dardis.config.prices import read_carbon, read_prices
from dardis.config.weather import read_weather
from dardis.model.errors import InputError
from dardis.model.moments import parse_utc
from dardis.model.platform import Money

MAY = parse_utc("2023-05-01T00:00Z")
SOURCES = {name: (read_prices, factor, write) for name, (factor, write) in PRICES.items()}
SOURCES |= {name: (read_weather, 1.0, write) for name, write in WEATHER.items()}
SOURCES |= {name: (read_carbon, 1.0, write) for name, write in CARBON.items()}


def over(read, path):
    return read(path).over(None, Money("EUR", {"GBP": 1.0})) if read is read_prices else read(path).over(None)


@pytest.fixture
def file(tmp_path):
    def write(text):
        path = tmp_path / "f"
        path.write_text(text)
        return path

    return write


@pytest.mark.parametrize(("read", "factor", "write"), SOURCES.values(), ids=SOURCES)
@given(
    day=st.dates(date(2001, 1, 1), date(2035, 1, 1)),
    hundredths=st.lists(st.integers(-5_000, 5_000), min_size=2, max_size=60),
)
def test_hourly_values_in_the_format_of_a_source_are_read_back(tmp_path_factory, read, factor, write, day, hundredths):
    start = parse_utc(f"{day}T00:00Z")
    values = [abs(v) / 100 if read is read_carbon else v / 100 for v in (4_000, *hundredths)]
    path = tmp_path_factory.mktemp("s") / "f"
    path.write_text(write(start, values), encoding="utf-8")
    series = over(read, path)
    assert series.edges.tolist() == [start + HOUR * i for i in range(len(values) + 1)]
    np.testing.assert_allclose(series.values, factor * np.array(values), rtol=1e-12)


def test_prices_in_pounds_need_an_exchange_rate_and_are_without_vat(file):
    octopus = file(PRICES["Octopus"][1](MAY, [20.0, -1.5]))
    assert "f: results[0]: prices in GBP; expected EUR as in the platform" in line_of(read_prices(octopus).over, None)
    assert read_prices(octopus).over(None, Money("GBP")).values.tolist() == [0.2, -0.015]


def test_packed_file_of_a_source_is_read(tmp_path):
    path = tmp_path / "10637-2024.csv.gz"
    path.write_bytes(gzip.compress(WEATHER["Meteostat, with header"](MAY, [3.5, 4.0]).encode()))
    assert over(read_weather, path).values.tolist() == [3.5, 4.0]


@pytest.mark.parametrize("name", [name for name in PRICES if name.startswith("SMARD CSV")])
@pytest.mark.parametrize(("day", "hours"), [("2024-03-30", 23), ("2024-10-26", 25)])
def test_local_day_with_23_or_25_hours_is_read_from_smard(file, name, day, hours):
    values = [1234.5 - 50 * hour for hour in range(48 + hours)]
    series = over(read_prices, file(PRICES[name][1](parse_utc(f"{day}T00:00Z"), values)))
    np.testing.assert_allclose(series.values, np.array(values) / 1000, rtol=1e-12)
    assert (np.diff(series.edges) == HOUR).all()


def test_one_zone_of_smard_is_read_and_several_are_refused(file):
    austria = PRICES["SMARD CSV, German"][1](MAY, [50.0]).replace("Deutschland/Luxemburg", "Österreich")
    assert over(read_prices, file(austria)).values.tolist() == [0.05]
    line = line_of(read_prices, file(austria.replace("∅ Anrainer DE/LU", "Frankreich")))
    assert "f:1: values in 'österreich [€/mwh] originalauflösungen' and 'frankreich" in line


def test_points_left_out_of_a_step_curve_repeat_the_last_price(file):
    text = entsoe(entsoe_series(MAY, [50.0, 50.0, 50.0, 60.0, 60.0], step=900))
    assert text.count("<Point>") == 2
    series = over(read_prices, file(text))
    assert series.edges.tolist() == [MAY + 900 * i for i in range(6)]
    np.testing.assert_allclose(series.values, [0.05, 0.05, 0.05, 0.06, 0.06])
    line = line_of(over, read_prices, file(text.replace("A03", "A01")))
    assert "f: Point 2: no values from 2023-05-01T00:15Z to 2023-05-01T00:45Z" in line


def test_periods_of_entsoe_may_come_in_any_order_and_the_first_auction_counts(file):
    hours, quarters = [10.0 + i for i in range(24)], [20.0 + i for i in range(96)]
    parts = ((MAY + 24 * HOUR, quarters, 900), (MAY, [99.0] * 24, HOUR, "A03", "PLN", 2), (MAY, hours, HOUR, "A01"))
    zlotys = file(entsoe(*(entsoe_series(*part) for part in parts)).replace("EUR", "PLN"))
    values = read_prices(zlotys).over(None, Money("PLN")).values
    np.testing.assert_allclose(values, np.array(hours + quarters) / 1000)


@pytest.mark.parametrize(("change", "message"), [
    (lambda text: text.replace("PT60M", "P1D"), "f: Period: '2023-05-01T00:00Z' to '2023-05-01T02:00Z', .*'P1D'"),
    (lambda text: text.replace("<end>2023", "<end>2029"), "expected at most a year in steps of PT15M"),
    (lambda text: text.replace("<position>2<", "<position>3<"), "f: Point 2: position '3'; expected 1 to 2"),
    (lambda text: text.replace("<position>2<", "<position>1<"), "f: Point 1: position 1 after 1; expected ascend"),
    (lambda text: text.replace(">50.0<", ">dear<"), r"f: Point 1: price \(EUR/MWh\) 'dear'; expected a number"),
    (lambda text: text.replace("MWH", "KWH"), "f: price_Measure_Unit.name: 'KWH'; expected MWH"),
    (lambda text: text.replace("EUR", ""), "f: currency_Unit.name: ''; expected a currency such as EUR"),
    (lambda text: text.replace("A03", "A04"), "f: curveType: 'A04'; expected A01 or A03"),
    (lambda text: text.replace("Publication", "Other"), "f: is <Other_MarketDocument>; expected a Publication_Ma"),
    (lambda text: text[:-9], "f: is not XML"),
    (lambda text: text.replace("<type>", "<!DOCTYPE a [<!ENTITY b 'c'>]><type>"), "f: declares entities"),
    (lambda text: text.replace("TimeSeries", "Reason"), "f: no values"),
])  # fmt: skip
def test_damaged_document_of_entsoe_is_refused_with_its_place(file, change, message):
    with pytest.raises(InputError, match=message):
        read_prices(file(change(entsoe(entsoe_series(MAY, [50.0, 60.0])))))


@pytest.mark.parametrize(("name", "change", "message"), [
    ("aWATTar", ("Eur/MWh", "Eur/kWh"), "f: data.0.unit: 'Eur/kWh'; expected EUR/MWh"),
    ("aWATTar", (": 60.0", ': "dear"'), r"f: data\[1\]: marketprice 'dear'; expected a number"),
    ("Energy-Charts", ("EUR / MWh", "GBP / MWh"), "f: unit: 'GBP / MWh'; expected EUR/MWh"),
    ("SMARD JSON", ("50.0", "50000"), r"f: series\[0\]: values such as 50000 are no prices"),
    ("SMARD JSON", ("000, 50", "001, 50"), r"f: series\[0\]: time '16.*01'; expected Unix milliseconds"),
    ("SMARD CSV, German", ("50,00", "50.00"), "f:2: Deutschland/Luxemburg .* '50.00'; expected a number"),
    ("SMARD CSV, English", ("May 1,", "Mai 1,"), "f:2: time 'Mai 1, 2023 2:00 AM'; expected a time such as"),
    ("Octopus", ('method": null', 'method": "CASH"'), r"f: results\[1\]: payment_method '' after 'CASH'; expect"),
    ("Electricity Maps, data", ("lifecycle", "direct"), r"f: data\[1\]: emissionfactortype 'lifecycle' after 'd"),
    ("Great Britain", ("}]}", "}]"), "f: is not JSON"),
    ("DWD, hourly", ("2023050100", "20230501"), "f:2: time '20230501'; expected a time such as 2023123123"),
    ("DWD, hourly", ("  44;2023050101", "  45;2023050101"), "f:3: stations_id '45' after '44'; expected only one"),
    ("Meteostat, without header", ("-01,01", "-01,99"), "f:2: time '2023-05-01T99'; expected a time such as"),
])  # fmt: skip
def test_damaged_file_of_a_source_is_refused_with_its_place(file, name, change, message):
    read, _, write = SOURCES[name]
    text = write(MAY, [50.0, 60.0])
    assert change[0] in text
    with pytest.raises(InputError, match=message):
        over(read, file(text.replace(*change, 1)))


def test_missing_hours_of_a_source_are_refused_and_not_filled(file):
    dwd = WEATHER["DWD, hourly"](MAY, [1.0, 2.0, 3.0, 4.0]).replace("   2.0", "-999.0").replace("   3.0", "  -999")
    assert "f:5: no values from 2023-05-01T01:00Z to 2023-05-01T03:00Z" in line_of(over, read_weather, file(dwd))
    maps = file(CARBON["Electricity Maps, history"](MAY, [1, 7777, 3]).replace("7777", "null"))
    assert "f: history[2]: no values from 2023-05-01T01:00Z to 2023-05-01T02" in line_of(over, read_carbon, maps)
    unknown_yet = PRICES["Energy-Charts"][1](MAY, [50.0, 7777]).replace("7777", "null")
    assert over(read_prices, file(unknown_yet)).values.tolist() == [0.05]


def test_dwd_file_is_read_from_the_year_2000_on(file):
    start = parse_utc("1999-12-31T22:00Z")
    series = over(read_weather, file(WEATHER["DWD, hourly"](start, [1.0, 2.0, 3.0, 4.0])))
    assert series.start == start + 2 * HOUR
    assert series.values.tolist() == [3.0, 4.0]


OPEN_METEO = {"utc_offset_seconds": 0, "hourly_units": {"temperature_2m": "°C"}}
OPEN_METEO |= {"hourly": {"time": ["2023-05-01T00:00", "2023-05-01T01:00"], "temperature_2m": [5.0, 6.0]}}


def test_several_places_in_one_file_are_refused(file):
    regions = CARBON["Great Britain, region"](MAY, [1.0, 2.0]).replace("intensity", "regions")
    assert "f: JSON of another format; expected Electricity Maps" in line_of(read_carbon, file(regions))
    line = line_of(read_weather, file(json.dumps([OPEN_METEO, OPEN_METEO])))
    assert "f: a list of several JSON objects, such as one for each place; expected one of" in line
    table = "location_id,latitude,utc_offset_seconds\n0,1.0,0\n1,2.0,0\n\nlocation_id,time,temperature_2m (°C)\n"
    line = line_of(read_weather, file(table + "0,2023-05-01T00:00,5\n1,2023-05-01T00:00,6\n"))
    assert "f:1: an Open-Meteo export of several locations; expected one location" in line


def test_hourly_part_of_a_forecast_of_open_meteo_is_read(file):
    parts = {"current": {"time": "2023-05-01T00:15", "temperature_2m": 9.0}, "daily": {"time": ["2023-05-01"]}}
    assert over(read_weather, file(json.dumps(parts | OPEN_METEO))).values.tolist() == [5.0, 6.0]
    head = "latitude,utc_offset_seconds\n1.0,0\n\ntime,interval,temperature_2m (°C)\n2023-05-01T00:15,900,9.0\n\n"
    hours = "time,temperature_2m (°C)\n2023-05-01T00:00,5\n2023-05-01T01:00,6\n\ntime,weather_code\n2023-05-01,3\n"
    assert over(read_weather, file(head + hours)).values.tolist() == [5.0, 6.0]
