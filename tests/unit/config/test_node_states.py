"""How nodes stand, as Slurm or a table says it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from kit.error_lines import line_of

from dardis.config.node_fields import node_names
from dardis.config.node_states import NodeStates, read_node_states
from dardis.model.platform import NodeGroup, Platform

PLATFORM = Platform("grid", (NodeGroup("n", 4, {"cores": 32}), NodeGroup("g", 1, {"cores": 64})))
NAMES = ("cn01", "cn02", "cn03", "cn04", "gpu1")


def node_of(name: str, state: str, cpus: int = 32) -> str:
    """A node as scontrol prints it."""
    return (
        f"NodeName={name} CoresPerSocket=8 CPUAlloc=0 CPUTot={cpus} Gres=(null) RealMemory=1000 "
        f"Sockets=2 Boards=1 State={state} ThreadsPerCore=2 Partitions=batch\n"
    )


def read(folder: Path, text: str) -> NodeStates:
    (folder / "s").write_text(text)
    return read_node_states(folder / "s", PLATFORM, NAMES)


def nodes_where(states: NodeStates) -> dict[str, list[int]]:
    words = ("busy", "closed", "off", "shutting_down", "booting")
    return {word: nodes for word in words if (nodes := np.flatnonzero(getattr(states, word)).tolist())}


@pytest.mark.parametrize(("state", "words"), [
    ("IDLE", ""), ("ALLOCATED#", "busy"), ("IDLE~", "off"), ("IDLE%", "shutting_down"), ("IDLE#", "booting"),
    ("MIXED+POWER_DOWN", "busy"), ("ALLOCATED+DRAIN", "busy closed"), ("DOWN+POWERED_DOWN", "closed off"),
])  # fmt: skip
def test_slurm_node_states_are_read(tmp_path: Path, state: str, words: str) -> None:
    found = read(tmp_path, node_of("cn02", state) + node_of("cn01", "IDLE"))
    assert [word for word, nodes in nodes_where(found).items() if nodes == [1]] == words.split()
    assert all(nodes == [1] for nodes in nodes_where(found).values())
    assert found.notes == ()
    assert found.unnamed == 3


@pytest.mark.parametrize(("text", "why"), [
    ("node,state\ncn09,off\n", "'cn09' is not a node of platform grid; expected a name such as cn01"),
    ("node,state\ncn01,off\ncn01,on\n", "s:3: node cn01 again, after line 2; expected each node once"),
    ("node,state\ncn01,asleep\n", "s:2: state 'asleep'; expected of on, busy, closed, off"),
    ("node,state\ncn01,off,1\n", "s:2: 3 fields instead of 2"),
    ("node\ncn01\n", "s:1: no column state; expected columns node,state"),
    ("", "s: is empty"),
])  # fmt: skip
def test_error_is_reported_with_its_position(tmp_path: Path, text: str, why: str) -> None:
    assert why in line_of(read, tmp_path, text)


def test_unknown_states_close_or_skip_a_node_with_a_note(tmp_path: Path) -> None:
    login = node_of("login1", "IDLE", 8).replace(" Partitions=batch", "")
    found = read(tmp_path, node_of("cn01", "IDLE") + login + node_of("gpu1", "IDLE") + node_of("cn03", "IDLE+MELTED"))
    assert nodes_where(found) == {"closed": [2, 4]}
    assert found.unnamed == 2
    assert [note.split(": ", 1)[1] for note in found.notes] == [
        "nodes in no partition are left out: login1",
        "nodes whose CPUs differ from platform grid are closed: gpu1",
        "nodes with the unknown state MELTED are closed: cn03",
    ]


def test_names_are_of_a_file_or_the_platforms(tmp_path: Path) -> None:
    assert node_names(PLATFORM, None) == ["n0", "n1", "n2", "n3", "g0"]
    (tmp_path / "names").write_text("\n".join(NAMES))
    assert node_names(PLATFORM, tmp_path / "names") == [*NAMES]
