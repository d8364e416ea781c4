"""Which host each rank of an MPI launcher is: its name, its part of its machine, and its folder. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dardis.live.machine import HostFacts
from dardis.model.addresses import FIRST_HOST
from dardis.model.errors import InputError


@dataclass(frozen=True, slots=True)
class Said:
    """What a rank says of itself."""

    version: str
    """Of dardis."""
    boot: str
    """Of its machine: ranks that share a machine have it in common."""
    facts: HostFacts
    """Of its machine, as far as it may use that."""
    folder: str
    """The service's, as this rank would have it; the first one's counts."""
    key: str
    """Its public one."""

    def as_list(self) -> list[Any]:
        """As plain values."""
        facts = self.facts
        return [
            self.version, self.boot, self.folder, self.key, facts.name, list(facts.cores), facts.memory_mib, facts.gpus,
        ]  # fmt: skip

    @classmethod
    def from_list(cls, told: Sequence[Any]) -> Said:
        """What `as_list` has told."""
        version, boot, folder, key, name, cores, memory_mib, gpus = told
        return cls(version, boot, HostFacts(name, tuple(cores), memory_mib, gpus), folder, key)


@dataclass(frozen=True, slots=True)
class Seat:
    """A rank's host."""

    facts: HostFacts
    folder: Path


def seats_of(said: Sequence[Said], *, bound: bool) -> list[Seat]:
    """The hosts of all ranks. Raises InputError.

    Ranks of one machine share it out: its processors (`bound`: each has some for itself) and its memory evenly; the
    first one has its GPUs, which jobs know by number.
    """
    first = said[FIRST_HOST]
    ranks = Counter(one.boot for one in said)
    seen: Counter[str] = Counter()
    seats = []
    for one in said:
        if one.version != first.version:
            found = f"has dardis {one.version}"
            raise InputError(one.facts.name, found, f"{first.version}, as {first.facts.name} has")
        place, of = seen[one.boot], ranks[one.boot]
        seen[one.boot] += 1
        # A launcher may have bound each rank to a part of them.
        cores = sorted({core for other in said if other.boot == one.boot for core in other.facts.cores})
        if bound and len(cores) < of:
            found = f"{of} ranks share {len(cores)} processors"
            raise InputError(one.facts.name, found, "at most a rank for each, or --platform")
        mine = tuple(cores[len(cores) * place // of : len(cores) * (place + 1) // of])
        facts = replace(one.facts, cores=mine, memory_mib=one.facts.memory_mib // of)
        folder = Path(first.folder)
        if place > 0:
            facts = replace(facts, name=f"{one.facts.name}-{place}", gpus=0)
            folder /= further(place)
        seats.append(Seat(facts, folder))
    return seats


def further(place: int) -> str:
    """The folder of a machine's further hosts, in that of its first one."""
    return f"host-{place}"


def on_one_machine(said: Sequence[Said]) -> bool:
    """Whether all ranks are on the same machine."""
    return len({one.boot for one in said}) == 1
