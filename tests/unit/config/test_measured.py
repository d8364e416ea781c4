"""Measured power is read from every form that is described, and each mistake is one line with file and place."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.refused import line_of

from dardis.config.measured import read_measured

NAMES = ["n0", "n1", "n2"]
T = 1_682_899_200


def read(tmp_path, text):
    path = tmp_path / "w.csv"
    path.write_text(text)
    return read_measured(path, NAMES)


def rows(found):
    return sorted(zip(found.time.tolist(), found.node.tolist(), found.watts.tolist(), strict=True))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n", ":1: columns 'a,b' are of no known form; expected time,node,watts"),
        ("time,node,amps\n1,n0,2\n", ":1: no column of watts in 'time,node,amps'; expected watts, power_w"),
        (f"time,node,watts\n{T},n0,1\n{T},n7,2\n", ":3: no node 'n7'; expected a node of the platform such as n0, or"),
        (f"time,n0,x:9\n{T},1,2\n", ":1: no node 'x'; expected a node of the platform"),
        (f"time,n0,n1,n0:9\n{T},1,2,3\n", ":1: node 'n0:9' occurs twice; expected each node once"),
        (f"time,node,watts\n{T},n0,1\n\n{T + 1},n0,many\n", ":4: watts 'many'; expected a number"),
        (f"time,node,watts\n{T},n0,-5\n", ":2: watts '-5'; expected 0 to 1e+09"),
        (f"time,node,watts\n{T},n0,2e9 kW\n", ":2: watts '2e9 kW'; expected 0 to 1e+09"),
        (f"time,node,watts\n{T},n0\n", ":2: 2 fields; expected 3, as in the header"),
        ("time,node,watts\n-5,n0,1\n", ":2: time '-5'; expected Unix seconds"),
        ("time,node,watts\nnoon,n0,1\n", ":2: time 'noon'; expected Unix seconds, or a time such as"),
        (f"time,node,watts\n{T},n0,1\n{T},n1,1\n{T},n0,2\n", ":4: a second value for that node at 2023-05-01T00:00Z"),
        (f"time,node,watts\n{T},n0,0\n", ": no measured value; expected time,node,watts"),
        ("job,watts_per_node\nx,1\n", ":2: job 'x'; expected a job number"),
        ("job,watts_per_node\n1,1\n2,3\n1,1\n", ":4: job 1 again; expected each job once"),
    ],
)  # fmt: skip
def test_mistakes(tmp_path, text, message):
    assert line_of(read, tmp_path, text).startswith(f"{tmp_path / 'w.csv'}{message}")


@given(
    st.dictionaries(
        st.tuples(st.integers(0, 10**9), st.integers(0, 2)),
        st.floats(0.001, 1e6).map(lambda x: round(x, 3)),
        min_size=1,
    )
)
def test_long_and_wide_say_the_same(tmp_path_factory, values):
    folder = tmp_path_factory.mktemp("w")
    long = "time,node,watts\n" + "".join(f"{time},n{node},{watts}\n" for (time, node), watts in values.items())
    wide = "time,n0,n1,n2\n" + "".join(
        f"{time}," + ",".join(str(values.get((time, node), "")) for node in range(3)) + "\n"
        for time in dict.fromkeys(time for time, _ in values)
    )
    assert rows(read(folder, long)) == rows(read(folder, wide)) == sorted((*key, w) for key, w in values.items())
