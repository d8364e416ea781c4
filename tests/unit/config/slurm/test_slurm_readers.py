"""Nodes and partitions of a Slurm site, from either form; what can't be is told with file and line."""

import re

import pytest
from fuzz.sample_files import SLURM_CONF
from kit.error_lines import line_of

from dardis.config.slurm.slurm_fields import Gres, SlurmPartition
from dardis.config.slurm.slurm_reader import parse_slurm

NODE = "NodeName={name} CPUTot=4 RealMemory=100 Sockets=1 CoresPerSocket=4 State=IDLE Partitions=batch\n"


@pytest.fixture
def read(tmp_path):
    """The site of a text."""

    def of(text):
        return parse_slurm(tmp_path / "site", text)

    return of


def node_texts(*names):
    return "".join(NODE.format(name=name) for name in names)


@pytest.mark.parametrize(("text", "found"), [
    ("(null)", ()), ("gpu", (Gres("gpu", "", 1),)),
    ("gpu:a100:2(S:0,3),gpu:3g.20gb:4(S:1)", (Gres("gpu", "a100", 2), Gres("gpu", "3g.20gb", 4))),
    ("Bandwidth-x:lustre:no_consume:4K,mic:2k", (Gres("mic", "", 2048),)),
    ("min-vram:no_consume:32G,9 lives:no_consume,gpu:v100:4", (Gres("gpu", "v100", 4),)),
    ("tmpfs:3T", (Gres("tmpfs", "", 3 << 40),)), ("gpu:0", ()),
])  # fmt: skip
def test_generic_resources(read, text, found):
    assert read(f"NodeName=n1 CPUTot=4 Gres={text} State=IDLE\n").nodes[0].gres == found


def test_a_slurm_conf(read):
    site = read(SLURM_CONF)
    assert [node.name for node in site.nodes] == ["n0001", "n0002", "n0003", "n0007", "g1", "g2", "login"]
    assert [node.line for node in site.nodes] == [4, 4, 4, 4, 6, 6, 8]
    assert [node.cores for node in site.nodes] == [64, 64, 64, 64, 128, 128, 4]
    assert [node.memory for node in site.nodes] == [192000] * 4 + [512000] * 2 + [192000]
    assert site.nodes[4].gres == (Gres("gpu", "a100", 4),)
    assert site.nodes[0].partitions == ("batch", "all")
    assert site.nodes[4].partitions == ("gpu", "all")
    assert site.nodes[6].partitions == ("all",)
    assert site.partitions == (
        SlurmPartition("batch", True, 86_400), SlurmPartition("gpu", False, 172_800),
        SlurmPartition("all", False, 86_400),
    )  # fmt: skip
    assert site.cluster == "grid"
    assert site.included == ("/etc/slurm/more.conf",)
    assert set(site.unused) == {"Weight", "Default", "Feature", "Licenses"}


def test_node_sets_stand_for_their_nodes(read):
    text = "NodeName=n[1-4] Feature=fast,ib\nNodeName=g[1-2]\nNodeSet=a Nodes=n1,g[1-2]\nNodeSet=b Feature=ib\n"
    site = read(text + "PartitionName=p Nodes=a\nPartitionName=q Nodes=b,g1\nPartitionName=all Nodes=all\n")
    assert [node.partitions for node in site.nodes] == [
        ("p", "q", "all"), ("q", "all"), ("q", "all"), ("q", "all"), ("p", "q", "all"), ("p", "all"),
    ]  # fmt: skip


@pytest.mark.parametrize(("text", "seconds"), [
    ("30", 1800), ("30:15", 1815), ("1:30:15", 5415), ("2-12", 216_000), ("2-12:30", 217_800),
    ("2-12:30:15", 217_815),
    ("UNLIMITED", None), ("infinite", None),
])  # fmt: skip
def test_limits_of_time(read, text, seconds):
    assert read(f"NodeName=n1\nPartitionName=p Nodes=n1 MaxTime={text}\n").partitions[0].max_time_s == seconds


@pytest.mark.parametrize(("text", "message"), [
    ("", r"site: is empty; expected the output of scontrol show node -o, or a slurm\.conf"),
    ("[[nodes]]\ncount = 3\n", r"site: not a known Slurm format; expected the output of scontrol"),
    ("PartitionName=p Nodes=\ninclude more.conf\n", r"site: no nodes \(it includes more\.conf, which"),
    (node_texts("n1") + "CPUTot=4 RealMemory=100\n", r"site:2: no NodeName= at the start \(CPUTot=4"),
    (node_texts("n1", "n2", "n1"), r"site:3: node n1 again, after line 1; expected each node once"),
    (node_texts("n1", "n2").replace("CPUTot=4", "CPUTot=x", 1), "site:1: n1: CPUTot 'x'; expected a whole number"),
    (node_texts("n1").replace("Sockets=1", "Sockets=1048576").replace("CPUTot=4", "CPUAlloc=0"), "4194304 CPUs"),
    (node_texts("n[1-2]"), r"site:1: 'n\[1-2\]' is not the name of a node"),
    (node_texts("n1").replace("State", "Gres=gpu:a:b:4 State"), "Gres 'gpu:a:b:4'; expected name:type:count"),
    (node_texts("n1").replace("State", "Gres=bw:8191P,bw:1P State"), r"Gres 'bw:1P'; expected at most 922\d+"),
    (node_texts("n1").replace("batch", "ba\x07tch"), r"site: partition 'ba\\x07tch'"),
    ("NodeName=n[4-1]\n", "is a descending range; expected a host list"),
    ("NodeName=n[1-99999999]\n", "more than 65536 names"),
    ("NodeName=n1 \\\n CPUs=many \\\n", "site:1: n1: CPUs 'many'"),
    ("NodeName=n[1-4\n", r"site:1: NodeName 'n\[1-4': an unmatched bracket; expected a host list"),
    ("NodeName=n[1-3]\n\nNodeName=n2 CPUs=3\n", "site:3: node n2 again, after line 1"),
    ("NodeName=n1 4 cores\n", "site:1: '4 cores'; expected words Key=Value"),
    ("NodeName=n1 \\\n RealMemory=much\n", "site:1: n1: RealMemory 'much'"),
    ("NodeName=n1\nPartitionName=p Nodes=n[1-2]\n", "site:2: partition p names n2, which has no NodeName"),
    ("NodeName=n1\nNodeSet=s Nodes=n2\nPartitionName=p Nodes=s\n", "site:2: NodeSet s names n2"),
    ("NodeName=n1\nPartitionName=p Nodes=n1\nPartitionName=p\n", "site:3: partition p again"),
    ("NodeName=n1\nPartitionName=p Nodes=n1 MaxTime=soon\n", "site:2: MaxTime 'soon'; expected minutes"),
])  # fmt: skip
def test_invalid_slurm_values_are_refused(read, text, message):
    assert re.search(message, line_of(read, text))
