import numpy as np
import pytest

from dardis.model.platform import NodeGroup, NodePower, Platform
from dardis.power.nodes import MachinePower, busy_watts, design_watts, full_watts, watts_for_cores

OURS = NodePower(idle_w=100, core_w=6.33, off_w=10, boot_s=240, boot_w=125, shutdown_s=30, shutdown_w=100)


def machine(power, count=2, cores=32):
    return Platform("p", (NodeGroup("n", count, {"cores": cores}, power),))


def test_a_group_without_figures_has_those_of_the_thesis_and_that_is_told():
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


def test_a_plant_for_the_thesis_machine_is_built_for_107_kw():
    thesis, ours = machine(None, 300), machine(OURS, 300)
    assert full_watts(thesis) == pytest.approx(300 * 32 * 9.455)
    assert design_watts(thesis) == 107_000
    assert design_watts(ours) == pytest.approx(107_000, rel=0.01)
    assert design_watts(machine(NodePower(core_w=0))) > 0


def test_a_power_cap_holds_for_the_cores_and_the_nodes_that_are_on():
    platform = machine(OURS, 10)
    cores = np.array([0, 64, 320])
    np.testing.assert_allclose(watts_for_cores(platform, cores), 1000 + 6.33 * cores)
    np.testing.assert_allclose(
        watts_for_cores(platform, cores, np.array([0, 2, 10])), [100, 280 + 405.12, 1000 + 2025.6]
    )


def test_devices_count_where_all_is_busy_and_where_a_cap_is_made():
    """Every core takes its share of busy devices along, so that a cap on all cores is the full machine's power."""
    with_devices = NodePower(idle_w=200, core_w=5, off_w=10, device_w={"gpu": 250})
    platform = Platform(
        "p", (NodeGroup("a", 2, {"cores": 10, "gpu": 4}, with_devices), NodeGroup("b", 1, {"cores": 10}, OURS))
    )
    assert busy_watts(platform).tolist() == [50 + 1000, 50 + 1000, pytest.approx(63.3)]
    assert full_watts(platform) == pytest.approx(2 * 200 + 100 + 2 * 1050 + 63.3)
    assert watts_for_cores(platform, np.array([0, 30])).tolist() == pytest.approx([500, full_watts(platform)])
