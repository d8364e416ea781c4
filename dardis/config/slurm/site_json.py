"""Slurm nodes and partitions from JSON, as the words of `scontrol show`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from dardis.config.slurm.slurm_fields import KeyValues, NodeRecord, SlurmPartition, SlurmSite, node_of, partition_of
from dardis.model.errors import InputError
from dardis.model.slurm_json import SlurmRecord, inner, number_of, slurm_records, words_of

_NODE_WORDS = {
    "CPUEfctv": "effective_cpus",
    "CPUTot": "cpus",
    "ThreadsPerCore": "threads",
    "RealMemory": "real_memory",
    "Gres": "gres",
}
_PARTITION_WORDS = {
    "MaxTime": (("maximums", "time"), ("max_time_limit",)),
    "MaxNodes": (("maximums", "nodes"), ("maximum_nodes_per_job",)),
}
_SINFO_WORDS = {"CPUTot": "cpus", "ThreadsPerCore": "threads", "RealMemory": "memory"}
_UNSUPPORTED = {"features": "AvailableFeatures", "weight": "Weight", "temporary_disk": "TmpDisk", "owner": "Owner"}
_USUAL = {"weight": 1, "temporary_disk": 0}


def parse_site_json(path: Path, text: str) -> SlurmSite:
    """Parse `scontrol show nodes|partitions --json`, `sinfo --json`, or both after another. Raises InputError."""
    nodes: list[NodeRecord] = []
    partitions: dict[str, SlurmPartition] = {}
    of_sinfo: dict[str, NodeRecord] = {}
    unused: dict[str, None] = {}
    for record in slurm_records(path, text):
        place = f"{path}:{record.line}"
        try:
            if record.kind == "nodes":
                nodes.append(_node(place, record))
                unused |= dict.fromkeys(_unsupported(record.content))
            elif record.kind == "partitions":
                name = str(record.content.get("name", ""))
                if name in partitions:
                    raise InputError(place, f"partition {name} again", "each partition once")
                partitions[name] = _partition(place, name, record.content, record.line)
            elif record.kind == "sinfo":
                for node in _sinfo_nodes(place, record):
                    known = of_sinfo.get(node.name, node)
                    both = dict.fromkeys([*known.partitions, *node.partitions])
                    of_sinfo[node.name] = replace(known, partitions=tuple(both))
        except ValueError as error:
            raise InputError(place, str(error), "Slurm's JSON of a known version") from None
    found = (*nodes, *of_sinfo.values())
    known_names = dict.fromkeys([*(name for node in found for name in node.partitions), *partitions])
    stated = tuple(partitions.get(name) or SlurmPartition(name) for name in known_names)
    return SlurmSite(found, stated, unused=tuple(unused))


def _node(place: str, record: SlurmRecord) -> NodeRecord:
    node, words = record.content, KeyValues(record.line)
    for word, key in _NODE_WORDS.items():
        _add(words, word, node.get(key))
    states = [*words_of(node.get("state")), *words_of(node.get("state_flags"))]
    if not states:
        raise InputError(place, "a node's record without state", "complete records")
    words.add("State", "+".join(states))
    partitions = tuple(dict.fromkeys(words_of(node.get("partitions"))))
    return replace(node_of(place, str(node.get("name", "")), words), partitions=partitions)


def _add(words: KeyValues, word: str, *values: object) -> None:
    for value in values:
        if isinstance(value, str):
            words.add(word, value)
            return
        number = number_of(value)
        if number is not None:
            words.add(word, "UNLIMITED" if number in {math.inf, -1} else f"{number:.0f}")
            return


def _unsupported(node: Mapping[str, Any]) -> Iterator[str]:
    for key, word in _UNSUPPORTED.items():
        value = node.get(key)
        if isinstance(value, Mapping):
            value = number_of(value)
        if value not in (None, "", [], _USUAL.get(key)):
            yield word


def _partition(place: str, name: str, content: Mapping[str, Any], line: int) -> SlurmPartition:
    words = KeyValues(line)
    for word, paths in _PARTITION_WORDS.items():
        _add(words, word, *(inner(content, *keys) for keys in paths))
    states = words_of(inner(content, "partition", "state") or content.get("state"))
    words.add("State", "+".join(states))
    flags = {flag.upper() for flag in words_of(content.get("flags"))}
    words.add("Default", "YES" if "DEFAULT" in flags else "NO")
    return partition_of(place, name, words)


def _sinfo_nodes(place: str, record: SlurmRecord) -> Iterator[NodeRecord]:
    content, words = record.content, KeyValues(record.line)
    for word, key in _SINFO_WORDS.items():
        least, most = (number_of(inner(content, key, edge)) for edge in ("minimum", "maximum"))
        if least != most:
            found = f"nodes with {key} from {least:g} to {most:g}" if least and most else f"nodes without {key}"
            raise InputError(place, found, "equal nodes in a record, as of sinfo --Node --json")
        _add(words, word, most)
    _add(words, "Gres", inner(content, "gres", "total"))
    states = words_of(inner(content, "node", "state"))
    if not states:
        raise InputError(place, "nodes without state", "complete records")
    words.add("State", "+".join(states))
    partition = inner(content, "partition", "name")
    for name in words_of(inner(content, "nodes", "nodes")):
        yield replace(node_of(place, name, words), partitions=(str(partition),) if partition else ())
