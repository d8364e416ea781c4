"""Reading of nodes and partitions from slurm.conf, `scontrol show` or JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from dardis.config.slurm.site_json import parse_site_json
from dardis.config.slurm.slurm_fields import (
    KeyValues,
    NodeRecord,
    SlurmPartition,
    SlurmSite,
    check_name,
    is_meaningful,
    node_of,
    partition_of,
)
from dardis.model.errors import InputError
from dardis.model.files import is_json
from dardis.model.hostlist import names_of

_EXPECTED = "the output of scontrol show node -o, or a slurm.conf with nodes"


def parse_slurm(path: Path, text: str) -> SlurmSite:
    """Parse any of these formats; `path`: for messages. Raises InputError."""
    if is_json(text):
        site = parse_site_json(path, text)
    elif SHOWN.search(text):
        site = _parse_show(path, text)
    elif CONFIGURES.search(text):
        site = _parse_conf(path, text)
    else:
        raise InputError(path, "not a known Slurm format" if text.strip() else "is empty", _EXPECTED)
    if not site.nodes:
        included = f" (it includes {site.included[0]}, which is not read)" if site.included else ""
        raise InputError(path, f"no nodes{included}", _EXPECTED)
    _check(path, site)
    return site


def _check(path: Path, site: SlurmSite) -> None:
    lines: dict[str, int] = {}
    for node in site.nodes:
        if node.name in lines:
            found = f"node {node.name} again, after line {lines[node.name]}"
            raise InputError(f"{path}:{node.line}", found, "each node once")
        lines[node.name] = node.line
    for partition in site.partitions:
        if not partition.name.isprintable() or partition.name.split() != [partition.name]:
            raise InputError(path, f"partition {partition.name!r}", "a name without blanks")


CONFIGURES = re.compile(r"^[ \t]*(?:NodeName|PartitionName)[ \t]*=", re.MULTILINE | re.IGNORECASE)
"""In every slurm.conf with nodes."""
_COMMENT = re.compile(r"(?<!\\)#.*")
_WORD = re.compile(r"\s*([A-Za-z0-9_.]+)\s*=\s*(?:\"([^\"]*)\"|(\S*))(?:\s+|$)")
_INCLUDE = re.compile(r"\s*include\s+(\S+)", re.IGNORECASE)
_KEY = re.compile(r"\s*([A-Za-z0-9_.]+)\s*=")
_ALL = "ALL"
_OF_NODES = {
    *("nodename", "cpus", "procs", "boards", "sockets", "socketsperboard", "corespersocket", "threadspercore"),
    *("realmemory", "gres", "state", "reason", "nodeaddr", "nodehostname", "bcastaddr", "port"),
}
_OF_PARTITIONS = {"partitionname", "nodes", "maxtime", "maxnodes", "state"}
_OTHERS = {"licenses": "Licenses", "downnodes": "DownNodes"}
_READ = {"nodename", "partitionname", "nodeset", "clustername"}
_NO_DEFAULTS = KeyValues(0)


@dataclass
class _ConfContent:
    path: Path
    nodes: dict[str, NodeRecord] = field(default_factory=dict)
    features: dict[str, list[str]] = field(default_factory=dict)
    sets: dict[str, tuple[str, KeyValues]] = field(default_factory=dict)
    partitions: dict[str, tuple[str, SlurmPartition, str]] = field(default_factory=dict)
    defaults: dict[str, KeyValues] = field(default_factory=dict)
    unused: dict[str, None] = field(default_factory=dict)
    cluster: str = ""
    included: list[str] = field(default_factory=list)

    def take(self, words: KeyValues, first: str) -> None:
        place, name = f"{self.path}:{words.line}", words.get(first) or ""
        if first in {"nodename", "partitionname"}:
            words = words.with_defaults(self.defaults.get(first, _NO_DEFAULTS))
        match first:
            case "nodename" | "partitionname" if name.upper() == "DEFAULT":
                self.defaults[first] = words
            case "nodename":
                self._take_nodes(place, words, name)
            case "partitionname":
                self._take_partition(place, words, name)
            case "nodeset":
                self.sets[name] = (place, words)
            case "clustername":
                self.cluster = name

    def _take_nodes(self, place: str, words: KeyValues, names: str) -> None:
        told = _names(place, "NodeName", names)
        like = node_of(place, told[0], words)
        for name in told:
            check_name(place, name)
            if name in self.nodes:
                raise InputError(place, f"node {name} again, after line {self.nodes[name].line}", "each node once")
            self.nodes[name] = replace(like, name=name)
        for feature in (words.get("Feature", "Features") or "").split(","):
            self.features.setdefault(feature, []).extend(told)
        self._note_unused(words, _OF_NODES)

    def _take_partition(self, place: str, words: KeyValues, name: str) -> None:
        if name in self.partitions:
            raise InputError(place, f"partition {name} again", "each partition once")
        said = partition_of(place, name, words)
        self.partitions[name] = (place, said, words.get("Nodes") or "")
        self._note_unused(words, _OF_PARTITIONS)

    def _note_unused(self, words: KeyValues, used: set[str]) -> None:
        self.unused |= {key: None for key, value in words if key.lower() not in used and is_meaningful(value)}

    def members(self, place: str, what: str, text: str) -> list[str]:
        members: list[str] = []
        for name in _names(place, what, text) if text else ():
            if name.upper() == _ALL:
                members += self.nodes
            elif name in self.sets:
                members += self._nodes_of_set(name)
            elif name in self.nodes:
                members.append(name)
            else:
                expected = "a node of this file" + (" (included files are not read)" if self.included else "")
                raise InputError(place, f"{what} names {name}, which has no NodeName line", expected)
        return members

    def _nodes_of_set(self, name: str) -> list[str]:
        place, words = self.sets[name]
        told = _names(place, f"NodeSet {name}", words.get("Nodes") or "") if words.get("Nodes") else []
        for one in told:
            if one not in self.nodes:
                raise InputError(place, f"NodeSet {name} names {one}, which has no NodeName line", "a node")
        features = (words.get("Feature") or "").split(",")
        return told + [one for feature in features for one in self.features.get(feature, ())]


def _parse_conf(path: Path, text: str) -> SlurmSite:
    found = _ConfContent(path)
    for line, told in _lines(text):
        key = _KEY.match(told)
        first = key[1].lower() if key else ""
        if include := _INCLUDE.match(told):
            found.included.append(include[1])
        elif first in _READ:
            found.take(_parse_line(path, line, told), first)
        elif first in _OTHERS:
            found.unused[_OTHERS[first]] = None
    return _site(found)


def _site(found: _ConfContent) -> SlurmSite:
    of_node: dict[str, dict[str, None]] = {name: {} for name in found.nodes}
    for place, said, nodes in found.partitions.values():
        for name in found.members(place, f"partition {said.name}", nodes):
            of_node[name][said.name] = None
    return SlurmSite(
        nodes=tuple(replace(node, partitions=tuple(of_node[name])) for name, node in found.nodes.items()),
        partitions=tuple(said for _, said, _ in found.partitions.values()),
        cluster=found.cluster,
        unused=tuple(found.unused),
        included=tuple(found.included),
    )


def _lines(text: str) -> Iterator[tuple[int, str]]:
    begun = 0
    parts: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        told = _COMMENT.sub("", line).rstrip()
        begun = begun if parts else number
        parts.append(told.removesuffix("\\"))
        if not told.endswith("\\"):
            yield begun, " ".join(parts)
            parts = []
    if parts:
        yield begun, " ".join(parts)


def _parse_line(path: Path, line: int, told: str) -> KeyValues:
    words, place = KeyValues(line), 0
    while place < len(told.rstrip()):
        found = _WORD.match(told, place)
        if found is None:
            raise InputError(f"{path}:{line}", repr(told[place:].strip()[:60]), "words Key=Value")
        words.add(found[1], found[2] if found[2] is not None else found[3])
        place = found.end()
    return words


def _names(place: str, what: str, text: str) -> list[str]:
    try:
        return names_of(text)
    except ValueError as error:
        raise InputError(place, f"{what} {text!r}: {error}", "a host list such as n[01-16,20]") from None


SHOWN = re.compile(r"^[^#\n]*\bCPU(?:Alloc|Tot)=", re.MULTILINE)
"""In every `scontrol show node`, never in slurm.conf."""
_BEGINS = ("NodeName=", "PartitionName=")
_RECORD_KEY = re.compile(r"(?:^|\s)([A-Za-z][A-Za-z_]*)=")
_FREE_TEXT = re.compile(r"\s(?:Reason|Comment|Extra)=")
"""Free text at the end, which may look like keys."""
_UNSUPPORTED_KEYS = (
    "AvailableFeatures",
    "Weight",
    "TmpDisk",
    "CoreSpecCount",
    "CPUSpecList",
    "MemSpecLimit",
    "Owner",
    "MCS_label",
)
_DEFAULT_VALUES = {"Weight": "1", "TmpDisk": "0"}


def _parse_show(path: Path, text: str) -> SlurmSite:
    nodes: list[NodeRecord] = []
    told: dict[str, SlurmPartition] = {}
    unused: dict[str, None] = {}
    for line, record in _records(path, text):
        words = _parse_record(line, record)
        if (name := words.get("PartitionName")) is not None:
            if name in told:
                raise InputError(f"{path}:{line}", f"partition {name} again", "each partition once")
            told[name] = partition_of(f"{path}:{line}: {name}", name, words)
            continue
        if words.get("State") is None:
            raise InputError(f"{path}:{line}", "a node's record without State=", "complete records")
        named = (words.get("Partitions") or "").split(",")
        held = tuple(dict.fromkeys(filter(None, map(str.strip, named))))
        node = node_of(f"{path}:{line}", words.get("NodeName") or "", words)
        nodes.append(replace(node, partitions=held))
        unused |= {key: None for key in _UNSUPPORTED_KEYS if words.get(key) not in {None, _DEFAULT_VALUES.get(key)}}
    known = dict.fromkeys([*(one for node in nodes for one in node.partitions), *told])
    partitions = tuple(told.get(one) or SlurmPartition(one) for one in known)
    return SlurmSite(tuple(nodes), partitions, unused=tuple(unused))


def _records(path: Path, text: str) -> list[tuple[int, str]]:
    found: list[tuple[int, list[str]]] = []
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if stripped.startswith(_BEGINS):
            found.append((number, [stripped]))
        elif stripped and found and line[0].isspace():
            found[-1][1].append(stripped)
        elif stripped:
            raise InputError(f"{path}:{number}", f"no {_BEGINS[0]} at the start ({stripped[:40]})", "one node per line")
    return [(number, " ".join(lines)) for number, lines in found]


def _parse_record(line: int, record: str) -> KeyValues:
    ends = _FREE_TEXT.search(record)
    told = record[: ends.start()] if ends else record
    words, keys = KeyValues(line), [*_RECORD_KEY.finditer(told)]
    for this, following in zip(keys, [*keys[1:], None], strict=True):
        words.add(this[1], told[this.end() : following.start() if following else None].strip())
    return words
