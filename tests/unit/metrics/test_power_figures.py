import pytest
from kit.schedules import schedule_of

from dardis.metrics.power import (
    KEYS,
    find_cooling,
    platform_cooling,
    power_metrics,
    power_report,
    power_terms,
    tariff_of,
)
from dardis.model.errors import InputError
from dardis.model.moments import parse_utc
from dardis.model.platform import Facility, GridLimit, NodeGroup, NodePower, Platform
from dardis.power.cooling import HybridPlant

POWER = NodePower(idle_w=100, core_w=5, off_w=10, boot_s=240, boot_w=125, shutdown_s=30, shutdown_w=100)
START = parse_utc("2023-05-01T00:00Z")
ALL = {"cooling": "hybrid", "weather": 20.0, "prices": 0.2, "carbon": 400.0}


def platform(power=POWER, **around):
    return Platform("p", (NodeGroup("n", 2, {"cores": 10}, power),), facility=Facility(**around))


def schedule(finish=7200, **more):
    job = {"start": 3600, "finish": finish, "walltime": 9999, "request": [10], "placed": {0: 1}}
    return schedule_of(("cores",), [job | more])


def figures(of, offset=None, *more):
    terms = power_terms(of, offset, 0, 0)
    assert terms is not None
    return power_metrics(power_report(terms, schedule(), *more))


def test_the_figures_are_those_of_the_account():
    found = figures(platform(**ALL))
    plant = HybridPlant(design_w=1000 * (200 + 100) / 1000 * 11.11 / 9.455)
    cooling = [float(plant.watts(20.0, load)) for load in (200.0, 250.0)]
    assert found["income_eur"] == pytest.approx(0.13)
    assert found["energy_kwh"] == pytest.approx(0.45)
    assert found["energy_eur"] == pytest.approx(0.09)
    assert found["cooling_kwh"] == pytest.approx(sum(cooling) / 1000, rel=1e-2)
    assert found["profit_eur"] == pytest.approx(0.13 - 0.09 - found["cooling_kwh"] * 0.2)
    assert found["pue"] == pytest.approx(1 + found["cooling_kwh"] / 0.45)
    assert found["co2_kg"] == pytest.approx((0.45 + found["cooling_kwh"]) * 0.4)
    assert found["peak_kw"] == pytest.approx((250 + cooling[1]) / 1000, rel=1e-2)
    assert tuple(found) == KEYS


def test_prices_without_power_figures_mean_those_of_the_thesis_and_a_warning():
    terms = power_terms(platform(power=None, prices=0.2), None, 0, 0)
    assert any("9.455 W" in warning for warning in terms.warnings)
    assert power_metrics(power_report(terms, schedule()))["energy_kwh"] == pytest.approx(0.09455)
    assert power_terms(platform(prices=0.2), None, 0, 0).warnings == ()
    lone = power_terms(platform(cooling="air"), None, 0, 0).warnings
    assert any("cooling without weather" in warning for warning in lone)


@pytest.fixture
def prices(tmp_path):
    path = tmp_path / "prices.csv"
    path.write_text("start_utc,price_eur_per_kwh\n2023-05-01T00:00Z,0.1\n2023-05-01T01:00Z,0.3\n")
    return str(path)


def test_prices_from_a_file_hold_on_the_traces_own_clock(prices):
    assert figures(platform(prices=prices), START)["energy_eur"] == pytest.approx(0.2 * 0.1 + 0.25 * 0.3)


def test_a_file_without_a_calendar_or_for_another_time_is_refused_before_the_run(prices):
    with pytest.raises(InputError, match="platform: prices: no start date; expected calendar_start"):
        power_terms(platform(prices=prices), None, 0, 0)
    with pytest.raises(InputError, match=r"prices\.csv: values from .* to .*; expected values from"):
        power_terms(platform(prices=prices), START - 100_000_000, 0, 0)
    with pytest.raises(InputError, match=r"prices\.csv: covers 2023-05-01T00:00Z to 2023-05-01T02:00Z"):
        power_terms(platform(prices=prices), START, 0, 8000)


def test_a_run_that_lasts_longer_than_its_prices_has_no_money_and_says_why(prices):
    report = power_report(power_terms(platform(prices=prices), START, 0, 0), schedule(finish=9000))
    assert set(power_metrics(report).values()) == {None}
    assert "power and money are unknown: " in report.warnings[0]
    assert "prices.csv: covers 2023-05-01T00:00Z to 2023-05-01T02:00Z" in report.warnings[0]


def test_a_table_that_does_not_reach_the_machines_load_is_refused_before_the_run(tmp_path):
    table = tmp_path / "pue.csv"
    table.write_text("temp_c,100,200\n10,1.1,1.1\n20,1.2,1.2\n")
    with pytest.raises(InputError, match=r"pue\.csv: 20 °C and 300 W"):
        power_terms(platform(**ALL | {"cooling": str(table)}), None, 0, 0)


def test_infeasible_power_limit_is_reported():
    limit = GridLimit(START, START + 7200, 0.21)
    terms = power_terms(platform(**ALL, limits=(limit,)), START, 0, 0)
    report = power_report(terms, schedule())
    assert "above a power limit that must not be exceeded" in report.warnings[0]
    with pytest.raises(InputError, match="no start date"):
        tariff_of(Facility(limits=(limit,)), None)


def test_plants_are_found_by_name_or_file(tmp_path):
    assert isinstance(find_cooling("hybrid", 5000.0), HybridPlant)
    assert platform_cooling(platform()) is None
    assert platform_cooling(platform(), "hybrid") == platform_cooling(platform(**ALL))
    with pytest.raises(InputError, match="cooling 'ice': no such plant or file; expected air, hybrid, or the file"):
        find_cooling("ice")


def test_missing_platform_values_give_null():
    none = {key for key, value in figures(platform()).items() if value is None}
    assert none == {"energy_eur", "cooling_eur", "profit_eur", "cooling_kwh", "pue", "co2_kg"}
    assert figures(platform(prices=0.2))["profit_eur"] == pytest.approx(0.13 - 0.09)
    unknown = figures(platform(prices=0.2, cooling="air"))
    assert unknown["profit_eur"] is None
    assert unknown["pue"] is None
