"""What is known of the nodes of a Slurm site, whichever form said so."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from dardis.config.slurm.state_table import State


class Gres(NamedTuple):
    """A generic resource of a node."""

    kind: str
    """As DARDIS calls a resource kind: `gpu`, `mic`."""
    type: str
    """`a100`; "" where none is stated."""
    amount: int
    """Of 64 bits; a platform holds less of a kind."""


@dataclass(frozen=True, slots=True)
class NodeRecord:
    """A node as Slurm knows it."""

    name: str
    line: int
    """Of the file, where its record begins."""
    cores: int
    """What Slurm counts as CPUs: cores, or hardware threads."""
    threads: int
    """Hardware threads of a core."""
    memory: int | None
    """MiB; None: not stated."""
    gres: tuple[Gres, ...]
    """In the order stated."""
    state: State
    partitions: tuple[str, ...] = ()


class SlurmPartition(NamedTuple):
    """A partition, and what of its rules DARDIS has a word for."""

    name: str
    is_default: bool = False
    max_time_s: int | None = None
    """None: no limit, or not stated."""
    max_nodes: int | None = None
    """Of a job; None: no limit, or not stated."""
    is_open: bool = True
    """Whether jobs start in it: not one that is down, inactive or drained."""


@dataclass(frozen=True, slots=True)
class SlurmSite:
    """All nodes of a file, in its order, and its partitions in the order in which they are first named."""

    nodes: tuple[NodeRecord, ...]
    partitions: tuple[SlurmPartition, ...] = ()
    cluster: str = ""
    """Its name; "" where none is stated."""
    unused: tuple[str, ...] = ()
    """Keys that say something of which DARDIS knows nothing, as they are written."""
    included: tuple[str, ...] = ()
    """Files that it includes, which are not read."""

    def schedules(self, node: NodeRecord) -> bool:
        """Whether jobs can be sent to a node: it is in a partition, or the site states none."""
        return bool(node.partitions) or not self.partitions


class Words:
    """`Key=Value` words of a line; keys are alike in capitals and small letters, and of two the first counts."""

    def __init__(self, line: int) -> None:
        self.line = line
        self._values: dict[str, tuple[str, str]] = {}

    def add(self, key: str, value: str) -> None:
        """Note a word."""
        self._values.setdefault(key.lower(), (key, value))

    def behind(self, defaults: Words) -> Words:
        """These words, and of the defaults what they don't say."""
        both = Words(self.line)
        both._values = defaults._values | self._values
        return both

    def get(self, *keys: str) -> str | None:
        """The value of the first of these keys that is there and says something."""
        return next(
            (value for key in keys if says_something(value := self._values.get(key.lower(), ("", ""))[1])), None
        )

    def __iter__(self) -> Iterator[tuple[str, str]]:
        """Keys, as they are written, and values."""
        return iter(self._values.values())


def says_something(value: str) -> bool:
    """Whether a value is more than Slurm's way to say nothing."""
    return value.lower() not in {"", "(null)", "n/a", "none"}
