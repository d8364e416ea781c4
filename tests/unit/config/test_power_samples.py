"""Measured power is read from every form that is described, and each mistake is one line with file and place."""

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.error_lines import line_of

from dardis.config.power_samples import JobWatts, read_power_samples

T = 1_682_899_200
WANTED = [(T, 0, 100.0), (T, 1, 200.5), (T + 300, 0, 110.0)]

FORMS = {
    "long": f"time,node,watts\n{T},n0,100\n{T},n1,200.5\n{T + 300},n0,110\n",
    "other names, order and columns": (
        f"power_w,job,instance,timestamp\n100,ipmi,n0:9290,{T}.75\n200.5,ipmi,n1:9290,{T}\n110,ipmi,n0:9290,{T + 300}\n"
    ),
    "ISO": (
        "Time,Host,Value\n2023-05-01T00:00:00Z,n0,100\n2023-05-01T02:00:00.5+02:00,n1,200.5\n2023-05-01 00:05Z,n0,110\n"
    ),
    "milliseconds": f"Time;Series;Value\n{T}000;n0;100\n{T}500;n1;200.5\n{T + 300}000;n0;110\n",
    "Grafana's long form": (
        f'sep=;\n"Series";"Time";"Value"\n"n0";"{T}";"100"\n"n1";"{T}";"200.5"\n"n0";"{T + 300}";"110"\n'
    ),
    "wide": f"Time,n0,n1,n2\n{T},100,200.5,\n\n{T + 300},110,NaN,null\n",
    "wide, with labels and units": f'"Time","{{instance=""n0.site.org:9290"", job=""x""}}","w{{node=""n1""}}"\n'
    f'{T},"0.1 kW",200.5 W\n{T + 300},110 W,\n',
    "tabs": f"ts\tnodename\tpower\n{T}\tn0\t100\n{T}\tn1\t200.5\n{T + 300}\tn0\t110\n",
    "domains": f"time,node,watts\n{T},n0.cluster,100\n{T},n1.cluster:623,200.5\n{T + 300},n0,110\n",
}

NAMES = ["n0", "n1", "n2"]


def read(tmp_path, text):
    path = tmp_path / "w.csv"
    path.write_text(text)
    return read_power_samples(path, NAMES)


def rows(found):
    return sorted(zip(found.time.tolist(), found.node.tolist(), found.watts.tolist(), strict=True))


@pytest.mark.parametrize(("text", "message"), [
    ("a,b\n1,2\n", ":1: columns 'a,b' have an unknown format; expected time,node,watts"),
    ("time,node,amps\n1,n0,2\n", ":1: no column of watts in 'time,node,amps'; expected watts, power_w"),
    (f"time,node,watts\n{T},n0,1\n{T},n7,2\n", ":3: unknown node 'n7'; expected a platform node such as n0, or"),
    (f"time,n0,x:9\n{T},1,2\n", ":1: unknown node 'x'; expected a platform node"),
    (f"time,n0,n1,n0:9\n{T},1,2,3\n", ":1: node 'n0:9' occurs twice; expected each node once"),
    (f"time,node,watts\n{T},n0,1\n\n{T + 1},n0,many\n", ":4: watts 'many'; expected a number"),
    (f"time,node,watts\n{T},n0,-5\n", ":2: watts '-5'; expected 0 to 1e+09"),
    (f"time,node,watts\n{T},n0,2e9 kW\n", ":2: watts '2e9 kW'; expected 0 to 1e+09"),
    (f"time,node,watts\n{T},n0\n", ":2: 2 fields; expected 3, as in the header"),
    ("time,node,watts\n-5,n0,1\n", ":2: time '-5'; expected Unix seconds"),
    ("time,node,watts\nnoon,n0,1\n", ":2: time 'noon'; expected Unix seconds, or a time such as"),
    (f"time,node,watts\n{T},n0,1\n{T},n1,1\n{T},n0,2\n", ":4: a second value of the node at 2023-05-01T00:00Z"),
    (f"time,node,watts\n{T},n0,0\n", ": no measured values; expected time,node,watts"),
    ("job,watts_per_node\nx,1\n", ":2: job 'x'; expected a job number"),
    ("job,watts_per_node\n1,1\n2,3\n1,1\n", ":4: job 1 again; expected each job once"),
])  # fmt: skip
def test_power_sample_errors_are_one_line(tmp_path, text, message):
    assert line_of(read, tmp_path, text).startswith(f"{tmp_path / 'w.csv'}{message}")


@given(
    st.dictionaries(
        st.tuples(st.integers(0, 10**9), st.integers(0, 2)),
        st.floats(0.001, 1e6).map(lambda x: round(x, 3)),
        min_size=1,
    )
)
def test_long_and_wide_tables_are_equivalent(tmp_path_factory, values):
    folder = tmp_path_factory.mktemp("w")
    long = "time,node,watts\n" + "".join(f"{time},n{node},{watts}\n" for (time, node), watts in values.items())
    wide = "time,n0,n1,n2\n" + "".join(
        f"{time}," + ",".join(str(values.get((time, node), "")) for node in range(3)) + "\n"
        for time in dict.fromkeys(time for time, _ in values)
    )
    assert rows(read(folder, long)) == rows(read(folder, wide)) == sorted((*key, w) for key, w in values.items())


@pytest.mark.parametrize("text", FORMS.values(), ids=FORMS)
def test_node_samples_are_read(tmp_path, text):
    found = read(tmp_path, text)
    assert rows(found) == WANTED
    assert found.notes == ()


@pytest.mark.parametrize("head", ["job,submit_s,nodes,avg_power_per_node_w", "JobIDRaw,a,b,watts_per_node"])
def test_job_samples_are_read(tmp_path, head):
    path = tmp_path / "w.csv.gz"
    path.write_bytes(gzip.compress(f"{head}\n7,0,1,300.5\n3,0,1,0\n9,0,2,\n1,0,2,1e2\n".encode()))
    found = read_power_samples(path, NAMES)
    assert isinstance(found, JobWatts)
    assert found.number.tolist() == [7, 1]
    assert found.watts.tolist() == [300.5, 100.0]
    assert found.notes == ("1 jobs of 0 W count as not measured",)
