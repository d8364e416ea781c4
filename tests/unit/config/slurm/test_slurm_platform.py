"""A Slurm site as a platform: groups of nodes alike, names that lead back to Slurm's, a file that loads as the same."""

import tomllib

import pytest
from fuzz.sample_files import SLURM_SHOWN
from hypothesis import given
from hypothesis import strategies as st
from kit.effort import examples
from kit.error_lines import line_of

from dardis.config.platform_file import load_platform
from dardis.config.slurm.slurm_platform import platform_of
from dardis.config.slurm.slurm_reader import parse_slurm
from dardis.model.hostlist import names_of


def imported(folder, text, name="site.txt"):
    """The site of a text; what is written loads as the same, and does so each time."""
    path = folder / name
    path.write_text(text)
    made = platform_of(path, parse_slurm(path, text))
    assert platform_of(path, parse_slurm(path, text)).text == made.text
    (folder / "p.toml").write_text(made.text)
    assert load_platform(folder / "p.toml") == made.platform
    return made


def node(name, cores=4, memory=100, gres="(null)", partitions="batch", state="IDLE"):
    return (
        f"NodeName={name} CPUTot={cores} RealMemory={memory} Gres={gres} State={state}"
        f"{' Partitions=' + partitions if partitions else ''}\n"
    )


def groups(made):
    return [(group.prefix, group.count, group.resources) for group in made.platform.groups]


PARTITION = (
    "PartitionName={name}\n   AllowGroups=ALL Default={default}\n   MaxNodes={nodes} MaxTime={time}\n   State={state}\n"
)


def test_limits_that_scontrol_shows_of_partitions(tmp_path):
    made = imported(
        tmp_path,
        node("n1", partitions="batch,old,free")
        + PARTITION.format(name="batch", default="YES", nodes=16, time="1-12:00:00", state="UP")
        + PARTITION.format(name="old", default="NO", nodes="UNLIMITED", time="INFINITE", state="DOWN")
        + PARTITION.format(name="free", default="NO", nodes="NONE", time="NONE", state="UP"),
    )
    queues = made.text[made.text.index("# MaxTime and MaxNodes") :].splitlines()[1:]
    assert tomllib.loads("\n".join(line.removeprefix("# ") for line in queues)) == {
        "queues": [{"name": "batch", "max_walltime_s": 129_600, "max_units": 16}, {"name": "old"}, {"name": "free"}]
    }
    assert "# Slurm's default" in made.text
    assert "partitions that start no jobs now, but are in the file: old" in made.notes


def test_nodes_alike_are_a_group(tmp_path):
    made = imported(
        tmp_path,
        node("n03") + node("n01") + node("g1", gres="gpu:a100:2") + node("n02") + node("n04", partitions="debug,batch")
        + node("g2", gres="gpu:v100:2(S:0)") + node("n05", partitions="batch,debug") + node("n06", memory=200)
        + node("n07", cores=8),
    )  # fmt: skip
    thin = {"cores": 4, "memory": 100}
    a100, v100 = thin | {"gpu": 2, "gpu_a100": 2}, thin | {"gpu": 2, "gpu_v100": 2}
    assert groups(made) == [
        ("n-0-", 3, thin), ("g-1-", 1, a100), ("n-2-", 2, thin), ("g-3-", 1, v100),
        ("n-4-", 1, {"cores": 4, "memory": 200}), ("n-5-", 1, {"cores": 8, "memory": 100}),
    ]  # fmt: skip
    assert made.platform.partitions == {"batch": (0, 1, 2, 3, 4, 5), "debug": (2,)}
    assert made.platform.name == "site"
    assert "# n-0-0 to n-0-2: Slurm's n[03,01-02], in this order\n[[nodes]]" in made.text
    assert "# g-1-0: Slurm's g1, in this order\n# each with 2 gpu of type a100\n[[nodes]]" in made.text
    assert "scontrol show hostnames 'n[03,01-02],g1,n[04-05],g2,n[06-07]' > names" in made.text
    assert not any("types of Gres" in note for note in made.notes)
    assert "gpu = { idle_w = ?, busy_w = ? } }" in made.text
    assert "gpu_a100 = {" not in made.text
    one = imported(tmp_path, node("g1", gres="gpu:a100:2"))
    assert groups(one)[0][2] == thin | {"gpu": 2}
    assert "not used: types of Gres (a100)" in one.notes


@pytest.mark.parametrize(("names", "prefixes"), [
    (["a0", "a1", "a2"], ["a"]), (["a00", "a01"], ["a0"]), (["a1", "a0"], ["a-0-"]),
    (["a0", "+a1", "+b0", "b1"], ["node-0-", "node-1-"]), (["a0", "a1", "+a10"], ["a-0-", "a-1-"]),
    (["r1-n01", "+0"], ["r1-n-0-", "node-1-"]),
])  # fmt: skip
def test_group_names_are_prefixes_of_node_names(tmp_path, names, prefixes):
    made = imported(tmp_path, "".join(node(name.lstrip("+"), 8 if "+" in name else 4) for name in names))
    assert [prefix for prefix, *_ in groups(made)] == prefixes


listed = st.lists(
    st.tuples(
        st.from_regex(r"[a-c]?[0-9]{1,2}|[ab]-0-0|login", fullmatch=True), st.integers(1, 3),
        st.sampled_from(["x", "y", "x,y"]),
    ),
    min_size=1, max_size=30, unique_by=lambda one: one[0],
)  # fmt: skip


@given(listed)
@examples(0.5)
def test_every_node_is_found_by_name_and_place(tmp_path_factory, found):
    made = imported(
        tmp_path_factory.mktemp("site"), "".join(node(name, cores, partitions=held) for name, cores, held in found)
    )
    platform = made.platform
    names = names_of(made.text.split("'", 2)[1])
    assert sorted(names) == sorted(name for name, *_ in found)
    for name, cores, held in found:
        place = names.index(name)
        assert platform.capacity[place].tolist() == [cores, 100]
        group = platform.group_of_node[place]
        assert {part for part, members in platform.partitions.items() if group in members} == set(held.split(","))
    assert len({platform.node_name(place) for place in range(len(found))}) == len(found)


@pytest.mark.parametrize(("text", "groups_of", "said"), [
    ("NodeName=n0\nPartitionName=all Nodes=ALL\nPartitionName=later\n", [1], "without nodes are left out: later"),
    (
        node("n1") + node("x1", partitions="") + node("x2", partitions=""),
        [1],
        "in no partition are left out: x[1-2]",
    ),
    (
        node("n1", gres="tmpfs:100G"),
        [1],
        "Gres tmpfs is left out: a node has 107374182400, and a platform holds at",
    ),
    (node("n1", state="IDLE+MELTED") + node("n2"), [2], "1 of 2 nodes take no jobs now"),
    (node("n1", state="IDLE+MELTED") + node("n2"), [2], "MELTED 1 (n1)"),
    (SLURM_SHOWN, [1, 1, 1], "3 of 3 nodes have several hardware threads per core: a core here is a CPU of Slurm"),
    (SLURM_SHOWN, [1, 1, 1], "DRAIN 1 (n0001); DOWN+NOT_RESPONDING 1 (n0002)"),
    (SLURM_SHOWN, [1, 1, 1], "not used: AvailableFeatures, Weight, types of Gres (a100)"),
])  # fmt: skip
def test_ignored_fields_are_reported(tmp_path, text, groups_of, said):
    made = imported(tmp_path, text)
    assert [group.count for group in made.platform.groups] == groups_of
    assert any(said in note for note in made.notes), made.notes


@pytest.mark.parametrize(("text", "said"), [
    (node("n1") + "PartitionName=a MaxTime=soon\n", "MaxTime 'soon'"),
    (node("n1") + "PartitionName=a MaxNodes=-7\n", "MaxNodes '-7'"),
    (node("n1") + "PartitionName=a\nPartitionName=a\n", "partition a again"),
    ("NodeName=n1 CPUs=4\nPartitionName=p\n", "site.txt: no node is in a partition; expected at least one"),
    ("".join(node(f"n{n}", memory=n) for n in range(63)), "site.txt: 63 kinds of node; expected at most 62"),
])  # fmt: skip
def test_invalid_slurm_site_is_one_line(tmp_path, monkeypatch, text, said):
    monkeypatch.setattr("dardis.config.slurm.slurm_platform.MAX_GROUPS", 62)
    assert said in line_of(imported, tmp_path, text)
