"""Nodes and partitions of Slurm's JSON."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from kit.error_lines import line_of
from kit.slurm_json import INFINITE, VERSIONS, document, node, partition, sinfo_line

from dardis.config.node_states import read_node_states
from dardis.config.slurm.slurm_fields import Gres, SlurmPartition, SlurmSite
from dardis.config.slurm.slurm_platform import platform_of
from dardis.config.slurm.slurm_reader import parse_slurm
from dardis.model.platform import NodeGroup, Platform

Read = Callable[[str], SlurmSite]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    def of(text: str) -> SlurmSite:
        return parse_slurm(tmp_path / "site", text)

    return of


@pytest.mark.parametrize("version", VERSIONS)
def test_nodes_and_partitions_of_every_version(read: Read, version: int) -> None:
    nodes = [node("n1", ["IDLE", "DRAIN"], version), node("n2", ["MIXED"], version, gres="gpu:a100:4(S:0-1)")]
    limits = [partition("batch", version, minutes=90, nodes=2), partition("shut", version, state="DOWN")]
    site = read(document("nodes", nodes, version) + "\n" + document("partitions", limits, version))
    assert [(one.name, one.cores, one.threads, one.memory) for one in site.nodes] == [
        ("n1", 64, 2, 192_000), ("n2", 64, 2, 192_000),
    ]  # fmt: skip
    assert [one.state.words for one in site.nodes] == [("IDLE", "DRAIN"), ("MIXED",)]
    assert site.nodes[1].gres == (Gres("gpu", "a100", 4),)
    assert site.partitions == (
        SlurmPartition("batch", False, 5400, 2), SlurmPartition("shut", False, None, None, is_open=False),
    )  # fmt: skip
    assert site.unused == ()


def test_json_gives_the_platform_of_the_text(read: Read, tmp_path: Path) -> None:
    text = "".join(
        f"NodeName=n{n} CPUAlloc=0 CPUTot=64 ThreadsPerCore=2 RealMemory=192000 State=IDLE Partitions=batch\n"
        for n in (1, 2)
    )
    json_text = document("nodes", [node("n1", ["IDLE"], 43), node("n2", ["IDLE"], 43)], 43)
    assert platform_of(tmp_path / "site", read(json_text)).text == platform_of(tmp_path / "site", read(text)).text


def test_nodes_of_sinfo_have_all_their_partitions(read: Read) -> None:
    lines = [
        sinfo_line(["n1", "n2"], ["IDLE"], "batch"),
        sinfo_line(["n2"], ["IDLE"], "gpu"),
        sinfo_line(["n3"], ["DOWN"], "gpu"),
    ]
    site = read(document("sinfo", lines, 41))
    assert {one.name: one.partitions for one in site.nodes} == {
        "n1": ("batch",), "n2": ("batch", "gpu"), "n3": ("gpu",),
    }  # fmt: skip
    assert {(one.cores, one.memory, one.gres[0].amount) for one in site.nodes} == {(64, 192_000, 4)}


@pytest.mark.parametrize("form", ["nodes", "sinfo"])
def test_states_of_nodes_are_read_from_json(tmp_path: Path, form: str) -> None:
    words = (["MIXED"], ["DOWN", "POWERED_DOWN"], ["IDLE", "DRAIN"], ["INVALID"])
    records = [
        node(f"n{n}", one, 43) if form == "nodes" else sinfo_line([f"n{n}"], one, "batch")
        for n, one in enumerate(words)
    ]
    (tmp_path / "s").write_text(document(form, records, 43))
    names = ("n0", "n1", "n2", "n3")
    states = read_node_states(tmp_path / "s", Platform("grid", (NodeGroup("n", 4, {"cores": 64}),)), names)
    assert states.busy.tolist() == [True, False, False, False]
    assert states.off.tolist() == [False, True, False, False]
    assert states.closed.tolist() == [False, True, True, True]
    assert states.notes == ()


def test_properties_without_effect_are_named(read: Read) -> None:
    odd = node("n1", ["IDLE"], 43, features=["ib"], weight=10, owner="ann")
    assert read(document("nodes", [odd], 43)).unused == ("AvailableFeatures", "Weight", "Owner")


def test_unlimited_partition_has_no_limit(read: Read) -> None:
    documents = document("nodes", [node("n1", ["IDLE"], 43)], 43) + document("partitions", [partition("batch", 43)], 43)
    assert read(documents).partitions == (SlurmPartition("batch"),)
    assert partition("batch", 43)["maximums"]["time"]["infinite"] is (INFINITE == -1)


@pytest.mark.parametrize(("text", "told"), [
    (document("nodes", [node("n1", ["IDLE"], 43)] * 2, 43), "node n1 again, after line "),
    (document("nodes", [], 43), "no nodes"),
    (document("nodes", [node("n1", [], 43)], 43), "a node's record without state; expected complete records"),
    (document("nodes", [node("", ["IDLE"], 43)], 43), "'' is not the name of a node"),
    (document("nodes", [node("n1", ["IDLE"], 43, effective_cpus="many", cpus=4)], 43), "CPUEfctv 'many'"),
    (document("nodes", [node("n1", ["IDLE"], 43, real_memory=[4])], 43), "[4] is not a number"),
    (document("nodes", [node("n1", ["IDLE"], 43)], 43)[:-4], "is not JSON ("),
    (
        document("sinfo", [sinfo_line(["n1"], ["IDLE"], "a", cpus=(4, 8))], 43),
        "nodes with cpus from 4 to 8; expected equal",
    ),
    (document("sinfo", [sinfo_line(["n1"], [], "a")], 43), "nodes without state"),
    (document("partitions", [partition("a", 43)] * 2, 43), "partition a again"),
])  # fmt: skip
def test_odd_json_is_one_line(read: Read, text: str, told: str) -> None:
    assert told in line_of(read, text)
