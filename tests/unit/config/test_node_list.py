"""A node list of Alibaba's becomes a platform file that reads back as the same machine."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.effort import examples

from dardis.cli.main import run as command
from dardis.config.node_list import read_node_list
from dardis.config.platform_file import load_platform
from dardis.config.platform_text import platform_text
from dardis.model.errors import InputError

HEADER = "sn,cpu_milli,memory_mib,gpu,model\n"
NODES = HEADER + "a,32000,1024,0,\nb,8999,512,2,T4\nc,32000,1024,0,\nd,16000,512,1,A10\ne,16000,512,4,T4\n"
PODS = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"
    "p,1500,100,1,500,A10|T4,LS,Running,0,100,5\nq,31001,1,0,0,,LS,Running,1,60,5\nr,8000,1,2,1000,T4,BE,Failed,2,9,5\n"
    "s,500,1,1,1000,A10,BE,Running,2,90,5\nt,500,1,1,1000,A10,BE,Pending,2,90,\n"
)


def listed(tmp_path: Path, text: str, name: str = "nodes.csv") -> Path:
    """A file with this text."""
    (tmp_path / name).write_text(text)
    return tmp_path / name


def test_equal_nodes_are_a_group_and_models_partitions(tmp_path: Path) -> None:
    platform = read_node_list(listed(tmp_path, NODES), ["", "A10|T4", "T4", "A10|T4"])
    assert platform.name == "nodes"
    assert [(group.prefix, group.count) for group in platform.groups] == [
        ("cpu-0-", 2), ("T4-1-", 1), ("A10-2-", 1), ("T4-3-", 1),
    ]  # fmt: skip
    assert platform.group_capacity.tolist() == [[32, 1024, 0], [8, 512, 2], [16, 512, 1], [16, 512, 4]]
    assert platform.partitions == {"T4": (1, 3), "A10": (2,), "A10|T4": (1, 2, 3)}


models = st.text(st.characters(exclude_categories=["Z", "C"], exclude_characters='|,"'), max_size=5)
kinds = st.tuples(st.integers(1000, 1000 << 20), st.integers(0, (1 << 31) - 1), st.integers(0, 16), models)


@given(st.lists(kinds, min_size=1, max_size=62), st.randoms(use_true_random=False))
@examples(0.5)
def test_platform_file_of_a_node_list_round_trips(tmp_path_factory, nodes, random):
    folder = tmp_path_factory.mktemp("nodes")
    lines = [f"n,{cpu},{memory},{gpus},{model}\n" for cpu, memory, gpus, model in nodes]
    path = listed(folder, HEADER + "".join(lines))
    known = [model for *_, model in nodes if model]
    asked = ["|".join(random.sample(known, min(len(known), random.randint(0, 3)))) for _ in range(4)]
    platform = read_node_list(path, asked)
    assert platform.node_count == len(nodes)
    assert platform.cores == sum(cpu // 1000 for cpu, *_ in nodes)
    text = platform_text(platform)
    assert load_platform(listed(folder, text, "p.toml")) == platform
    for spec in filter(None, asked):
        held = [platform.groups[group].prefix.rsplit("-", 2)[0] for group in platform.partitions[spec]]
        assert {*held} == {*spec.split("|")}


@pytest.mark.parametrize(("text", "asked", "message"), [
    (NODES.replace("sn,cpu_milli", "sn,cores"), [], r"nodes\.csv:1: no column cpu_milli; expected columns cpu"),
    (HEADER, [], r"nodes\.csv: 0 kinds of node; expected 1 to 16384"),
    (NODES.replace("8999", "999"), [], r"nodes\.csv:3: not a node \('999' is out of range\)"),
    (NODES.replace("8999,512", "8999"), [], r"nodes\.csv:3: not a node \(4 fields instead of 5\)"),
    (NODES.replace("A10", "A 10"), [], r"nodes\.csv:5: not a node \(model 'A 10' with blanks\)"),
    (NODES, ["V100"], r"nodes\.csv: jobs request the unknown GPU model 'V100'; expected one of T4, A10"),
])  # fmt: skip
def test_mistakes_in_a_node_list(text, asked, message, tmp_path):
    with pytest.raises(InputError, match=message):
        read_node_list(listed(tmp_path, text), asked)


def convert(folder: Path, *more: str) -> int:
    """What the command answers, with all in `folder`."""
    pods, nodes = listed(folder, PODS, "pods.csv"), listed(folder, NODES)
    made = ("--nodes", str(nodes), "--platform-out", str(folder / "p.toml"))
    return command(["trace", "convert", str(pods), str(folder / "jobs.csv"), *(more or made)])


def test_pods_play_on_their_machine_and_are_audited(tmp_path):
    assert convert(tmp_path) == 0
    more = ("--nodes", str(tmp_path / "nodes.csv"), "--platform-out", str(tmp_path / "q.toml"))
    assert command(["trace", "convert", str(tmp_path / "jobs.csv"), str(tmp_path / "again.csv"), *more]) == 0
    assert (tmp_path / "q.toml").read_text() == (tmp_path / "p.toml").read_text(), "a job table of them has the same"
    said = ["simulate", str(tmp_path / "jobs.csv"), "--platform", str(tmp_path / "p.toml"), "--dispatcher", "easy"]
    assert command([*said, "--out", str(tmp_path / "out"), "--no-report"]) == 0
    assert command(["audit", str(tmp_path / "out")]) == 0
    rows = (tmp_path / "out" / "jobs.csv").read_text().splitlines()
    place = rows[0].split(",").index("units_by_node")
    nodes = [int(row.split(",")[place].split(":")[0]) for row in rows[1:]]
    assert all(node in allowed for node, allowed in zip(nodes, ({2, 3, 4}, {0, 1}, {2, 4}, {3}), strict=True))


@pytest.mark.parametrize(("more", "message"), [
    (("--nodes", "n.csv"), "--nodes, --platform-out: one without the other; expected both or neither"),
    (("--nodes", "nodes.csv", "--platform-out", "p.csv"), "p.csv: no name of a platform file"),
    (("--nodes", "nodes.csv", "--platform-out", "no/p.toml"), "no/p.toml: its folder does not exist"),
    (("--nodes", "nodes.csv", "--platform-out", "kept.toml"), "kept.toml: exists"),
    (("--nodes", "pods.csv", "--platform-out", "p.toml"), "pods.csv:1: no column gpu, model"),
])  # fmt: skip
def test_command_errors_write_nothing(more, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kept.toml").write_text("kept")
    assert convert(tmp_path, *more) == 2
    error = capsys.readouterr().err
    assert message in error
    assert len(error.splitlines()) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kept.toml", "nodes.csv", "pods.csv"]
    assert (tmp_path / "kept.toml").read_text() == "kept"


def test_the_published_lists_play_together(shared, tmp_path):
    traces = shared / "traces"
    pods, nodes = (
        traces / f"Alibaba-GPU-2023-openb_{name}.csv.gz" for name in ("pod_list_default", "node_list_all_node")
    )
    jobs, platform, out = (str(tmp_path / name) for name in ("jobs.csv.gz", "p.toml", "out"))
    asked = ("--jobs", "2000", "--nodes", str(nodes), "--platform-out", platform)
    assert command(["trace", "convert", str(pods), jobs, *asked]) == 0
    machine = load_platform(Path(platform))
    assert (machine.node_count, len(machine.groups)) == (1523, 27)
    assert [*machine.partitions] == ["P100", "G3", "V100M32", "V100M16", "G2", "T4", "A10"]
    said = ["simulate", jobs, "--platform", platform, "--dispatcher", "easy", "--out", out, "--no-report"]
    assert command(said) == 0
    assert command(["audit", out]) == 0
