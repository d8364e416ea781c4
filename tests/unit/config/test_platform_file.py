import json

import numpy as np
import pytest

from dardis.config.platform import load_platform
from dardis.model.errors import InputError
from dardis.model.platform import Maintenance, NodePower
from dardis.model.platform_dict import platform_from_dict, platform_to_dict

GRID = 'name = "grid"\n[[nodes]]\ncount = 4\nprefix = "n"\nresources = { cores = 16, memory = "16GiB", gpu = 2 }\n'


@pytest.fixture
def load(tmp_path):
    def load_text(text):
        path = tmp_path / "p.toml"
        path.write_text(text)
        return load_platform(path)

    return load_text


def test_the_least_of_a_platform_has_defaults(load):
    platform = load(GRID)
    assert platform.kinds == ("cores", "memory", "gpu")
    assert platform.capacity.tolist() == [[16, 16384, 2]] * 4
    assert platform.groups[0].power is None
    assert (platform.currency, platform.income_per_core_h, platform.maintenance) == ("EUR", 0.013, ())


def test_every_key_is_read(load):
    platform = load(
        'name = "two"\ncurrency = "CHF"\nexchange = { EUR = 0.97 }\nincome_eur_per_core_h = 0.1\n'
        '[[nodes]]\ncount = 2\nprefix = "a"\nresources = { cores = 8 }\nalways_on = true\n'
        "power = { idle_w = 100, core_w = 6.33, off_w = 10, boot_s = 240, boot_w = 125, "
        "shutdown_s = 30, shutdown_w = 1 }\n"
        '[[nodes]]\ncount = 3\nprefix = "b"\nresources = { mic = 2, cores = 16 }\npower = { idle_w = 50 }\n'
        '[partitions]\nfast = ["b"]\n10 = ["b", "a"]\n'
        '[[maintenance]]\nnodes = "0-1 4"\nstart_s = -5\nend_s = 10\n'
        "[[maintenance]]\nnodes = [3]\nstart_s = 0\nend_s = 1\n"
    )
    assert platform.kinds == ("cores", "mic")
    assert np.array_equal(platform.capacity[:, 1], [0, 0, 2, 2, 2])
    assert platform.groups[0].power == NodePower(100, 6.33, 10, 240, 125, 30, 1)
    assert platform.groups[1].power == NodePower(idle_w=50)
    assert [group.always_on for group in platform.groups] == [True, False]
    assert platform.partitions == {"fast": (1,), "10": (0, 1)}
    assert [(m.nodes, m.start, m.end) for m in platform.maintenance] == [((0, 1, 4), -5, 10), ((3,), 0, 1)]
    assert (platform.currency, platform.income_per_core_h) == ("CHF", 0.1)
    assert (platform.money.currency, platform.money.exchange) == ("CHF", {"EUR": 0.97})


def test_idle_power_of_devices_is_their_nodes_and_what_they_add_their_own(load):
    platform = load(GRID + "power = { idle_w = 100, off_w = 9, devices = { gpu = { idle_w = 50, busy_w = 300 } } }\n")
    assert platform.groups[0].power == NodePower(idle_w=200, off_w=9, device_w={"gpu": 250})
    assert platform_from_dict(json.loads(json.dumps(platform_to_dict(platform)))) == platform


DATED = '[[maintenance]]\nnodes = "0"\nstart_utc = 2023-07-15T06:00:00Z\n'


def test_maintenance_by_date_is_put_on_the_clock_of_a_trace(load):
    platform = load(GRID + DATED + 'end_utc = "2023-07-15T10:00+02:00"\n')
    assert platform.maintenance == ()
    assert platform.needs_calendar
    begins = 1_689_400_800
    assert platform.on_clock(None, 0).needs_calendar
    placed = platform.on_clock(begins - 1000, 0)
    assert placed.maintenance == (Maintenance((0,), 1000, 1000 + 2 * 3600),)
    assert not placed.needs_calendar
    assert platform_from_dict(platform_to_dict(placed)) == placed


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (GRID + "pow = 3\n", ["nodes[0].pow", "unknown key", "count, prefix, resources, power, always_on"]),
        ("nme = 3\n" + GRID, ["nme", "unknown key", "currency"]),
        (GRID + "power = { idle = 3 }\n", ["nodes[0].power.idle", "idle_w"]),
        (GRID + "power = 3\n", ["nodes[0].power", "expected a table"]),
        (GRID + "power = { devices = { mic = { busy_w = 3 } } }\n", ["nodes[0].power.devices", "'mic'", "gpu"]),
        (GRID + "power = { devices = { memory = { busy_w = 3 } } }\n", ["nodes[0].power.devices", "'memory'"]),
        (GRID + "power = { devices = { gpu = { idle_w = 3 } } }\n", ["nodes[0].power.devices.gpu", "busy_w"]),
        (GRID + "power = { devices = { gpu = { idle_w = 3, busy_w = 2 } } }\n", ["nodes[0].power", "below idle_w 3"]),
        (GRID + "power = { idle_w = nan }\n", ["nodes[0].power.idle_w", "finite"]),
        (GRID + "power = { idle_w = -1 }\n", ["nodes[0].power.idle_w", "greater than or equal to 0"]),
        (GRID.replace("count = 4", 'count = "4"'), ["nodes[0].count", "integer"]),
        (GRID.replace("count = 4", "count = 0"), ["nodes[0].count", "greater than or equal to 1"]),
        (GRID.replace("16,", "-1,"), ["nodes[0].resources", "cores: -1 is negative"]),
        (GRID.replace("16,", "0,"), ["nodes[0].resources", "at least 1 core"]),
        (GRID.replace("16,", "9999999,"), ["nodes[0].resources", "cores", "at most"]),
        (GRID.replace("16GiB", "16 parsecs"), ["nodes[0].resources", "memory", "16GiB"]),
        (GRID.replace("gpu", "GPU"), ["nodes[0].resources", "'GPU' is no resource kind"]),
        (GRID.replace('name = "grid"\n', ""), ["name", "missing key"]),
        ('name = "x"\nnodes = []\n', ["nodes", "at least 1"]),
        ("exchange = { usd = 1 }\n" + GRID, ["exchange.usd", "[A-Z]{3}"]),
        ("exchange = { USD = 0 }\n" + GRID, ["exchange.USD", "greater than 0"]),
        ("name =", ["is no TOML", "at end of document"]),
        (GRID + GRID.split("\n", 1)[1], ["nodes[0].prefix", "distinct"]),
        (GRID + GRID.split("\n", 1)[1].replace('"n"', '"n1"'), ["prefix", "distinct"]),
        (GRID + '[partitions]\n4 = ["x"]\n', ["partitions.4", "no node group 'x'", "one of n"]),
        (GRID + "[[maintenance]]\nnodes = [4]\nstart_s = 0\nend_s = 5\n", ["maintenance[0].nodes", "0 to 3"]),
        (GRID + '[[maintenance]]\nnodes = "3-1"\nstart_s = 0\nend_s = 5\n', ["maintenance[0].nodes", "'3-1'"]),
        (GRID + '[[maintenance]]\nnodes = "0"\nstart_s = 5\nend_s = 5\n', ["maintenance[0]", "not after"]),
        (
            GRID + '[[maintenance]]\nnodes = "0"\nstart_s = 5\n',
            ["maintenance[0]", "start_s; expected start_s and end_s, or"],
        ),
        (GRID + DATED + "end_s = 7\n", ["maintenance[0]", "end_s, start_utc; expected"]),
        (GRID + DATED + "end_utc = 2023-07-15T06:00:00\n", ["maintenance[0]", "not after"]),
        (GRID + DATED + 'end_utc = "tomorrow"\n', ["maintenance[0].end_utc", "'tomorrow'"]),
        (GRID + DATED.replace('"0"', '"9"') + "end_utc = 2023-07-16\n", ["maintenance[0].nodes", "0 to 3"]),
    ],
)
def test_a_mistake_is_one_line_with_file_key_and_expectation(load, text, parts):
    with pytest.raises(InputError) as caught:
        load(text)
    message = str(caught.value)
    assert "p.toml" in message
    assert "\n" not in message
    assert [part for part in parts if part not in message] == []


def test_a_missing_file_is_one_line(tmp_path):
    with pytest.raises(InputError, match=r"nix.toml: cannot be read \(No such file"):
        load_platform(tmp_path / "nix.toml")


def test_the_shipped_platforms_are_valid_and_of_the_stated_size():
    from pathlib import Path

    folder = Path(__file__).resolve().parents[3] / "launch" / "platforms"
    sizes = {}
    for file in folder.glob("*.toml"):
        platform = load_platform(file)
        sizes[file.stem] = (platform.node_count, platform.cores)
    expected = {
        "eurora": (64, 1024),
        "eurora-2014": (64, 1024),
        "eurora-4": (4, 64),
        "eurora-65": (65, 1036),
        "curie-fat": (300, 9600),
        "curie-thin": (5040, 80640),
        "hpc2n": (120, 240),
    }
    assert {name: sizes.get(name) for name in expected} == expected


@pytest.mark.parametrize("name", ["eurora-4", "eurora-65"])
def test_eurora_s_queues_have_the_longest_waits_of_thesis_4_5(name):
    from pathlib import Path

    platform = load_platform(Path(__file__).resolve().parents[3] / "launch" / "platforms" / f"{name}.toml")
    waits = {queue.name: (queue.longest_wait_s, str(queue.hours)) for queue in platform.queues}
    assert waits == {
        "debug": (3600, "any"), "parallel": (5 * 3600, "any"), "np_longpar": (86_400, "non-prime"),
    }  # fmt: skip
    assert (platform.prime.start, platform.prime.end) == (8 * 3600, 18 * 3600)
