"""Platform from Alibaba's node list (cluster-trace-gpu-v2023).

Equal nodes form groups. Partitions: GPU models, and each `A|B` of pods.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from dardis.config.platform_file import check_platform
from dardis.model.errors import InputError
from dardis.model.files import by_name, csv_table, plain_name, read_text
from dardis.model.numbers import whole_number
from dardis.model.platform import NodeGroup, Platform
from dardis.model.resources import CORES, LARGEST_AMOUNT, LARGEST_CORES, MAX_GROUPS, MEMORY

COLUMNS = ("cpu_milli", "memory_mib", "gpu", "model")


class _Node(NamedTuple):
    """Fractions of cores are dropped."""

    model: str
    cores: int
    memory: int
    gpus: int


def read_node_list(path: Path, asked: Iterable[str]) -> Platform:
    """Read a node list. `asked`: `gpu_spec` of pods ("": any node). Raises InputError."""
    header, table = csv_table(path, read_text(path), COLUMNS)
    found: Counter[_Node] = Counter()
    for line, fields in table:
        try:
            found[_node(by_name(header, fields))] += 1
        except ValueError as error:
            expected = f"a node of at most {LARGEST_CORES} cores with its memory and GPUs"
            raise InputError(f"{path}:{line}", f"not a node ({error})", expected) from None
    if not 1 <= len(found) <= MAX_GROUPS:
        raise InputError(path, f"{len(found)} kinds of node", f"1 to {MAX_GROUPS}")
    groups = tuple(
        NodeGroup(f"{node.model or 'cpu'}-{place}-", count, {CORES: node.cores, MEMORY: node.memory, "gpu": node.gpus})
        for place, (node, count) in enumerate(found.items())
    )
    name = plain_name(path).removesuffix(".csv") or "nodes"
    platform = Platform(name, groups, _partitions(path, [node.model for node in found], asked))
    check_platform(platform, f"{path}: nodes", str(path))
    return platform


def _node(fields: dict[str, str]) -> _Node:
    cores = whole_number(fields["cpu_milli"], 1000, 1000 * LARGEST_CORES) // 1000
    memory, gpus = (whole_number(fields[name], 0, LARGEST_AMOUNT) for name in ("memory_mib", "gpu"))
    if fields["model"].split() not in ([], [fields["model"]]):
        raise ValueError(f"model {fields['model']!r} with blanks")
    return _Node(fields["model"], cores, memory, gpus)


def _partitions(path: Path, models: list[str], asked: Iterable[str]) -> dict[str, tuple[int, ...]]:
    known = dict.fromkeys(model for model in models if model)
    partitions = {}
    for spec in (*known, *sorted({*asked} - {"", *known})):
        groups = tuple(place for place, model in enumerate(models) if model and model in spec.split("|"))
        if not groups:
            raise InputError(path, f"jobs request the unknown GPU model {spec!r}", "one of " + ", ".join(known))
        partitions[spec] = groups
    return partitions
