"""Reads nodes, and partitions behind them, as `scontrol show` prints: a record a line (`-o`), or over several lines.

Of a record over several lines all but the first are indented.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from dardis.config.slurm.fields import NodeRecord, SlurmPartition, SlurmSite, Words, node_of, partition_of
from dardis.model.errors import InputError

SHOWN = re.compile(r"^[^#\n]*\bCPU(?:Alloc|Tot)=", re.MULTILINE)
"""What every such text has, and no slurm.conf."""
_BEGINS = ("NodeName=", "PartitionName=")
_KEY = re.compile(r"(?:^|\s)([A-Za-z][A-Za-z_]*)=")
_FREE_TEXT = re.compile(r"\s(?:Reason|Comment|Extra)=")
"""People's own words, which may look like anything; all that matters stands before them."""
_SAYS = ("AvailableFeatures", "Weight", "TmpDisk", "CoreSpecCount", "CPUSpecList", "MemSpecLimit", "Owner", "MCS_label")
"""Keys of which DARDIS knows nothing and that say what a node is, and not how it is just now."""
_USUAL = {"Weight": "1", "TmpDisk": "0"}


def parse_show(path: Path, text: str) -> SlurmSite:
    """The nodes and their partitions; `path` names the text in messages. Raises InputError."""
    nodes: list[NodeRecord] = []
    told: dict[str, SlurmPartition] = {}
    unused: dict[str, None] = {}
    for line, record in _records(path, text):
        words = _words(line, record)
        if (name := words.get("PartitionName")) is not None:
            if name in told:
                raise InputError(f"{path}:{line}", f"partition {name} again", "each partition once")
            told[name] = partition_of(f"{path}:{line}: {name}", name, words)
            continue
        if words.get("State") is None:
            raise InputError(f"{path}:{line}", "a node's record without State=", "whole records")
        named = (words.get("Partitions") or "").split(",")
        held = tuple(dict.fromkeys(filter(None, map(str.strip, named))))
        node = node_of(f"{path}:{line}", words.get("NodeName") or "", words)
        nodes.append(replace(node, partitions=held))
        unused |= {key: None for key in _SAYS if words.get(key) not in {None, _USUAL.get(key)}}
    known = dict.fromkeys([*(one for node in nodes for one in node.partitions), *told])
    partitions = tuple(told.get(one) or SlurmPartition(one) for one in known)
    return SlurmSite(tuple(nodes), partitions, unused=tuple(unused))


def _records(path: Path, text: str) -> list[tuple[int, str]]:
    """The number of the first line of each record, of a node or a partition, and the record in one line."""
    found: list[tuple[int, list[str]]] = []
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if stripped.startswith(_BEGINS):
            found.append((number, [stripped]))
        elif stripped and found and line[0].isspace():
            found[-1][1].append(stripped)
        elif stripped:
            raise InputError(f"{path}:{number}", f"no {_BEGINS[0]} at its beginning ({stripped[:40]})", "a node a line")
    return [(number, " ".join(lines)) for number, lines in found]


def _words(line: int, record: str) -> Words:
    """The words of a record, of which some have blanks in their values."""
    ends = _FREE_TEXT.search(record)
    told = record[: ends.start()] if ends else record
    words, keys = Words(line), [*_KEY.finditer(told)]
    for this, following in zip(keys, [*keys[1:], None], strict=True):
        words.add(this[1], told[this.end() : following.start() if following else None].strip())
    return words
