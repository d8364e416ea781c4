"""Platform files: what is read of machines, queues, reservations and facilities, and mistakes with their places."""

import json
from pathlib import Path

import numpy as np
import pytest
from kit.error_lines import line_of

from dardis.config.cooling_table import load_pue_table
from dardis.config.platform_file import load_platform
from dardis.config.platform_record import MachineRecord, platform_from_dict
from dardis.config.toml_file import read_json
from dardis.model.platform import NodePower, platform_to_dict
from dardis.model.queues import Hours, PrimeTime, Queue, Reservation
from dardis.workload.trace_reader import read_trace

FOLDER = Path(__file__).resolve().parents[3] / "launch/platforms"
FILES = sorted(FOLDER.glob("*.toml"))
GRID = 'name = "grid"\n[[nodes]]\ncount = 4\nprefix = "n"\nresources = { cores = 16, memory = "16GiB", gpu = 2 }\n'
NODES = GRID.split("\n", 1)[1]
DATED = '[[maintenance]]\nnodes = "0"\nstart_utc = 2023-07-15T06:00:00Z\n'
FULL = """cooling = "hybrid"
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
TWO = """name = "p"
[[nodes]]
count = 4
prefix = "a"
resources = { cores = 8 }
[[nodes]]
count = 4
prefix = "b"
resources = { cores = 8, gpu = 2 }
"""
SITE = (
    TWO
    + """[[maintenance]]
nodes = "7"
start_s = 1000
end_s = 2000
[[queues]]
name = "q"
[[queues]]
name = "r"
[[queues]]
name = "s"
[[queues]]
name = "b"
groups = ["b"]
"""
)
FIRST = SITE + '[[reservations]]\nname = "x"\nqueue = "r"\nnodes = "1-2"\nstart_s = 0\nend_s = 100\n'
SECOND = '[[reservations]]\nname = "y"\nqueue = "s"\nnodes = [2, 3]\nstart_s = 50\nend_s = 60\n'
HALF = "resources = { cores = 4 }\n"
PRIME = TWO + '[prime]\nstart = "08:00"\nend = "18:30"\n'
QUEUE = TWO + '[[queues]]\nname = "q"\n'


@pytest.fixture
def load(tmp_path):
    def load_text(text):
        path = tmp_path / "p.toml"
        path.write_text(text)
        return load_platform(path)

    return load_text


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


def test_idle_power_of_devices_counts_for_nodes_and_the_rest_for_devices(load):
    platform = load(GRID + "power = { idle_w = 100, off_w = 9, devices = { gpu = { idle_w = 50, busy_w = 300 } } }\n")
    assert platform.groups[0].power == NodePower(idle_w=200, off_w=9, device_w={"gpu": 250})
    assert platform_from_dict(json.loads(json.dumps(platform_to_dict(platform)))) == platform


def test_keys_of_queues(load):
    platform = load(
        PRIME + 'days = ["sun", "mon"]\ntimezone = "Europe/Rome"\n[[queues]]\nname = "q"\n'
        'expected_wait_s = 60\nlongest_wait_s = 3600\npriority = -3\ngroups = ["b"]\nmax_units = 32\n'
        'max_walltime_s = 21600\nmax_job = { cores = 512, gpu = 64 }\nhours = "non-prime"\n'
        "stopped = [{ start_s = 0, end_s = 9 }, { start_s = 20, end_s = 30 }]\n"
        '[[queues]]\nname = "r"\n'
    )  # fmt: skip
    most = {"cores": 512, "gpu": 64}
    first = Queue("q", 60, 3600, -3, (1,), 32, 21_600, most, Hours.NON_PRIME, ((0, 9), (20, 30)))
    assert platform.queues == (first, Queue("r"))
    assert platform.prime == PrimeTime(8 * 3600, 18 * 3600 + 1800, (0, 6), "Europe/Rome")


def test_keys_of_reservations(load, tmp_path):
    more = 'users = ["ann", "bob"]\nrepeat = "daily"\ntimes = 3\n'
    text = FIRST + HALF + more + SECOND.replace("start_s = 50", "start_s = 0").replace("60", "3600") + HALF
    platform = load(text + 'repeat = "hourly"\ntimes = 2\n')
    day = 86_400
    spans = ((0, 100), (day, day + 100), (2 * day, 2 * day + 100))
    assert platform.reservations == (
        Reservation("x", "r", (1, 2), spans, {"cores": 4}, ("ann", "bob")),
        Reservation("y", "s", (2, 3), ((0, 7200),), {"cores": 4}),  # one ends when the next begins
    )
    file = tmp_path / "r.json"
    file.write_text(json.dumps({"platform": platform_to_dict(platform)}))
    assert read_json(file, MachineRecord).machine(file) == platform


@pytest.mark.parametrize(("text", "parts"), [
    (GRID + "pow = 3\n", ["nodes[0].pow", "unknown key", "count, prefix, resources, power, always_on"]),
    ("nme = 3\n" + GRID, ["nme", "unknown key", "currency"]),
    (GRID + "power = { idle = 3 }\n", ["nodes[0].power.idle", "idle_w"]),
    (GRID + "power = { devices = { mic = { busy_w = 3 } } }\n", ["nodes[0].power.devices", "'mic'", "gpu"]),
    (GRID + "power = { devices = { gpu = { idle_w = 3 } } }\n", ["nodes[0].power.devices.gpu", "busy_w"]),
    (GRID + "power = { devices = { gpu = { idle_w = 3, busy_w = 2 } } }\n", ["nodes[0].power", "below idle_w 3"]),
    (GRID + "power = { idle_w = nan }\n", ["nodes[0].power.idle_w", "finite"]),
    (GRID + "power = { idle_w = -1 }\n", ["nodes[0].power.idle_w", "greater than or equal to 0"]),
    (GRID.replace("count = 4", 'count = "4"'), ["nodes[0].count", "integer"]),
    (GRID.replace("16,", "-1,"), ["nodes[0].resources", "cores: -1 is negative"]),
    (GRID.replace("16,", "0,"), ["nodes[0].resources", "at least 1 core"]),
    (GRID.replace("16,", "9999999,"), ["nodes[0].resources", "cores", "at most"]),
    (GRID.replace("16GiB", "16 parsecs"), ["nodes[0].resources", "memory", "16GiB"]),
    (GRID.replace("gpu", "GPU"), ["nodes[0].resources", "'GPU' is not a resource kind"]),
    (GRID.replace('name = "grid"\n', ""), ["name", "missing key"]),
    ('name = "x"\nnodes = []\n', ["nodes", "at least 1"]),
    ("exchange = { usd = 1 }\n" + GRID, ["exchange.usd", "[A-Z]{3}"]),
    ("exchange = { USD = 0 }\n" + GRID, ["exchange.USD", "greater than 0"]),
    ("name =", ["is not TOML", "at end of document"]),
    (GRID + NODES, ["nodes[0].prefix", "distinct"]),
    (GRID + '[partitions]\n4 = ["x"]\n', ["partitions.4", "unknown node group 'x'", "one of n"]),
    (GRID + "[[maintenance]]\nnodes = [4]\nstart_s = 0\nend_s = 5\n", ["maintenance[0].nodes", "0 to 3"]),
    (GRID + '[[maintenance]]\nnodes = "3-1"\nstart_s = 0\nend_s = 5\n', ["maintenance[0].nodes", "'3-1'"]),
    (GRID + '[[maintenance]]\nnodes = "0"\nstart_s = 5\nend_s = 5\n', ["maintenance[0]", "not after"]),
    (GRID + '[[maintenance]]\nnodes = "0"\nstart_s = 5\n', ["maintenance[0]", "start_s; expected start_s and"]),
    (GRID + DATED + "end_s = 7\n", ["maintenance[0]", "end_s, start_utc; expected"]),
    (GRID + DATED + "end_utc = 2023-07-15T06:00:00\n", ["maintenance[0]", "not after"]),
    (GRID + DATED + 'end_utc = "tomorrow"\n', ["maintenance[0].end_utc", "'tomorrow'"]),
    (GRID + DATED.replace('"0"', '"9"') + "end_utc = 2023-07-16\n", ["maintenance[0].nodes", "0 to 3"]),
    (QUEUE + QUEUE.removeprefix(TWO), ["queues[1].name", "queue 'q' again"]),
    (QUEUE + 'groups = ["c"]\n', ["queues[0].groups", "unknown node group 'c'", "one of a, b"]),
    (QUEUE + 'hours = "prime"\n', ["queues[0].hours", "without prime time", "[prime]"]),
    (QUEUE + 'hours = "night"\n', ["queues[0].hours", "'night'", "any, prime, non-prime"]),
    (QUEUE + "max_job = { Cores = 5 }\n", ["queues[0].max_job", "'Cores'"]),
    (QUEUE + "max_job = { mic = 5 }\n", ["queues[0].max_job", "no node has 'mic'", "cores, gpu"]),
    (QUEUE + "stopped = [{ start_s = 5, end_s = 5 }]\n", ["queues[0].stopped[0]", "not after"]),
    (TWO + '[prime]\nstart = "8:00"\nend = "18:00"\n', ["prime.start", "'8:00'", "08:00"]),
    (TWO + '[prime]\nstart = "08:60"\nend = "18:00"\n', ["prime.start", "'08:60'"]),
    (TWO + '[prime]\nstart = "08:00"\nend = "08:00"\n', ["prime", "the same"]),
    (TWO + '[prime]\nstart = "08:00"\n', ["prime.end", "missing"]),
    (PRIME + 'days = ["monday"]\n', ["prime.days[0]", "'monday'", "mon, tue"]),
    (PRIME + 'timezone = "Rome"\n', ["prime.timezone", "'Rome'", "Europe/Rome"]),
    (FIRST + SECOND, ["reservations[1]", "16 cores of node 2 at 50 s by x, y", "8"]),
    (FIRST + FIRST.removeprefix(SITE), ["reservations[1].name", "'x' again"]),
    (FIRST + SECOND.replace('"s"', '"r"'), ["reservations[1].queue", "'r' again"]),
    (FIRST.replace('queue = "r"', 'queue = "t"'), ["reservations[0].queue", "unknown queue 't'", "[[queues]]"]),
    (FIRST.replace('queue = "r"', 'queue = "b"'), ["reservations[0].queue", "names groups"]),
    (FIRST.replace("1-2", "1-8"), ["reservations[0].nodes", "unknown node 8", "0 to 7"]),
    (FIRST.replace("1-2", "x"), ["reservations[0].nodes", "'x'", "0-3 7"]),
    (FIRST + "resources = { gpu = 1 }\n", ["reservations[0].resources", "1 gpu, but node 1 has 0"]),
    (FIRST + "resources = { mic = 1 }\n", ["reservations[0].resources", "no node has 'mic'"]),
    (FIRST + "resources = { cores = 0 }\n", ["reservations[0].resources", "nothing"]),
    (FIRST.replace("end_s = 100\n", "end_s = 0\n"), ["reservations[0]", "not after"]),
    (FIRST + 'repeat = "daily"\n', ["reservations[0].times", "both repeat"]),
    (FIRST + 'repeat = "yearly"\ntimes = 2\n', ["reservations[0].repeat", "hourly, daily, weekly"]),
    (
        FIRST.replace("end_s = 100\n", "end_s = 4000\n") + 'repeat = "hourly"\ntimes = 2\n',
        ["reservations[0].end_s", "longer"],
    ),
    (
        FIRST.replace("1-2", "7").replace("end_s = 100\n", "end_s = 1001\n"),
        ["reservations[0].nodes", "maintenance from 1000"],
    ),
    (FIRST + "users = []\n", ["reservations[0].users"]),
    ('cooling = "water"\n' + GRID, ["cooling: no file 'water'; expected air, hybrid or the file of a table"]),
    ('prices = "x.csv"\n' + GRID, ["prices: no file 'x.csv'; expected a number, or a file"]),
    ('cooling_rows = "all"\n' + GRID, ["cooling_rows: 'all'; expected one of nearest, interpolate"]),
    ("cooling_design_w = 0\n" + GRID, ["cooling_design_w"]),
    ('calendar_start = "monday"\n' + GRID, ["calendar_start: 'monday'; expected a moment of UTC such as 2023-07"]),
    (GRID + "[tariff]\nco2 = 3", ["tariff.co2: unknown key; expected one of demand_eur_per_kw"]),
    (GRID + "[income_by_queue]\na = -1", ["income_by_queue.a"]),
    (FULL.replace("12:00:00Z", "09:00:00Z") + NODES, ["tariff.limits[0]: end_utc is not after start_utc"]),
    (FULL.replace("most_kw = 50", "") + NODES, ["most_kw: missing key"]),
])  # fmt: skip
def test_a_mistake_is_one_line_with_file_key_and_expectation(load, text, parts):
    line = line_of(load, text)
    assert [part for part in ["p.toml", *parts] if part not in line] == [], line


def test_a_missing_file_and_too_many_groups_are_told(load, tmp_path, monkeypatch):
    assert "nix.toml: cannot be read (No such file" in line_of(load_platform, tmp_path / "nix.toml")
    monkeypatch.setattr("dardis.config.queue_fields.MAX_GROUPS", 62)
    queues = "".join(f'[[queues]]\nname = "w{i}"\n' for i in range(31))
    many = "".join(
        f'[[reservations]]\nname = "v{i}"\nqueue = "w{i}"\nnodes = "3-4"\nstart_s = {9 * i}\nend_s = {9 * i + 9}\n'
        for i in range(31)
    )
    assert "62, counted once per node group" in line_of(load, SITE + queues + many)


MACHINES = {
    "KTH-SP2-1996.swf.gz": ("kth-sp2", 100), "SDSC-BLUE-2000-4.2-cln.swf.gz": ("sdsc-blue", 1152),
    "HPC2N-2002-2.2-cln.swf.gz": ("hpc2n", 240), "MetaCentrum-Wagap-2013.swf.gz": ("wagap", 2176),
    "Philly-GPU-2017.csv.gz": ("philly", 2490), "NREL-RADDIT-2024.swf.gz": ("raddit", 2304),
    "Eurora-2014.csv.gz": ("eurora-2014", 1024), "CEA-Curie-2012-slice36k.swf.gz": ("curie-whole", 93312),
    "Alibaba-GPU-2023-openb_pod_list_default.csv.gz": ("alibaba-gpu-2023", 125_514),
}  # fmt: skip
"""Of each public trace its machine, and how many cores that has."""
SIZES = {
    "eurora": (64, 1024), "eurora-4": (4, 64), "eurora-65": (65, 1036), "curie-fat": (300, 9600),
    "curie-thin": (5040, 80640),
}  # fmt: skip


@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_a_shipped_platform_loads_and_says_where_it_is_from(path):
    platform = load_platform(path)
    assert platform.name == path.stem
    assert path.read_text().startswith("# ")
    size = (platform.node_count, platform.cores)
    assert SIZES.get(path.stem, size) == size
    if path.stem in {"eurora-4", "eurora-65"}:  # the longest waits of thesis 4.5
        waits = {queue.name: (queue.longest_wait_s, str(queue.hours)) for queue in platform.queues}
        assert waits == {"debug": (3600, "any"), "parallel": (18_000, "any"), "np_longpar": (86_400, "non-prime")}
        assert (platform.prime.start, platform.prime.end) == (8 * 3600, 18 * 3600)


@pytest.mark.parametrize("trace", MACHINES)
def test_a_trace_fits_its_machine(shared, trace):
    name, cores = MACHINES[trace]
    machine = load_platform(FOLDER / f"{name}.toml")
    assert machine.cores == cores
    jobs = read_trace(shared / "traces" / trace)
    assert jobs.procs.max() <= cores
    assert jobs.most_processors in {None, cores}


TABLE = "temp_c,1000,2000\n0,1.1,1.2\n10,1.3,1.4\n"


@pytest.mark.parametrize(("change", "message"), [
    (lambda t: t.replace("temp_c", "temperature"), "not a PUE table; expected columns temp_c,500,1000"),
    (lambda t: t.replace("1.3", "0.3"), "pue.csv:3: a PUE of 0.3; expected 1 to 10"),
    (lambda t: t.replace("1.3", "x"), "pue.csv:3: '10,x,1.4'; expected only numbers"),
    (lambda t: t.replace("1.3,", ""), "pue.csv:3: 2 numbers; expected 3"),
    (lambda t: t.replace("2000", "1000"), "must ascend"),
    (lambda t: t.replace("\n10,", "\n-10,"), "must ascend"),
    (lambda t: t.partition("\n")[0], "not a PUE table"),
    (lambda _: "temp_c\n0\n", "numbers"),
])  # fmt: skip
def test_a_damaged_pue_table_names_its_line(tmp_path, change, message):
    path = tmp_path / "pue.csv"
    path.write_text(change(TABLE))
    assert message in line_of(load_pue_table, path)
