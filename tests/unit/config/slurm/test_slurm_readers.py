"""Nodes and partitions of a Slurm site, from either form; what can't be is told with file and line."""

import pytest
from fuzz.sample_files import SLURM_CONF, SLURM_SHOWN

from dardis.config.slurm.read import read_slurm
from dardis.config.slurm.records import Gres, SlurmPartition
from dardis.model.errors import InputError

NODE = "NodeName={name} CPUTot=4 RealMemory=100 Sockets=1 CoresPerSocket=4 State=IDLE Partitions=batch\n"


@pytest.fixture
def read(tmp_path):
    """The site of a text."""

    def of(text):
        (tmp_path / "site").write_text(text)
        return read_slurm(tmp_path / "site")

    return of


def shown(*names):
    return "".join(NODE.format(name=name) for name in names)


def test_what_scontrol_shows(read):
    site = read(SLURM_SHOWN)
    first, second, third = site.nodes
    assert (first.name, first.line, first.cores, first.threads, first.memory) == ("n0001", 1, 64, 2, 192000)
    assert first.gres == ()
    assert first.state.words == ("IDLE", "DRAIN")
    assert first.state.closing == ("DRAIN",)
    assert first.partitions == ("batch", "debug")
    assert (second.gres, second.state.closing) == ((Gres("gpu", "a100", 4), Gres("nvme", "", 1 << 10)), ())
    assert third.state.words == ("DOWN", "NOT_RESPONDING")
    assert site.partitions == (SlurmPartition("batch"), SlurmPartition("debug"), SlurmPartition("gpu"))
    assert site.unused == ("AvailableFeatures", "Weight")


def test_records_over_several_lines_are_the_same(read):
    several = (
        SLURM_SHOWN.replace(" CPUAlloc", "\n   CPUAlloc").replace(" OS=", "\n   OS=").replace("\nNode", "\n\nNode")
    )
    site, expected = read(several), read(SLURM_SHOWN)
    assert [node.line for node in site.nodes] == [1, 5, 9]
    assert [node.name for node in site.nodes] == [node.name for node in expected.nodes]
    assert [node.state for node in site.nodes] == [node.state for node in expected.nodes]
    assert site.partitions == expected.partitions


def test_words_of_a_reason_are_no_keys(read):
    text = shown("n1").replace("\n", " Reason=State=DOWN Partitions=x CPUTot=none [root@2023-07-01T10:00:00]\n")
    assert read(text) == read(shown("n1"))


def test_a_site_without_any_partition(read):
    site = read(shown("n1", "n2").replace(" Partitions=batch", ""))
    assert site.partitions == ()
    assert [node.partitions for node in site.nodes] == [(), ()]


@pytest.mark.parametrize(
    ("words", "cores"),
    [
        ("CPUTot=64 Sockets=2 CoresPerSocket=16 ThreadsPerCore=2 Boards=1", 64),
        ("CPUTot=32 Sockets=2 CoresPerSocket=16 ThreadsPerCore=2", 32),
        ("CPUTot=64 CPUEfctv=60 Sockets=2 CoresPerSocket=16 ThreadsPerCore=2", 60),
        ("CPUs=24 Sockets=2 CoresPerSocket=16", 24),
        ("Sockets=2 CoresPerSocket=16 ThreadsPerCore=2 Boards=2", 64),
        ("SocketsPerBoard=2 CoresPerSocket=16 ThreadsPerCore=2 Boards=2", 128),
        ("CPUTot=64", 64),
        ("RealMemory=3", 1),
    ],
)
def test_cores_are_what_slurm_gives_to_jobs(read, words, cores):
    assert read(f"NodeName=n1 {words} State=IDLE\n").nodes[0].cores == cores


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("(null)", ()),
        ("gpu", (Gres("gpu", "", 1),)),
        ("gpu:3", (Gres("gpu", "", 3),)),
        ("gpu:a100", (Gres("gpu", "a100", 1),)),
        ("gpu:a100:2(S:0,3),gpu:3g.20gb:4(S:1)", (Gres("gpu", "a100", 2), Gres("gpu", "3g.20gb", 4))),
        ("Bandwidth-x:lustre:no_consume:4K,mic:2k", (Gres("mic", "", 2048),)),
        ("min-vram:no_consume:32G,9 lives:no_consume,gpu:v100:4", (Gres("gpu", "v100", 4),)),
        ("tmpfs:100G", (Gres("tmpfs", "", 100 << 30),)),
        ("tmpfs:3T", (Gres("tmpfs", "", 3 << 40),)),
        ("gpu:0", ()),
    ],
)
def test_generic_resources(read, text, found):
    assert read(f"NodeName=n1 CPUTot=4 Gres={text} State=IDLE\n").nodes[0].gres == found


@pytest.mark.parametrize(
    ("state", "out"),
    [
        ("MIXED", ()), ("ALLOCATED+CLOUD", ()), ("IDLE*", ("NOT_RESPONDING",)), ("IDLE~", ()), ("IDLE%", ()),
        ("IDLE+CLOUD+POWERED_DOWN", ()), ("DOWN+POWERED_DOWN", ("DOWN",)), ("RESERVED", ("RESERVED",)),
        ("IDLE+MAINTENANCE", ("MAINTENANCE",)),
        ("DOWN*+DRAIN", ("DOWN", "NOT_RESPONDING", "DRAIN")), ("FAILING", ("FAIL",)), ("IDLE+PLANNED", ()),
    ],
)  # fmt: skip
def test_states_in_which_nodes_take_no_jobs(read, state, out):
    assert read(shown("n1").replace("IDLE", state)).nodes[0].state.closing == out


def test_memory_that_nobody_has_stated(read):
    """Slurm then shows 1 MiB, in which no job would fit."""
    assert read(shown("n1", "n2").replace("=100", "=1", 1)).nodes[0].memory is None


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


def test_other_lines_of_a_slurm_conf_may_say_what_they_will(read):
    text = 'NodeName=n1\nEpilog=/bin/x -a b\nMailProg="a b" c\nSlurmdParameters=a,b # c=d\n\\\n'
    assert read(text).nodes[0].cores == 1


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("30", 1800), ("30:15", 1815), ("1:30:15", 5415), ("2-12", 216_000), ("2-12:30", 217_800),
        ("2-12:30:15", 217_815),
        ("UNLIMITED", None), ("infinite", None),
    ],
)  # fmt: skip
def test_limits_of_time(read, text, seconds):
    assert read(f"NodeName=n1\nPartitionName=p Nodes=n1 MaxTime={text}\n").partitions[0].max_time_s == seconds


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"site: is empty; expected what scontrol show node -o prints, or a slurm\.conf"),
        ("[[nodes]]\ncount = 3\n", r"site: neither form of a Slurm site; expected what scontrol"),
        ("PartitionName=p Nodes=\ninclude more.conf\n", r"site: no node \(it includes more\.conf, which is not read\)"),
        (shown("n1") + "CPUTot=4 RealMemory=100\n", r"site:2: no NodeName= at its beginning \(CPUTot=4"),
        (shown("n1", "n2", "n1"), r"site:3: node n1 again, after line 1; expected each node once"),
        (shown("n1", "n2").replace("CPUTot=4", "CPUTot=x", 1), "site:1: n1: CPUTot 'x'; expected a whole number"),
        (shown("n1").replace("CPUTot=4", "CPUTot=0"), "site:1: n1: CPUTot '0'; expected a whole number from 1"),
        (shown("n1").replace("CPUTot=4", "CPUTot=-4"), "CPUTot '-4'"),
        (shown("n1").replace("CPUTot=4", "CPUAlloc=0").replace("Sockets=1", "Sockets=1048577"), "Sockets '1048577'"),
        (shown("n1").replace("Sockets=1", "Sockets=1048576").replace("CPUTot=4", "CPUAlloc=0"), "4194304 CPUs"),
        (shown("n1").replace("=100", "=100G"), "site:1: n1: RealMemory '100G'; expected a whole number from 0"),
        (shown("n[1-2]"), r"site:1: 'n\[1-2\]' is no name of a node"),
        (shown("n1").replace("State", "Gres=gpu:a:b:4 State"), "Gres 'gpu:a:b:4'; expected name:type:count"),
        (shown("n1").replace("State", "Gres=cores:4 State"), "Gres 'cores:4'"),
        (shown("n1").replace("State", "Gres=bw:8191P,bw:1P State"), r"Gres 'bw:1P'; expected at most 922\d+"),
        (shown("n1").replace("batch", "ba\x07tch"), r"site: partition 'ba\\x07tch'"),
        ("NodeName=n[1-4\n", r"site:1: NodeName 'n\[1-4': a bracket without its other one; expected a host list"),
        ("NodeName=n[4-1]\n", "runs backwards; expected a host list"),
        ("NodeName=n[1-99999999]\n", "more than 65536 names"),
        ("NodeName=n[1-3]\n\nNodeName=n2 CPUs=3\n", "site:3: node n2 again, after line 1"),
        ("NodeName=n1 CPUs=three\n", "site:1: n1: CPUs 'three'"),
        ("NodeName=n1 Procs=0\n", "site:1: n1: Procs '0'"),
        ("NodeName=n1 4 cores\n", "site:1: '4 cores'; expected words Key=Value"),
        ("NodeName=n1 \\\n RealMemory=much\n", "site:1: n1: RealMemory 'much'"),
        ("NodeName=n1,ö2\n", "site:1: 'ö2' is no name of a node"),
        ("NodeName=n1\nPartitionName=p Nodes=n[1-2]\n", "site:2: partition p names n2, of which no NodeName"),
        ("NodeName=n1\nPartitionName=p Nodes=n[1-\n", r"site:2: partition p 'n\[1-': a bracket"),
        ("NodeName=n1\nNodeSet=s Nodes=n2\nPartitionName=p Nodes=s\n", "site:2: NodeSet s names n2"),
        ("NodeName=n1\nPartitionName=p Nodes=n1\nPartitionName=p\n", "site:3: partition p again"),
        ("NodeName=n1\nPartitionName=p Nodes=n1 MaxTime=soon\n", "site:2: MaxTime 'soon'; expected minutes"),
    ],
)  # fmt: skip
def test_what_can_not_be(read, text, message):
    with pytest.raises(InputError, match=message) as refused:
        read(text)
    assert len(str(refused.value).splitlines()) == 1


def test_no_such_file(tmp_path):
    with pytest.raises(InputError, match="none: cannot be read"):
        read_slurm(tmp_path / "none")
