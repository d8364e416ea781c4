"""Power of nodes and of the plants that cool them."""

import numpy as np
import pytest

from dardis.config.cooling_table import load_pue_table
from dardis.model.platform import NodeGroup, NodePower, Platform
from dardis.power.cooling import AirPlant, HybridPlant, pue_of, table_of
from dardis.power.node_power import MachinePower, busy_watts, full_watts, watts_for_cores

OURS = NodePower(idle_w=100, core_w=6.33, off_w=10, boot_s=240, boot_w=125, shutdown_s=30, shutdown_w=100)


def machine(power, count=2, cores=32):
    return Platform("p", (NodeGroup("n", count, {"cores": cores}, power),))


def test_group_without_figures_uses_thesis_values_with_a_note():
    platform = Platform("p", (NodeGroup("a", 1, {"cores": 8}, OURS), NodeGroup("b", 2, {"cores": 8})))
    power = MachinePower.of_platform(platform)
    assert power.idle_w.tolist() == [100, 0, 0]
    assert power.core_w.tolist() == [6.33, 9.455, 9.455]
    assert not power.stated
    assert MachinePower.of_platform(machine(OURS)).stated


@pytest.mark.parametrize(
    ("power", "seconds"),
    [
        (OURS, 336.67),
        # A measured node (Grid'5000, Taurus): 18,966 J to boot, 616 J to shut down.
        (NodePower(idle_w=95, off_w=9.75, boot_s=152, boot_w=18_966 / 152, shutdown_s=6, shutdown_w=616 / 6), 211.6),
        (NodePower(idle_w=500, off_w=0, boot_s=100, boot_w=1, shutdown_s=20, shutdown_w=1), 120),
        (NodePower(idle_w=10, off_w=10, boot_s=5), np.inf),
        (NodePower(), np.inf),
    ],
)
def test_break_even_is_where_being_down_costs_what_idling_does(power, seconds):
    of = MachinePower.of_platform(machine(power))
    assert of.break_even_s == pytest.approx([seconds] * 2, rel=1e-3)
    if power is OURS:
        down = of.break_even_s[0]
        assert down * 100 == pytest.approx(240 * 125 + 30 * 100 + (down - 270) * 10)


def test_devices_count_where_all_is_busy_and_where_a_cap_is_made():
    with_devices = NodePower(idle_w=200, core_w=5, off_w=10, device_w={"gpu": 250})
    platform = Platform(
        "p", (NodeGroup("a", 2, {"cores": 10, "gpu": 4}, with_devices), NodeGroup("b", 1, {"cores": 10}, OURS))
    )
    assert busy_watts(platform).tolist() == [50 + 1000, 50 + 1000, pytest.approx(63.3)]
    assert full_watts(platform) == pytest.approx(2 * 200 + 100 + 2 * 1050 + 63.3)
    assert watts_for_cores(platform, np.array([0, 30])).tolist() == pytest.approx([500, full_watts(platform)])


AIR, HYBRID = AirPlant(), HybridPlant()
TEMPS = np.arange(-10.0, 41.0)
LOADS = np.arange(0.0, 107_001.0, 500.0)


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
def test_free_cooling_runs_only_where_cheaper_than_the_chiller(dry_cooler):
    plant, without = AirPlant(dry_cooler=dry_cooler), AirPlant(free_c=-100.0)
    load = LOADS[None, 1:]
    taken = plant.watts(TEMPS[:, None], load)
    fans, pump = plant.room_watts(load)
    free = fans + pump + plant.dry_cooler_watts(TEMPS[:, None], load, load + fans + pump)
    cheaper = plant.free(TEMPS[:, None], load) & (free < without.watts(TEMPS[:, None], load))
    assert cheaper.any()
    np.testing.assert_allclose(taken, np.where(cheaper, free, without.watts(TEMPS[:, None], load)))


TABLE_6_1 = {(10, 55_000): 6860, (10, 55_500): 6924, (15, 55_000): 22_842, (15, 55_500): 23_050}
"""Four cells of the thesis: the cooling's power (W) of the air plant, by the weather (°C) and the IT load (W)."""


@pytest.mark.parametrize(
    ("plant", "temp_c", "it_w", "pue"),
    [
        *((AIR, *case, 1 + cooling_w / case[1]) for case, cooling_w in TABLE_6_1.items()),
        (AIR, 25, 85_000, 1.4288), (AIR, 35, 55_000, 1.4834), (AIR, 0, 55_000, 1.0978), (AIR, 5, 85_000, 1.1128),
        (HYBRID, 20, 55_000, 1.0444), (HYBRID, 25, 85_000, 1.1018), (HYBRID, 5, 55_000, 1.0031),
        (HYBRID, 35, 85_000, 1.1259),
    ],
)  # fmt: skip
def test_plant_calibration_is_unchanged(plant, temp_c, it_w, pue):
    assert pue_of(plant, temp_c, it_w) == pytest.approx(pue, abs=3e-4)


@pytest.mark.parametrize(
    ("plant", "of_table"), [(AIR, (1.4345, 1.4170, 1.1130, 1.0948)), (HYBRID, (1.0921, 1.0751, 1.0032, 1.0029))]
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


def test_a_power_cap_holds_for_the_cores_and_the_nodes_that_are_on():
    platform = machine(OURS, 10)
    cores = np.array([0, 64, 320])
    np.testing.assert_allclose(watts_for_cores(platform, cores), 1000 + 6.33 * cores)
    np.testing.assert_allclose(
        watts_for_cores(platform, cores, np.array([0, 2, 10])), [100, 280 + 405.12, 1000 + 2025.6]
    )
