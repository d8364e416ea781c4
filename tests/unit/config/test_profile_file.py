import gzip

import numpy as np
import pytest
from kit.error_lines import line_of

from dardis.config.target_file import read_profile
from dardis.model.errors import InputError
from dardis.model.platform import NodeGroup, Platform
from dardis.model.target import Split

PLATFORM = Platform("p", (NodeGroup("n", 4, {"cores": 16, "memory": 16384}),))
HEADER = "time_s,node,kind,value\n"


@pytest.fixture
def load(tmp_path):
    def load_text(text):
        path = tmp_path / "profile.csv"
        path.write_text(text)
        return read_profile(path, PLATFORM, Split.PROPORTIONAL).desired

    return load_text


def test_a_value_holds_until_the_next_row_and_capacity_holds_before(load):
    profile = load(HEADER + "100,*,cores,10\n\n50,*,cores,20\n7,2,memory,4GiB\n")
    assert profile.total(0).at(np.array([-1, 49, 50, 99, 100, 10**9])).tolist() == [64, 64, 20, 20, 10, 10]
    assert profile.of_node(2, 1).at(np.array([6, 7])).tolist() == [16384, 4096]
    assert profile.of_node(1, 1).at(np.array([6, 7])).tolist() == [16384, 16384]


def test_a_gzipped_profile_says_the_same(tmp_path):
    path = tmp_path / "profile.csv.gz"
    path.write_bytes(gzip.compress((HEADER + "5,*,cores,3\n").encode()))
    assert read_profile(path, PLATFORM, Split.PROPORTIONAL).desired.total(0).values.tolist() == [64, 3]
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(InputError, match="damaged or truncated gzip"):
        read_profile(path, PLATFORM, Split.PROPORTIONAL)


@pytest.mark.parametrize(("text", "message"), [
    ("", ":1: columns ''; expected time_s,node,kind,value"),
    ("time_s,node,kind\n", ":1: columns 'time_s,node,kind'"),
    (HEADER + "0,4,cores,3\n", ":2: node '4'; expected a number from 0 to 3"),
    (HEADER + "0,-1,cores,3\n", ":2: node '-1'"),
    (HEADER + "0,1,core,3\n", ":2: kind 'core'; expected one of cores, memory"),
    (HEADER + "0,1,cores,3\n1,1,cores,-3\n", ":3: value '-3'; expected a whole amount of 0 or more"),
    (HEADER + "0,1,cores,1.5\n", ":2: value '1.5'"),
    (HEADER + "noon,1,cores,3\n", ":2: time_s 'noon'"),
    (HEADER + "1,1,cores\n", ":2: 3 fields; expected 4"),
    (HEADER + "1,1,cores,3\n1,1,cores,4\n", ":3: a second value"),
])  # fmt: skip
def test_a_mistake_names_file_and_line(load, text, message):
    assert "profile.csv" + message in line_of(load, text)
