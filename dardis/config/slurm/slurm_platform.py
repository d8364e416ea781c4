"""Platform file from a Slurm site.

A group has equal cores, memory, typed generic resources and partitions, in file order.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from dardis.config.node_fields import prefixes_of
from dardis.config.platform_file import check_platform
from dardis.config.platform_text import POWER_TO_FILL_IN, Comments, Imported, platform_text, toml_text
from dardis.config.slurm.slurm_fields import Gres, NodeRecord, SlurmSite
from dardis.model.errors import InputError, one_line
from dardis.model.hostlist import hostlist, hostlist_in_order
from dardis.model.platform import NodeGroup, Platform
from dardis.model.resources import CORES, LARGEST_AMOUNT, MAX_GROUPS, MEMORY, kind_of_type


class _Kind(NamedTuple):
    cores: int
    memory: int | None
    gres: tuple[Gres, ...]
    partitions: frozenset[str]

    @classmethod
    def of(cls, node: NodeRecord) -> _Kind:
        return cls(node.cores, node.memory, tuple(sorted(node.gres)), frozenset(node.partitions))

    def resources(self, apart: AbstractSet[str]) -> dict[str, int]:
        amounts = {CORES: self.cores} | ({} if self.memory is None else {MEMORY: self.memory})
        for gres in self.gres:
            amounts[gres.kind] = amounts.get(gres.kind, 0) + gres.amount
        for gres in self.gres:
            if gres.kind in apart and gres.type and (of_type := kind_of_type(gres.kind, gres.type)):
                amounts[of_type] = amounts.get(of_type, 0) + gres.amount
        return amounts


def _kinds_with_types(site: SlurmSite) -> set[str]:
    types: dict[str, set[str]] = {}
    for node in site.nodes:
        for gres in node.gres:
            types.setdefault(gres.kind, set()).add(gres.type)
    return {kind for kind, found in types.items() if len(found) > 1}


def platform_of(path: Path, site: SlurmSite, merge_memory: float = 0.0) -> Imported:
    """Convert a site; `path` is its file. Raises InputError.

    Omits nodes outside partitions and oversized generic resources. Memory that differs by at most the fraction
    `merge_memory` is merged.
    """
    kept = tuple(node for node in site.nodes if site.schedules(node))
    if not kept:
        raise InputError(path, "no node is in a partition", "at least one")
    notes = _omission_notes(site)
    site, large = _without_large_gres(replace(site, nodes=kept))
    site, merged = _merge_memory(site, merge_memory)
    notes += [*large, *merged]
    members: dict[_Kind, list[NodeRecord]] = {}
    for node in site.nodes:
        members.setdefault(_Kind.of(node), []).append(node)
    if len(members) > MAX_GROUPS:
        expected = f"at most {MAX_GROUPS}; --merge-memory joins those of nearly equal memory"
        raise InputError(path, f"{len(members)} kinds of node", expected)
    apart = _kinds_with_types(site)
    names = [[node.name for node in nodes] for nodes in members.values()]
    groups = tuple(
        NodeGroup(prefix, len(nodes), kind.resources(apart))
        for prefix, (kind, nodes) in zip(prefixes_of(names), members.items(), strict=True)
    )
    partitions = {
        partition.name: held
        for partition in site.partitions
        if (held := tuple(index for index, kind in enumerate(members) if partition.name in kind.partitions))
    }
    name = site.cluster or path.name.split(".")[0].encode(errors="replace").decode() or "site"
    platform = Platform(name, groups, partitions)
    check_platform(platform, f"{path}: nodes", str(path))
    text = platform_text(platform, _comments(site, platform, list(members), names))
    every_note = tuple(one_line(note, len(note)) for note in (*notes, *_notes(site, platform)))
    return Imported(platform, text, every_note, tuple(name for group in names for name in group))


def _omission_notes(site: SlurmSite) -> list[str]:
    names = [node.name for node in site.nodes if not site.schedules(node)]
    return [f"nodes in no partition are left out: {hostlist(names)}"] if names else []


def _without_large_gres(site: SlurmSite) -> tuple[SlurmSite, list[str]]:
    most: dict[str, int] = {}
    for node in site.nodes:
        for kind, amount in _Kind.of(node).resources(frozenset()).items():
            most[kind] = max(most.get(kind, 0), amount)
    large = {kind: amount for kind, amount in most.items() if amount > LARGEST_AMOUNT}
    nodes = tuple(replace(node, gres=tuple(one for one in node.gres if one.kind not in large)) for node in site.nodes)
    notes = [
        f"Gres {kind} is left out: a node has {amount}, and a platform holds at most {LARGEST_AMOUNT} of a kind"
        for kind, amount in large.items()
    ]
    return replace(site, nodes=nodes), notes


def _merge_memory(site: SlurmSite, part: float) -> tuple[SlurmSite, list[str]]:
    """Make nearly equal memory equal, with a note.

    Otherwise equal nodes with at least `1 - part` of their maximum memory get the minimum.
    """
    sizes: dict[_Kind, set[int]] = {}
    for node in site.nodes:
        if node.memory is not None:
            sizes.setdefault(_Kind.of(replace(node, memory=None)), set()).add(node.memory)
    least: dict[tuple[_Kind, int], int] = {}
    for kind, found in sizes.items():
        together: list[int] = []
        for size in sorted(found, reverse=True):
            if not together or size < together[0] * (1 - part):
                together = []
            together.append(size)
            least |= {(kind, one): size for one in together}
    nodes, lost = [], []
    for node in site.nodes:
        if node.memory is None:
            nodes.append(node)
            continue
        memory = least[_Kind.of(replace(node, memory=None)), node.memory]
        lost += [node.memory - memory] if memory < node.memory else []
        nodes.append(replace(node, memory=memory))
    told = f"{len(lost)} of {len(nodes)} nodes have less memory here than in Slurm, by at most "
    note = [f"{told}{max(lost)} MiB and {sum(lost)} MiB in all, since nearly equal nodes are one kind"] if lost else []
    return replace(site, nodes=tuple(nodes)), note


def _comments(site: SlurmSite, platform: Platform, kinds: Sequence[_Kind], names: Sequence[Sequence[str]]) -> Comments:
    every_name = hostlist_in_order(name for group in names for name in group)
    head = [
        "Nodes from Slurm. Names of all nodes in the order of this file, for `dardis export --names`:",
        f"  scontrol show hostnames '{every_name}' > names",
        "Power: fill in figures (W, s) for each group and remove the # (docs/formats.md).",
    ]
    default = {partition.name: "Slurm's default" for partition in site.partitions if partition.is_default}
    return Comments(
        head=head,
        above_group=[_group_comment(*both) for both in zip(platform.groups, kinds, names, strict=True)],
        within_group=[
            [_power(group, set(group.resources) - _untyped(kind))]
            for group, kind in zip(platform.groups, kinds, strict=True)
        ],
        beside_partition=default,
        tail=_queues(site),
    )


def _untyped(kind: _Kind) -> set[str]:
    return set(kind.resources(frozenset()))


def _power(group: NodeGroup, of_types: AbstractSet[str]) -> str:
    without = {CORES, MEMORY} | of_types
    devices = [f"{kind} = {{ idle_w = ?, busy_w = ? }}" for kind in group.resources if kind not in without]
    told = f", devices = {{ {', '.join(devices)} }}" if devices else ""
    return f"power = {{ {POWER_TO_FILL_IN}{told} }}"


def _group_comment(group: NodeGroup, kind: _Kind, names: Sequence[str]) -> list[str]:
    called = f"{group.prefix}0" + (f" to {group.prefix}{group.count - 1}" if group.count > 1 else "")
    told = [f"{called}: Slurm's {hostlist_in_order(names)}, in this order"]
    types = [f"{gres.amount} {gres.kind} of type {gres.type}" for gres in kind.gres if gres.type]
    return told + ([f"each with {', '.join(types)}"] if types else [])


def _queues(site: SlurmSite) -> list[str]:
    limits = _limits(site)
    if not limits:
        return []
    lines = [f"{limits}, for traces whose queues are Slurm's partitions (then jobs may use no other queues):"]
    for partition in site.partitions:
        lines += ["[[queues]]", f"name = {toml_text(partition.name)}"]
        lines += [] if partition.max_time_s is None else [f"max_walltime_s = {partition.max_time_s}"]
        lines += [] if partition.max_nodes is None else [f"max_units = {partition.max_nodes}  # a unit is a node"]
    return lines


def _limits(site: SlurmSite) -> str:
    stated = {
        "MaxTime": any(partition.max_time_s is not None for partition in site.partitions),
        "MaxNodes": any(partition.max_nodes is not None for partition in site.partitions),
    }
    return " and ".join(name for name, is_stated in stated.items() if is_stated)


def _notes(site: SlurmSite, platform: Platform) -> list[str]:
    notes = []
    if threaded := sum(node.threads > 1 for node in site.nodes):
        notes.append(
            f"{threaded} of {len(site.nodes)} nodes have several hardware threads per core: a core here is a CPU "
            "of Slurm, often a thread; then core_w is the power of a thread"
        )
    notes += _closed_node_notes(site)
    if empty := [partition.name for partition in site.partitions if partition.name not in platform.partitions]:
        notes.append(f"partitions without nodes are left out: {', '.join(empty)}")
    if limits := _limits(site):
        notes.append(
            f"{limits} of partitions {'are' if ' and ' in limits else 'is'} in the file as [[queues]], commented out"
        )
    if shut := [partition.name for partition in site.partitions if not partition.is_open]:
        notes.append(f"partitions that start no jobs now, but are in the file: {', '.join(shut)}")
    apart = _kinds_with_types(site)
    types = sorted({gres.type for node in site.nodes for gres in node.gres if gres.type and gres.kind not in apart})
    unused = [*site.unused, *([f"types of Gres ({', '.join(types)})"] if types else [])]
    if unused:
        notes.append(f"not used: {', '.join(unused)}")
    if site.included:
        notes.append(f"included files are not read: {', '.join(site.included)}")
    notes.append("power figures must be filled in: the lines `# power = …` of the file")
    return notes


def _closed_node_notes(site: SlurmSite) -> list[str]:
    names: dict[str, list[str]] = {}
    for node in site.nodes:
        if words := node.state.closing:
            names.setdefault("+".join(words), []).append(node.name)
    if not names:
        return []
    each = "; ".join(f"{flags} {len(held)} ({hostlist(held)})" for flags, held in names.items())
    count = sum(map(len, names.values()))
    return [f"{count} of {len(site.nodes)} nodes take no jobs now, but are in the file: {each}"]
