import numpy as np
import pytest

from dardis.config.cooling import load_pue_table
from dardis.power.chiller import Chiller, input_ratio
from dardis.power.cooling import AirPlant, HybridPlant, pue_of, table_of

AIR, HYBRID = AirPlant(), HybridPlant()
TEMPS = np.arange(-10.0, 41.0)
LOADS = np.arange(0.0, 107_001.0, 500.0)


@pytest.mark.parametrize(
    ("temp_c", "it_w", "cooling_w"),
    [(10, 55_000, 6860), (10, 55_500, 6924), (15, 55_000, 22_842), (15, 55_500, 23_050)],
)
def test_the_air_plant_gives_the_four_cells_of_thesis_table_6_1(temp_c, it_w, cooling_w):
    assert pue_of(AIR, temp_c, it_w) == pytest.approx(1 + cooling_w / it_w, abs=3e-4)


def test_cooling_jumps_where_free_cooling_ends():
    load = np.array(55_000.0)
    jump = AIR.watts(15.0, load) - AIR.watts(10.0, load)
    assert 15_500 <= jump <= 16_500
    assert AIR.free(np.array(10.0), load)
    assert not AIR.free(np.array(15.0), load)
    fans, pump = AIR.room_watts(load)
    heat = load + fans + pump
    at_10 = fans + pump + AIR.dry_cooler_watts(np.array(10.0), load, heat)
    assert AIR.watts(10.0, load) == at_10  # no chiller at all
    assert AIR.watts(15.0, load) == fans + pump + AIR.chiller.watts(np.array(15.0), heat)


@pytest.mark.parametrize("dry_cooler", [0.0377, 0.3, 3.0])
def test_free_cooling_runs_where_it_is_cheaper_than_the_chiller_and_only_there(dry_cooler):
    plant, without = AirPlant(dry_cooler=dry_cooler), AirPlant(free_c=-100.0)
    load = LOADS[None, 1:]
    taken = plant.watts(TEMPS[:, None], load)
    fans, pump = plant.room_watts(load)
    free = fans + pump + plant.dry_cooler_watts(TEMPS[:, None], load, load + fans + pump)
    cheaper = plant.free(TEMPS[:, None], load) & (free < without.watts(TEMPS[:, None], load))
    assert cheaper.any()
    np.testing.assert_allclose(taken, np.where(cheaper, free, without.watts(TEMPS[:, None], load)))


@pytest.mark.parametrize("plant", [AIR, HYBRID, AirPlant(design_w=20_000), HybridPlant(design_w=20_000)])
def test_cooling_never_falls_with_heat_or_load_and_no_load_needs_none(plant):
    loads = LOADS * plant.design_w / AIR.design_w
    cooling = plant.watts(TEMPS[:, None], loads[None, :])
    assert (np.diff(cooling, axis=0) >= -1e-9).all()
    assert (np.diff(cooling, axis=1) > 0).all()
    assert (cooling[:, 0] == 0).all()


@pytest.mark.parametrize(
    ("plant", "temp_c", "it_w", "pue"),
    [
        (AIR, 25, 85_000, 1.4288), (AIR, 35, 55_000, 1.4834), (AIR, 0, 55_000, 1.0978), (AIR, 5, 85_000, 1.1128),
        (HYBRID, 20, 55_000, 1.0444), (HYBRID, 25, 85_000, 1.1018), (HYBRID, 5, 55_000, 1.0031),
        (HYBRID, 35, 85_000, 1.1259),
    ],
)  # fmt: skip
def test_the_plants_keep_their_calibration(plant, temp_c, it_w, pue):
    assert pue_of(plant, temp_c, it_w) == pytest.approx(pue, abs=1e-3)


def test_a_hybrid_plant_always_needs_less_than_an_air_plant():
    temps, loads = TEMPS[:, None], LOADS[None, 1:]
    assert (HYBRID.watts(temps, loads) < AIR.watts(temps, loads)).all()


@pytest.mark.parametrize(("temp_c", "most"), [(10.0, 1.3), (15.0, 1.1)])
def test_cooling_is_nearly_proportional_to_load(temp_c, most):
    low, high = AIR.watts(temp_c, 54_000.0), AIR.watts(temp_c, 56_000.0)
    assert np.log(high / low) / np.log(56 / 54) < most


def test_the_chiller_curves_are_near_1_at_rating_and_efficiency_falls_with_heat():
    assert input_ratio(7, 35) == pytest.approx(0.991, abs=0.002)
    power = Chiller().watts(np.arange(28.5, 46.0, 0.5), np.array(1000.0))
    assert (np.diff(power) > 0).all()


@pytest.mark.parametrize(
    ("plant", "of_table"),
    [(AIR, (1.4345, 1.4170, 1.1130, 1.0948)), (HYBRID, (1.0921, 1.0751, 1.0032, 1.0029))],
)
def test_four_assumed_days_have_the_overall_pue_of_thesis_table_6_2(plant, of_table):
    daily = np.cos(2 * np.pi * (np.arange(24) - 15) / 24)
    days = [24.5 + 6.5 * daily, 3.5 + 3.5 * daily]
    loads = [np.full(24, 85_000.0), 35_000 + 10_000 * daily]
    pues = [1 + plant.watts(day, load).sum() / load.sum() for day in days for load in loads]
    assert pues == pytest.approx(of_table, abs=3e-3)


@pytest.mark.parametrize(("name", "plant"), [("air", AIR), ("hybrid", HYBRID)])
def test_the_plants_give_the_tables_that_were_made_from_the_same_model(shared, name, plant):
    table = load_pue_table(shared / "cooling" / f"pue_{name}.csv")
    made = table_of(plant, table.temps_c, table.it_w)
    np.testing.assert_allclose(made.pue, table.pue, atol=2e-5)
