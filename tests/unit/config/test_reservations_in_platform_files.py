"""Reservations in platform files: what is read, mistakes with their places, and what comes back from a record."""

import json

import pytest

from dardis.config.platform import load_platform
from dardis.config.records import MachineRecord
from dardis.config.toml_file import read_json
from dardis.model.errors import InputError
from dardis.model.platform_dict import platform_to_dict
from dardis.model.reservations import Reservation

HEAD = """name = "p"
[[nodes]]
count = 4
prefix = "a"
resources = { cores = 8 }
[[nodes]]
count = 4
prefix = "b"
resources = { cores = 8, gpu = 2 }
[[maintenance]]
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
FIRST = '[[reservations]]\nname = "x"\nqueue = "r"\nnodes = "1-2"\nstart_s = 0\nend_s = 100\n'
SECOND = '[[reservations]]\nname = "y"\nqueue = "s"\nnodes = [2, 3]\nstart_s = 50\nend_s = 60\n'
HALF = "resources = { cores = 4 }\n"


def load(path, text):
    file = path / "p.toml"
    file.write_text(HEAD + text)
    return load_platform(file)


def test_all_keys(tmp_path):
    more = 'users = ["ann", "bob"]\nrepeat = "daily"\ntimes = 3\n'
    text = FIRST + HALF + more + SECOND.replace("start_s = 50", "start_s = 0").replace("60", "3600") + HALF
    platform = load(tmp_path, text + 'repeat = "hourly"\ntimes = 2\n')
    day = 86_400
    spans = ((0, 100), (day, day + 100), (2 * day, 2 * day + 100))
    assert platform.reservations == (
        Reservation("x", "r", (1, 2), spans, {"cores": 4}, ("ann", "bob")),
        Reservation("y", "s", (2, 3), ((0, 7200),), {"cores": 4}),  # one ends when the next begins
    )


def test_a_list_of_nobody(tmp_path):
    with pytest.raises(InputError, match=r"reservations\[0\].users: \[\]; expected at least 1$"):
        load(tmp_path, FIRST + "users = []\n")


def test_what_comes_back_from_a_record(tmp_path):
    platform = load(tmp_path, FIRST + HALF + 'users = ["ann"]\n' + SECOND + HALF)
    file = tmp_path / "r.json"
    file.write_text(json.dumps({"platform": platform_to_dict(platform)}))
    assert read_json(file, MachineRecord).machine(file) == platform


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (FIRST + SECOND, ["reservations[1]", "16 cores of node 2 at 50 s by x, y", "8"]),
        (FIRST + HALF + SECOND, ["reservations[1]", "12 cores of node 2 at 50 s by x, y", "8"]),
        (FIRST + FIRST, ["reservations[1].name", "'x' again"]),
        (FIRST + SECOND.replace('"s"', '"r"'), ["reservations[1].queue", "'r' again"]),
        (FIRST.replace('"r"', '"t"'), ["reservations[0].queue", "no queue 't'", "[[queues]]"]),
        (FIRST.replace('"r"', '"b"'), ["reservations[0].queue", "names groups"]),
        (FIRST.replace("1-2", "1-8"), ["reservations[0].nodes", "no node 8", "0 to 7"]),
        (FIRST.replace("1-2", "x"), ["reservations[0].nodes", "'x'", "0-3 7"]),
        (FIRST + "resources = { gpu = 1 }\n", ["reservations[0].resources", "1 gpu, and node 1 has 0"]),
        (FIRST + "resources = { mic = 1 }\n", ["reservations[0].resources", "no node has 'mic'"]),
        (FIRST + "resources = { cores = 0 }\n", ["reservations[0].resources", "nothing"]),
        (FIRST.replace("100", "0"), ["reservations[0]", "not after"]),
        (FIRST + 'repeat = "daily"\n', ["reservations[0].times", "both repeat"]),
        (FIRST + "times = 3\n", ["reservations[0].times", "both repeat"]),
        (FIRST + 'repeat = "yearly"\ntimes = 2\n', ["reservations[0].repeat", "hourly, daily, weekly"]),
        (FIRST.replace("100", "4000") + 'repeat = "hourly"\ntimes = 2\n', ["reservations[0].end_s", "longer"]),
        (FIRST.replace("1-2", "7").replace("100", "1001"), ["reservations[0].nodes", "maintenance from 1000"]),
        (FIRST + "users = []\n", ["reservations[0].users"]),
        (FIRST + "user = 5\n", ["reservations[0].user", "unknown key"]),
    ],
)
def test_mistakes(tmp_path, text, said):
    with pytest.raises(InputError) as mistake:
        load(tmp_path, text)
    line = str(mistake.value)
    assert "\n" not in line
    assert all(part in line for part in ["p.toml", *said]), line


def test_too_many_groups(tmp_path, monkeypatch):
    monkeypatch.setattr("dardis.config.reservations.MAX_GROUPS", 62)
    queues = "".join(f'[[queues]]\nname = "w{i}"\n' for i in range(31))
    many = "".join(
        f'[[reservations]]\nname = "v{i}"\nqueue = "w{i}"\nnodes = "3-4"\nstart_s = {9 * i}\nend_s = {9 * i + 9}\n'
        for i in range(31)
    )
    with pytest.raises(InputError, match=r"62, counted by the node groups.*at most 60"):
        load(tmp_path, queues + many)
