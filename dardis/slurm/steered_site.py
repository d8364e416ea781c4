"""Checks of a Slurm site before steering."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from dardis.config.slurm.slurm_fields import NodeRecord, SlurmSite
from dardis.config.slurm.slurm_platform import platform_of
from dardis.config.slurm.slurm_reader import parse_slurm
from dardis.model.errors import InputError
from dardis.model.platform import Platform
from dardis.slurm.reservation_lease import CLOCK_S
from dardis.slurm.slurm_client import SlurmError, SlurmPrograms
from dardis.slurm.steered_nodes import SteeredNodes

NODES: Final = ("scontrol", "--details", "-o", "show", "node")
_SELECTORS: Final = ("select/cons_tres", "select/cons_res", "select/linear")


@dataclass(frozen=True)
class SteeredSite:
    """How Slurm gives out nodes of the partition."""

    partition: str
    nodes: tuple[NodeRecord, ...]
    memory: bool
    by_core: bool
    whole: bool

    def steered_nodes(self, platform: Platform | None, names: Sequence[str]) -> SteeredNodes:
        """Nodes as in the platform, or as in Slurm. Raises InputError."""
        if platform is None:
            own = tuple(replace(node, partitions=(self.partition,)) for node in self.nodes)
            made = platform_of(Path(self.partition), SlurmSite(own))
            platform, names = made.platform, made.names
        return SteeredNodes.of(
            platform, names, self.nodes, memory=self.memory, by_core=self.by_core, whole=self.whole
        )  # fmt: skip


def read_site(programs: SlurmPrograms, partition: str, now: int) -> SteeredSite:
    """Read and check the site at `now`, Unix s. Raises InputError, SlurmError."""
    config = _config(programs.call("scontrol", "show", "config").text)
    stated = config.get("Configuration data as of", "")
    if stated.isdecimal() and abs(int(stated) - now) > CLOCK_S:
        found = (
            f"this host's clock is {abs(now - int(stated))} s {'behind' if now < int(stated) else 'ahead of'} Slurm's"
        )
        raise InputError("clock", found, f"at most {CLOCK_S} s")
    select, stated = config.get("SelectType", ""), config.get("SelectTypeParameters", "").upper()
    parameters = {word.removeprefix("CR_") for word in stated.split(",")}
    if select not in _SELECTORS or parameters & {"SOCKET", "SOCKET_MEMORY", "BOARD", "BOARD_MEMORY"}:
        expected = f"{', '.join(_SELECTORS)}, by CPU or core"
        raise InputError("slurm.conf", f"SelectType {select} with {stated}", expected)
    words = _partition(programs, partition)
    sharing = words.get("OverSubscribe", "NO")
    if sharing.partition(":")[0] not in {"NO", "EXCLUSIVE"}:
        raise InputError(f"partition {partition}", f"OverSubscribe={sharing}", "NO or EXCLUSIVE")
    if (state := words.get("State", "UP")) != "UP":
        raise InputError(f"partition {partition}", f"State={state}", "UP")
    site = parse_slurm(Path("scontrol show node"), programs.call(*NODES).text)
    nodes = tuple(node for node in site.nodes if partition in node.partitions)
    if not nodes:
        raise InputError(f"partition {partition}", "has no nodes", "a partition with nodes")
    _check_alone(programs, partition, nodes)
    return SteeredSite(
        partition, nodes,
        memory=any(word.endswith("MEMORY") for word in parameters), by_core=bool(parameters & {"CORE", "CORE_MEMORY"}),
        whole=select == "select/linear" or sharing == "EXCLUSIVE",
    )  # fmt: skip


def _config(text: str) -> Mapping[str, str]:
    first, _, rest = text.partition("\n")
    words, _, moment = first.rpartition(" ")
    pairs = (line.partition("=")[::2] for line in rest.splitlines())
    return {words.strip(): moment.strip()} | {key.strip(): value.strip() for key, value in pairs}


def _partition(programs: SlurmPrograms, name: str) -> Mapping[str, str]:
    try:
        text = programs.call("scontrol", "-o", "show", "partition", name).text
    except SlurmError as error:
        raise InputError(f"--partition {name}", str(error), "a partition of this cluster") from None
    return dict(word.partition("=")[::2] for word in text.split())


def _check_alone(programs: SlurmPrograms, partition: str, nodes: Sequence[NodeRecord]) -> None:
    """Other open partitions of these nodes would start no jobs there."""
    others = sorted({name for node in nodes for name in node.partitions} - {partition})
    for other in others:
        if _partition(programs, other).get("State", "UP") == "UP":
            found = f"shares nodes with partition {other}, whose jobs could not start there"
            raise InputError(f"partition {partition}", found, "a partition with nodes of its own")
