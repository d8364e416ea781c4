"""Records and words of Slurm nodes and partitions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from dardis.config.slurm.state_table import SlurmState, state_of
from dardis.model.errors import InputError
from dardis.model.numbers import whole_number
from dardis.model.resources import CORES, LARGEST_AMOUNT, LARGEST_CORES, MEMORY, POWER, kind_of_gres, kind_of_type

_NODE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,252}")
_COUNT = re.compile(r"([0-9]{1,18})([KMGTP]?)", re.IGNORECASE)
_TYPE = re.compile(r"[\w.+-]*", re.ASCII)
_BESIDE = re.compile(r"\([^()]*\)")
"""Sockets or numbers of a generic resource: `(S:0-1)`."""
_TIME = re.compile(r"(?:([0-9]{1,6})-)?([0-9]{1,9}(?::[0-9]{1,9}){0,2})")
_NO_LIMIT = {"UNLIMITED", "INFINITE", "-1"}
_NO_MEMORY = 1
_NO_CONSUME = "no_consume"
_THOUSANDS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4, "P": 5}
_LARGEST_GRES = (1 << 63) - 1


def node_of(place: str, name: str, words: KeyValues) -> NodeRecord:
    """Node, without partitions; `place` is file and line. Raises InputError."""
    check_name(place, name)
    here = f"{place}: {name}"
    cores = _cores(here, words)
    return NodeRecord(
        name=name,
        line=words.line,
        cores=cores,
        threads=_number(here, words, "ThreadsPerCore", 1, LARGEST_CORES) or 1,
        memory=_memory(here, words),
        gres=gres_of(here, words.get("Gres") or ""),
        state=state_of(words.get("State") or ""),
        features=tuple(filter(None, (words.get("ActiveFeatures", "AvailableFeatures") or "").split(","))),
        core_cpus=_core_cpus(here, words, cores),
        allocated=_allocated(here, words),
    )


def check_name(place: str, name: str) -> None:
    """Check a host name. Raises InputError."""
    if _NODE_NAME.fullmatch(name) is None:
        raise InputError(place, f"{name!r} is not the name of a node", "letters, digits, dots, - and _")


def time_limit(place: str, text: str) -> int | None:
    """Seconds of `MaxTime`: minutes, `M:S`, `H:M:S`, `D-H`, `D-H:M` or `D-H:M:S`; None: no limit.

    Raises InputError.
    """
    if text.upper() in _NO_LIMIT:
        return None
    found = _TIME.fullmatch(text)
    if found is None:
        raise InputError(place, f"MaxTime {text!r}", "minutes, H:M:S, D-H:M:S or UNLIMITED")
    days, parts = found[1], [int(part) for part in found[2].split(":")]
    if days is not None:
        units: tuple[int, ...] = (3600, 60, 1)
    else:
        units = (3600, 60, 1) if len(parts) == 3 else (60, 1)
    return int(days or 0) * 86_400 + sum(part * unit for part, unit in zip(parts, units, strict=False))


def partition_of(place: str, name: str, words: KeyValues) -> SlurmPartition:
    """Partition; `place` is file and line. Raises InputError."""
    no_limit = (words.get("MaxNodes") or "UNLIMITED").upper() in _NO_LIMIT
    most = None if no_limit else _number(place, words, "MaxNodes", 0, LARGEST_AMOUNT)
    return SlurmPartition(
        name=name,
        is_default=(words.get("Default") or "").upper() == "YES",
        max_time_s=time_limit(place, words.get("MaxTime") or "UNLIMITED"),
        max_nodes=most or None,
        is_open=(words.get("State") or "UP").upper() == "UP" and most != 0,
    )


def _cores(place: str, words: KeyValues) -> int:
    cpus = _number(place, words, "CPUEfctv", 1, LARGEST_CORES, "CPUTot", "CPUs", "Procs")
    if cpus is not None:
        return cpus
    boards, threads, per_socket, of_board, sockets = (
        _number(place, words, key, 1, LARGEST_CORES) or 1
        for key in ("Boards", "ThreadsPerCore", "CoresPerSocket", "SocketsPerBoard", "Sockets")
    )
    found = (of_board * boards if words.get("SocketsPerBoard") else sockets) * per_socket * threads
    if found > LARGEST_CORES:
        raise InputError(place, f"{found} CPUs", f"at most {LARGEST_CORES}")
    return found


def _core_cpus(place: str, words: KeyValues, cpus: int) -> int:
    sockets, of_socket = (_number(place, words, key, 1, LARGEST_CORES) or 0 for key in ("Sockets", "CoresPerSocket"))
    return max(cpus // (sockets * of_socket), 1) if sockets and of_socket else 1


def _memory(place: str, words: KeyValues) -> int | None:
    memory = _number(place, words, "RealMemory", 0, LARGEST_AMOUNT)
    return None if memory == _NO_MEMORY else memory


def _number(place: str, words: KeyValues, key: str, least: int, most: int, *others: str) -> int | None:
    text = words.get(key, *others)
    try:
        return None if text is None else whole_number(text, least, most)
    except ValueError:
        said = next(name for name in (key, *others) if words.get(name) is not None)
        raise InputError(place, f"{said} {text!r}", f"a whole number from {least} to {most}") from None


def _allocated(place: str, words: KeyValues) -> Mapping[str, int]:
    cores, memory = (_number(place, words, key, 0, LARGEST_AMOUNT) or 0 for key in ("CPUAlloc", "AllocMem"))
    return {CORES: cores, MEMORY: memory} | amounts_of(gres_of(place, words.get("GresUsed") or ""))


def amounts_of(gres: Iterable[Gres]) -> dict[str, int]:
    """Amounts by kind, and by type such as `gpu_a100`."""
    found: dict[str, int] = {}
    for one in gres:
        for kind in dict.fromkeys((one.kind, kind_of_type(one.kind, one.type) if one.type else one.kind)):
            if kind:
                found[kind] = found.get(kind, 0) + one.amount
    return found


def gres_of(place: str, text: str) -> tuple[Gres, ...]:
    """Generic resources of `gpu:a100:4(S:0-1),mic:1`. Raises InputError."""
    found: list[Gres] = []
    for part in filter(None, _BESIDE.sub("", text).split(",")):
        name, *rest = part.split(":")
        if _NO_CONSUME in rest:
            continue
        count = _COUNT.fullmatch(rest.pop()) if rest and _COUNT.fullmatch(rest[-1]) else None
        amount = 1 if count is None else int(count[1]) << 10 * _THOUSANDS[count[2].upper()]
        kind = kind_of_gres(name)
        if kind is None or len(rest) > 1 or not all(map(_TYPE.fullmatch, rest)):
            expected = f"name:type:count as in gpu:a100:4, of a name that is not {CORES}, {MEMORY} or {POWER}"
            raise InputError(place, f"Gres {part!r}", expected)
        if amount + sum(gres.amount for gres in found if gres.kind == kind) > _LARGEST_GRES:
            raise InputError(place, f"Gres {part!r}", f"at most {_LARGEST_GRES} of it")
        if amount:
            found.append(Gres(kind, "".join(rest), amount))
    return tuple(found)


class Gres(NamedTuple):
    """Generic resource of a node."""

    kind: str
    """DARDIS resource kind: `gpu`, `mic`."""
    type: str
    """"" if unstated."""
    amount: int
    """64 bits."""


@dataclass(frozen=True, slots=True)
class NodeRecord:
    """Slurm node."""

    name: str
    line: int
    cores: int
    """Slurm CPUs: cores or hardware threads."""
    threads: int
    memory: int | None
    """MiB; None: unstated."""
    gres: tuple[Gres, ...]
    state: SlurmState
    partitions: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    core_cpus: int = 1
    """CPUs of a core: hardware threads that count as CPUs."""
    allocated: Mapping[str, int] = field(default_factory=dict, compare=False)
    """What jobs hold, by kind, also by type; devices only with `show node --details`."""


class SlurmPartition(NamedTuple):
    """Partition with the rules used by DARDIS."""

    name: str
    is_default: bool = False
    max_time_s: int | None = None
    """None: no limit, or unstated."""
    max_nodes: int | None = None
    """Per job; None: no limit, or unstated."""
    is_open: bool = True
    """Whether jobs start: not down, inactive or drained."""


@dataclass(frozen=True, slots=True)
class SlurmSite:
    """Nodes in file order, and partitions in order of mention."""

    nodes: tuple[NodeRecord, ...]
    partitions: tuple[SlurmPartition, ...] = ()
    cluster: str = ""
    unused: tuple[str, ...] = ()
    """Unsupported keys."""
    included: tuple[str, ...] = ()
    """Included files, not read."""

    def schedules(self, node: NodeRecord) -> bool:
        """Whether jobs can run on a node: in a partition, or none exist."""
        return bool(node.partitions) or not self.partitions


class KeyValues:
    """Words `Key=Value`. Keys ignore case; the first of equal keys counts."""

    def __init__(self, line: int) -> None:
        self.line = line
        self._values: dict[str, tuple[str, str]] = {}

    def add(self, key: str, value: str) -> None:
        """Add a word."""
        self._values.setdefault(key.lower(), (key, value))

    def with_defaults(self, defaults: KeyValues) -> KeyValues:
        """Words, completed by defaults."""
        both = KeyValues(self.line)
        both._values = defaults._values | self._values
        return both

    def get(self, *keys: str) -> str | None:
        """Value of the first meaningful key."""
        return next((value for key in keys if is_meaningful(value := self._values.get(key.lower(), ("", ""))[1])), None)

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(self._values.values())


def is_meaningful(value: str) -> bool:
    """Whether a value is meaningful."""
    return value.lower() not in {"", "(null)", "n/a", "none"}
