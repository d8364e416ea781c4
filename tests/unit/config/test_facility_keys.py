import json

import numpy as np
import pytest

from dardis.config.cooling import load_pue_table
from dardis.config.platform import load_platform
from dardis.model.errors import InputError
from dardis.model.moments import parse_utc
from dardis.model.platform import Facility, GridLimit
from dardis.model.platform_dict import platform_from_dict, platform_to_dict
from dardis.model.pue_table import Rows

NODES = '[[nodes]]\ncount = 2\nprefix = "n"\nresources = { cores = 8 }\n'


@pytest.fixture
def load(tmp_path):
    def load_keys(text):
        path = tmp_path / "p.toml"
        path.write_text(f'name = "p"\n{text}\n{NODES}')
        return load_platform(path)

    return load_keys


def test_a_platform_that_says_nothing_has_no_facility(load):
    assert load("").facility == Facility()
    assert not load("").facility.stated


def test_files_are_looked_for_beside_the_platform_and_numbers_stand_for_themselves(load, tmp_path):
    for name in ("w.csv", "p.csv", "pue.csv"):
        (tmp_path / name).write_text("")
    around = load('cooling = "pue.csv"\nweather = "w.csv"\nprices = "p.csv"\ncarbon = 380').facility
    assert (around.cooling, around.weather) == (str(tmp_path / "pue.csv"), str(tmp_path / "w.csv"))
    assert (around.prices, around.carbon) == (str(tmp_path / "p.csv"), 380)
    around = load('cooling = "air"\nweather = -2.5\nprices = 0.13').facility
    assert (around.cooling, around.weather, around.prices) == ("air", -2.5, 0.13)


@pytest.mark.parametrize("moment", ['"2023-07-03T00:00Z"', '"2023-07-03T02:00+02:00"', "2023-07-03T00:00:00Z"])
def test_the_calendar_is_a_moment_of_utc(load, moment):
    assert load(f"calendar_start = {moment}").facility.calendar_start == parse_utc("2023-07-03T00:00Z")


FULL = """
cooling = "hybrid"
cooling_rows = "interpolate"
cooling_design_w = 5e4
calendar_start = "2023-07-03T00:00Z"
[income_by_queue]
debug = 0.1
[tariff]
demand_eur_per_kw = 5
co2_eur_per_t = 80
contracted_kw = 90
contract_penalty_eur_per_kwh = 2
[[tariff.limits]]
start_utc = "2023-07-03T10:00Z"
end_utc = 2023-07-03T12:00:00Z
most_kw = 50
"""


def test_every_key_arrives_and_survives_run_json(load):
    platform = load(FULL)
    ten = parse_utc("2023-07-03T10:00Z")
    assert platform.income_by_queue == {"debug": 0.1}
    assert platform.facility == Facility(
        cooling="hybrid", cooling_rows="interpolate", cooling_design_w=5e4, calendar_start=ten - 36_000,
        demand_per_kw=5, co2_per_t=80, contracted_kw=90, contract_penalty_per_kwh=2,
        limits=(GridLimit(ten, ten + 7200, 50),),
    )  # fmt: skip
    assert platform_from_dict(json.loads(json.dumps(platform_to_dict(platform)))) == platform


def test_a_platform_of_an_older_run_json_is_still_read(load):
    old = platform_to_dict(load(""))
    del old["facility"], old["income_by_queue"]
    assert platform_from_dict(old) == load("")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('cooling = "water"', "p.toml: cooling: no file 'water'; expected air, hybrid or the file of a table"),
        ('prices = "x.csv"', "p.toml: prices: no file 'x.csv'; expected a number, or a file"),
        ('cooling_rows = "all"', "cooling_rows: 'all'; expected one of nearest, interpolate"),
        ("cooling_design_w = 0", "cooling_design_w"),
        ('calendar_start = "monday"', "calendar_start: 'monday'; expected a moment of UTC such as 2023-07-03T00:00Z"),
        ("[tariff]\nco2 = 3", "tariff.co2: unknown key; expected one of demand_eur_per_kw"),
        ("[income_by_queue]\na = -1", "income_by_queue.a"),
        (FULL.replace("12:00:00Z", "09:00:00Z"), r"tariff.limits\[0\]: end_utc is not after start_utc"),
        (FULL.replace("most_kw = 50", ""), r"most_kw: missing key"),
    ],
)  # fmt: skip
def test_a_mistake_names_its_key(load, text, message):
    with pytest.raises(InputError, match=message):
        load(text)


TABLE = "temp_c,1000,2000\n0,1.1,1.2\n10,1.3,1.4\n"


def test_a_pue_table_is_read_from_its_csv(tmp_path):
    path = tmp_path / "pue.csv"
    path.write_text(TABLE)
    table = load_pue_table(path)
    np.testing.assert_allclose(table.watts(np.array([0, 10]), np.array([1000, 2000])), [100, 800])
    assert float(load_pue_table(path, Rows.INTERPOLATE).watts(5, 1000)) == pytest.approx(200)
    path.write_text(TABLE.replace(",", ";"))
    assert (load_pue_table(path).pue == table.pue).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.replace("temp_c", "temperature"), "no PUE table; expected columns temp_c,500,1000"),
        (lambda t: t.replace("1.3", "0.3"), r"pue\.csv:3: a PUE of 0.3; expected 1 to 10"),
        (lambda t: t.replace("1.3", "130"), r"pue\.csv:3: a PUE of 130; expected 1 to 10"),
        (lambda t: t.replace("1.3", "x"), r"pue\.csv:3: '10,x,1.4'; expected numbers alone"),
        (lambda t: t.replace("1.3,", ""), r"pue\.csv:3: 2 numbers; expected 3"),
        (lambda t: t.replace("2000", "1000"), "must ascend"),
        (lambda t: t.replace("\n10,", "\n-10,"), "must ascend"),
        (lambda t: t.partition("\n")[0], "no PUE table"),
        (lambda _: "temp_c\n0\n", "columns|one row|numbers"),
        (lambda _: "", "no PUE table"),
    ],
)
def test_a_damaged_pue_table_names_its_line(tmp_path, change, message):
    path = tmp_path / "pue.csv"
    path.write_text(change(TABLE))
    with pytest.raises(InputError, match=message):
        load_pue_table(path)
